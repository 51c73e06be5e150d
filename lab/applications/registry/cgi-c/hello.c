/* The least that a CGI program can do: what is left is the server's own work for a process. */
#include <stdio.h>

int main(void)
{
    fputs("Content-Type: text/plain\n\nHello", stdout);
    return 0;
}
