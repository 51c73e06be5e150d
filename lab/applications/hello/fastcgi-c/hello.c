/* A word from a FastCGI program. Without arguments it listens at descriptor 0, as who starts it has it; `hello SOCKET NUMBER`
 * makes the socket itself, and so many processes. */
#include <fcgiapp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static int listener(int count, char **words)
{
    int left, socket;

    if (count < 3)
        return 0;
    socket = FCGX_OpenSocket(words[1], 4096);
    for (left = atoi(words[2]); left > 1; left--)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            break;
        }
    return socket;
}

int main(int count, char **words)
{
    static const char answer[] = "Content-Type: text/plain\r\n\r\nHello";
    FCGX_Request request;

    FCGX_Init();
    FCGX_InitRequest(&request, listener(count, words), 0);
    while (FCGX_Accept_r(&request) == 0)
        FCGX_PutStr(answer, sizeof answer - 1, request.out);
    return 0;
}
