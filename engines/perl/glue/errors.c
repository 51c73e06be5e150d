/* STDERR while a request is served: a layer above its own, which tells each line where it has its place between those that
 * the program logs. Outside of requests, in processes that a program has forked, and where a program has opened STDERR
 * anew, it is the worker's pipe, as it is for programs that are started. So it is for CGI scripts. */
#include "api.h"
#include "perlio.h"
#include "perl_glue.h"
#include "perliol.h"

#include <sys/stat.h>
#include <unistd.h>

/* What has no end yet. */
static char line[8192];
static size_t length;

/* The worker's pipe, as it was before its first request. */
static struct stat pipe_of_worker;
static int is_known;

void hp_errors_begin(void)
{
    if (!is_known)
        is_known = fstat(STDERR_FILENO, &pipe_of_worker) == 0;
}

/* `open STDERR, '>', $file` leaves the handle as it is, and puts the file in the pipe's place. */
static int is_the_pipe(void)
{
    struct stat now;
    return is_known && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == pipe_of_worker.st_dev &&
           now.st_ino == pipe_of_worker.st_ino;
}

void hp_errors_end(void)
{
    if (length)
        hp_print_error(line, length);
    length = 0;
}

static void gather(const char *bytes, size_t count)
{
    const char *end;
    while ((end = memchr(bytes, '\n', count)) || length + count >= sizeof line) {
        size_t taken = end ? (size_t)(end - bytes) : count, room = sizeof line - length;
        if (taken > room)
            taken = room, end = NULL;
        Copy(bytes, line + length, taken, char);
        length += taken;
        hp_errors_end();
        bytes += taken + (end != NULL);
        count -= taken + (end != NULL);
    }
    Copy(bytes, line + length, count, char);
    length += count;
}

static SSize_t write_error(pTHX_ PerlIO *f, const void *bytes, Size_t count)
{
    SSize_t written;
    if (hp_current && !hp_before_output && !hp_is_forked_away() && is_the_pipe()) {
        gather(bytes, count);
        return (SSize_t)count;
    }
    length = 0; /* the beginning of the line is somebody else's, who tells it */
    written = PerlIO_write(PerlIONext(f), bytes, count);
    (void)PerlIO_flush(PerlIONext(f));
    return written;
}

static PERLIO_FUNCS_DECL(errors) = {
    .fsize = sizeof(PerlIO_funcs),
    .name = "HostlerErrors",
    .size = sizeof(struct _PerlIO),
    .kind = PERLIO_K_RAW,
    .Pushed = PerlIOBase_pushed,
    .Popped = PerlIOBase_popped,
    .Binmode = PerlIOBase_binmode,
    .Fileno = PerlIOBase_fileno,
    .Dup = PerlIOBase_dup,
    .Write = write_error,
    .Close = PerlIOBase_close,
    .Eof = PerlIOBase_eof,
    .Error = PerlIOBase_error,
    .Clearerr = PerlIOBase_clearerr,
    .Setlinebuf = PerlIOBase_setlinebuf,
};

void hp_boot_errors(pTHX)
{
    PerlIO *f = PerlIO_stderr();
    PerlIO_define_layer(aTHX_ PERLIO_FUNCS_CAST(&errors));
    if (f && PerlIOValid(f))
        PerlIO_push(aTHX_ f, PERLIO_FUNCS_CAST(&errors), "w", NULL);
}
