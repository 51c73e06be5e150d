/* STDIN and STDOUT of a program under perl-script: handles whose lowest layer is the request.
 *
 * As with mod_perl on a Perl with PerlIO these are real handles, not tied ones, so that `$,`, `$\`, say, formats and
 * binmode(STDOUT, ":utf8") work as everywhere. The two handles live as long as the process and serve whatever request
 * is current; per request only pointers are swapped. */
#include "api.h"
#include "perlio.h"
#include "perl_glue.h"
#include "perliol.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static PerlIO *request_in, *request_out;
static PerlIO *saved_in, *saved_out_read, *saved_out_write;
static char saved_out_type, saved_in_type;
static GV *saved_select;
static int tied;

static IV popped(pTHX_ PerlIO *f)
{
    if (f == request_in)
        request_in = NULL;
    if (f == request_out)
        request_out = NULL;
    return PerlIOBase_popped(aTHX_ f);
}

/* Operations that ask a CGI script's handle for a number, and nothing else, get one: with a number perl would take the
 * handle for what is behind it, and `open STDOUT, '>', $file` would change the number and keep the handle. */
static I32 lends_numbers;
static OP *(*syswrite)(pTHX), *(*sysread)(pTHX), *(*number)(pTHX), *(*open_anew)(pTHX);

static IV file_number(pTHX_ PerlIO *f)
{
    if (!lends_numbers)
        return -1;
    return PerlIOBase(f)->flags & PERLIO_F_CANWRITE ? STDOUT_FILENO : STDIN_FILENO;
}

static OP *lend_number(pTHX_ OP *(*operation)(pTHX))
{
    OP *next;
    ENTER;
    SAVEI32(lends_numbers);
    lends_numbers = hp_before_output != NULL;
    next = operation(aTHX);
    LEAVE;
    return next;
}

static PERLIO_FUNCS_DECL(layer);

/* Whether the handle that syswrite is about to write to is the request's. */
static int is_request_s(pTHX)
{
    SV **mark = PL_stack_base + *PL_markstack_ptr;
    SV *glob = mark < PL_stack_sp ? mark[1] : NULL;
    IO *io = glob && isGV_with_GP(glob) ? GvIO((GV *)glob) : NULL;
    PerlIO *f = io ? IoOFP(io) : NULL;
    return f && f == request_out && PerlIOValid(f);
}

/* syswrite STDOUT, text, length, offset: mod_perl 1's handle is a tied one, which takes it as print does. */
static OP *write_to_request(pTHX)
{
    dSP;
    dMARK;
    dORIGMARK;
    SSize_t items = SP - MARK;
    STRLEN all, from = 0, length;
    const char *text = items > 1 ? SvPV(MARK[2], all) : NULL;
    if (!text)
        all = 0;
    if (items > 3) {
        IV offset = SvIV(MARK[4]);
        from = offset < 0           ? (STRLEN)(-offset) > all ? all : all + (STRLEN)offset
             : (STRLEN)offset > all ? all
                                    : (STRLEN)offset;
    }
    length = all - from;
    if (items > 2 && SvOK(MARK[3]) && SvIV(MARK[3]) >= 0 && (STRLEN)SvIV(MARK[3]) < length)
        length = (STRLEN)SvIV(MARK[3]);
    if (length)
        (void)PerlIO_write(request_out, text + from, length);
    SP = ORIGMARK;
    mXPUSHi((IV)length);
    RETURN;
}

/* What is written comes where the output of programs comes that the script starts. */
static OP *syswrite_out(pTHX)
{
    if (hp_settings.generation == 1 && hp_current && !hp_before_output && is_request_s(aTHX))
        return write_to_request(aTHX);
    return lend_number(aTHX_ syswrite);
}

static OP *sysread_in(pTHX)
{
    return lend_number(aTHX_ sysread);
}

static OP *number_of(pTHX)
{
    return lend_number(aTHX_ number);
}

/* A process that a CGI script has forked writes where programs write that it starts. */
static int is_script_s_child(void)
{
    return hp_before_output && hp_is_forked_away();
}

/* Where a CGI script has opened STDIN or STDOUT, the programs read and write that it starts. */
static void follow(pTHX_ PerlIO *f, int descriptor)
{
    int opened = f && PerlIOValid(f) ? PerlIO_fileno(f) : -1;
    if (opened > STDERR_FILENO)
        dup2(opened, descriptor);
}

static OP *open_followed(pTHX)
{
    OP *next = open_anew(aTHX);
    if (hp_before_output) {
        follow(aTHX_ IoIFP(GvIOn(gv_fetchpvs("STDIN", GV_ADD | GV_NOTQUAL, SVt_PVIO))), STDIN_FILENO);
        follow(aTHX_ IoOFP(GvIOn(gv_fetchpvs("STDOUT", GV_ADD | GV_NOTQUAL, SVt_PVIO))), STDOUT_FILENO);
    }
    return next;
}

/* By the handle. CGI::Carp asks a script's for it, to find out whether the header has been sent. */
static Off_t written;

static SSize_t write_out(pTHX_ PerlIO *f, const void *bytes, Size_t length)
{
    PERL_UNUSED_ARG(f);
    if (is_script_s_child())
        return write(STDOUT_FILENO, bytes, length);
    if (!hp_current) {
        errno = EBADF;
        return -1;
    }
    hp_request_write(aTHX_ hp_current, bytes, length);
    written += (Off_t)length;
    return (SSize_t)length;
}

static int draining;

/* Perl flushes every handle before it forks; that must not send a head that nobody asked for. */
static IV flush_out(pTHX_ PerlIO *f)
{
    if (hp_current && !draining && !is_script_s_child() && PerlIOBase(f)->flags & PERLIO_F_CANWRITE &&
        hp_request_has_output(hp_current))
        hp_request_push(aTHX_ hp_current);
    return 0;
}

/* read() gives less than it was asked for at the body's end only, however the body arrives. */
static SSize_t read_in(pTHX_ PerlIO *f, void *bytes, Size_t length)
{
    STRLEN total = 0, got = 1;
    if (!hp_current)
        return 0;
    while (total < length && got) {
        got = hp_request_read(aTHX_ hp_current, (char *)bytes + total, length - total);
        total += got;
    }
    if (!got)
        PerlIOBase(f)->flags |= PERLIO_F_EOF;
    return (SSize_t)total;
}

static IV fill_in(pTHX_ PerlIO *f)
{
    char *from;
    if (hp_current && hp_request_ahead(aTHX_ hp_current, &from, 1))
        return 0;
    PerlIOBase(f)->flags |= PERLIO_F_EOF;
    return -1;
}

static STDCHAR *buffer_in(pTHX_ PerlIO *f)
{
    char *from = NULL;
    PERL_UNUSED_ARG(f);
    if (hp_current)
        hp_request_ahead(aTHX_ hp_current, &from, 0);
    return from;
}

static SSize_t buffered_in(pTHX_ PerlIO *f)
{
    char *from;
    PERL_UNUSED_ARG(f);
    return hp_current ? (SSize_t)hp_request_ahead(aTHX_ hp_current, &from, 0) : 0;
}

static Size_t buffer_size(pTHX_ PerlIO *f)
{
    return (Size_t)buffered_in(aTHX_ f);
}

static void take_in(pTHX_ PerlIO *f, STDCHAR *ptr, SSize_t left)
{
    PERL_UNUSED_ARG(f);
    PERL_UNUSED_ARG(ptr);
    hp_request_ahead_left((STRLEN)left);
}

static Off_t position(pTHX_ PerlIO *f)
{
    return hp_before_output && PerlIOBase(f)->flags & PERLIO_F_CANWRITE ? written : -1;
}

static IV cannot_seek(pTHX_ PerlIO *f, Off_t offset, int whence)
{
    PERL_UNUSED_ARG(f);
    PERL_UNUSED_ARG(offset);
    PERL_UNUSED_ARG(whence);
    errno = ESPIPE;
    return -1;
}

static IV pushed(pTHX_ PerlIO *f, const char *mode, SV *arg, PerlIO_funcs *tab)
{
    IV code = PerlIOBase_pushed(aTHX_ f, mode, arg, tab);
    if (mode && *mode == 'r')
        PerlIOBase(f)->flags |= PERLIO_F_FASTGETS;
    return code;
}

/* `open my $copy, '>&', STDOUT`: the copy is one more handle of the same kind. A CGI script's has a number, so that
 * STDERR may be made a copy, too. */
static PerlIO *duplicate(pTHX_ PerlIO *f, PerlIO *o, CLONE_PARAMS *param, int flags)
{
    if (hp_before_output && PerlIOBase(o)->flags & PERLIO_F_CANWRITE)
        return PerlIO_openn(aTHX_ NULL, "w", fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), 0, 0, f, 0, NULL);
    return PerlIOBase_dup(aTHX_ f, o, param, flags);
}

static PerlIO *open_request(pTHX_ PerlIO_funcs *self, PerlIO_list_t *layers, IV n, const char *mode, int fd, int imode,
                            int perm, PerlIO *f, int narg, SV **args);

static PERLIO_FUNCS_DECL(layer) = {
    sizeof(PerlIO_funcs),
    "Apache2",
    sizeof(struct _PerlIO),
    PERLIO_K_RAW | PERLIO_K_FASTGETS,
    pushed,
    popped,
    open_request,
    PerlIOBase_binmode,
    NULL,
    file_number,
    duplicate,
    read_in,
    NULL, /* unread: Perl puts a layer for it above */
    write_out,
    cannot_seek,
    position,
    PerlIOBase_close,
    flush_out,
    fill_in,
    PerlIOBase_eof,
    PerlIOBase_error,
    PerlIOBase_clearerr,
    PerlIOBase_setlinebuf,
    buffer_in,
    buffer_size,
    buffer_in,
    buffered_in,
    take_in,
};

/* `open my $fh, '>:Apache2', $r`: a further handle of the request that is being answered. */
static PerlIO *open_request(pTHX_ PerlIO_funcs *self, PerlIO_list_t *layers, IV n, const char *mode, int fd, int imode,
                            int perm, PerlIO *f, int narg, SV **args)
{
    PERL_UNUSED_ARG(layers);
    PERL_UNUSED_ARG(n);
    PERL_UNUSED_ARG(fd);
    PERL_UNUSED_ARG(imode);
    PERL_UNUSED_ARG(perm);
    if (narg != 1 || !hp_current || !sv_isobject(*args) || (*mode != 'r' && *mode != 'w')) {
        errno = EINVAL;
        return NULL;
    }
    if (!f)
        f = PerlIO_allocate(aTHX);
    return f ? PerlIO_push(aTHX_ f, self, mode, NULL) : NULL;
}

/* `open my $fh, '<:APR', $file, $pool`: a file as any other; memory is Perl's business. */
static PerlIO_funcs apr_layer;

static void define_apr_layer(pTHX)
{
    apr_layer = PerlIO_perlio;
    apr_layer.name = "APR";
    apr_layer.kind |= PERLIO_K_MULTIARG;
    PerlIO_define_layer(aTHX_ & apr_layer);
}

static PerlIO *open_handle(pTHX_ const char *mode)
{
    PerlIO *f = PerlIO_allocate(aTHX);
    return f ? PerlIO_push(aTHX_ f, PERLIO_FUNCS_CAST(&layer), mode, NULL) : NULL;
}

void hp_tie(pTHX)
{
    IO *in = GvIOn(gv_fetchpvs("STDIN", GV_ADD | GV_NOTQUAL, SVt_PVIO));
    GV *out_glob = gv_fetchpvs("STDOUT", GV_ADD | GV_NOTQUAL, SVt_PVIO);
    IO *out = GvIOn(out_glob);
    if (tied)
        return;
    tied = 1;
    if (!request_in)
        request_in = open_handle(aTHX_ "r");
    if (!request_out)
        request_out = open_handle(aTHX_ "w");
    saved_in = IoIFP(in);
    saved_in_type = IoTYPE(in);
    IoIFP(in) = request_in;
    IoTYPE(in) = IoTYPE_RDONLY;
    IoLINES(in) = 0;
    IoFLAGS(in) &= ~IOf_NOLINE; /* the first slurp of nothing is "", whatever the last program has read */
    if (request_in)
        PerlIOBase(request_in)->flags &= ~(PERLIO_F_EOF | PERLIO_F_ERROR | PERLIO_F_UTF8);
    saved_out_read = IoIFP(out);
    saved_out_write = IoOFP(out);
    saved_out_type = IoTYPE(out);
    IoIFP(out) = IoOFP(out) = request_out;
    IoTYPE(out) = IoTYPE_WRONLY;
    saved_select = PL_defoutgv;
    SvREFCNT_inc_simple_void(saved_select);
    setdefout(out_glob);
}

/* Whatever the program has done to the handle, the next one finds it new. */
static void restore(pTHX_ IO *io, PerlIO *ours, PerlIO *saved_read, PerlIO *saved_write)
{
    if (SvRMAGICAL((SV *)io))
        sv_unmagic((SV *)io, PERL_MAGIC_tiedscalar); /* tie *STDOUT */
    if (IoIFP(io) && IoIFP(io) != ours && IoIFP(io) != saved_read)
        PerlIO_close(IoIFP(io)); /* it was opened anew */
    if (ours && PerlIOValid(ours)) {
        PerlIO_funcs *top = PerlIOBase(ours)->tab;
        if (top != &layer) { /* layers were put above ours */
            PerlIO_flush(ours);
            while (PerlIOValid(ours) && PerlIOBase(ours)->tab != &layer)
                PerlIO_pop(aTHX_ ours);
        }
        if (PerlIOValid(ours))
            PerlIOBase(ours)->flags &= ~PERLIO_F_UTF8;
    }
    IoIFP(io) = saved_read;
    IoOFP(io) = saved_write;
    IoFLAGS(io) &= ~IOf_FLUSH;
}

void hp_untie(pTHX)
{
    IO *in, *out;
    if (!tied)
        return;
    tied = 0;
    in = GvIOn(gv_fetchpvs("STDIN", GV_ADD | GV_NOTQUAL, SVt_PVIO));
    out = GvIOn(gv_fetchpvs("STDOUT", GV_ADD | GV_NOTQUAL, SVt_PVIO));
    restore(aTHX_ out, request_out, saved_out_read, saved_out_write);
    IoTYPE(out) = saved_out_type;
    restore(aTHX_ in, request_in, saved_in, NULL);
    IoTYPE(in) = saved_in_type;
    if (PL_defoutgv != saved_select)
        setdefout(saved_select);
    SvREFCNT_dec(saved_select);
    if (!SvPOK(PL_rs) || SvCUR(PL_rs) != 1 || *SvPVX(PL_rs) != '\n')
        sv_setpvs_mg(get_sv("/", GV_ADD), "\n");
}

void hp_drain(pTHX)
{
    if (!tied || !request_out || !PerlIOValid(request_out) || PerlIOBase(request_out)->tab == &layer)
        return;
    draining = 1;
    PerlIO_flush(request_out);
    draining = 0;
}

struct hp_handles {
    PerlIO *request_in, *request_out, *saved_in, *saved_out_read, *saved_out_write;
    char saved_out_type, saved_in_type;
    GV *saved_select;
    int tied;
    U8 flags;
    SV *separator;
    IV lines; /* how many STDIN has been read of: $. */
};

hp_handles *hp_handles_put_aside(pTHX)
{
    IO *out = GvIOn(gv_fetchpvs("STDOUT", GV_ADD | GV_NOTQUAL, SVt_PVIO));
    IO *in = GvIOn(gv_fetchpvs("STDIN", GV_ADD | GV_NOTQUAL, SVt_PVIO));
    hp_handles *h;
    Newx(h, 1, hp_handles);
    *h = (hp_handles){request_in,    request_out,  saved_in, saved_out_read, saved_out_write, saved_out_type,
                      saved_in_type, saved_select, tied,     IoFLAGS(out),   newSVsv(PL_rs),  IoLINES(in)};
    request_in = request_out = NULL;
    tied = 0;
    IoFLAGS(out) &= ~IOf_FLUSH;
    if (!SvPOK(PL_rs) || SvCUR(PL_rs) != 1 || *SvPVX(PL_rs) != '\n')
        sv_setpvs_mg(get_sv("/", GV_ADD), "\n");
    return h;
}

/* Those of the request that has had them meanwhile are closed. */
void hp_handles_take_back(pTHX_ hp_handles *h)
{
    IO *out = GvIOn(gv_fetchpvs("STDOUT", GV_ADD | GV_NOTQUAL, SVt_PVIO));
    hp_untie(aTHX);
    if (request_in)
        PerlIO_close(request_in);
    if (request_out)
        PerlIO_close(request_out);
    request_in = h->request_in;
    request_out = h->request_out;
    saved_in = h->saved_in;
    saved_out_read = h->saved_out_read;
    saved_out_write = h->saved_out_write;
    saved_out_type = h->saved_out_type;
    saved_in_type = h->saved_in_type;
    saved_select = h->saved_select;
    tied = h->tied;
    IoFLAGS(out) = h->flags;
    IoLINES(GvIOn(gv_fetchpvs("STDIN", GV_ADD | GV_NOTQUAL, SVt_PVIO))) = h->lines;
    sv_setsv_mg(get_sv("/", GV_ADD), h->separator);
    SvREFCNT_dec(h->separator);
    Safefree(h);
}

void hp_boot_handles(pTHX)
{
    PerlIO_define_layer(aTHX_ PERLIO_FUNCS_CAST(&layer));
    define_apr_layer(aTHX);
    syswrite = PL_ppaddr[OP_SYSWRITE];
    PL_ppaddr[OP_SYSWRITE] = syswrite_out;
    sysread = PL_ppaddr[OP_SYSREAD];
    PL_ppaddr[OP_SYSREAD] = sysread_in;
    open_anew = PL_ppaddr[OP_OPEN];
    PL_ppaddr[OP_OPEN] = open_followed;
    number = PL_ppaddr[OP_FILENO];
    PL_ppaddr[OP_FILENO] = number_of;
}
