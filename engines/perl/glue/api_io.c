/* Apache2::RequestIO: what a request prints and reads, as methods and as a tied handle. */
#include "api.h"

#include <fcntl.h>
#include <unistd.h>

/* Whose output it is. Since mod_perl 2 the answer's time has to have come. */
static hp_request *printing(pTHX_ hp_request *r, const char *method)
{
    r = hp_request_printing(r);
    if (hp_settings.generation != 1 && r->phase >= 0 && r->phase < HP_RESPONSE)
        croak("$r->%s can't be called before the response phase", method);
    return r;
}

static STRLEN print_list(pTHX_ hp_request *r, SV **list, SSize_t count)
{
    STRLEN total = 0;
    SSize_t i;
    for (i = 0; i < count; i++) {
        STRLEN length;
        const char *bytes = SvPV(list[i], length);
        hp_request_write(aTHX_ r, bytes, length);
        total += length;
    }
    return total;
}

static SV *count_or_zero_but_true(pTHX_ STRLEN count)
{
    return count ? newSVuv(count) : newSVpvs("0E0");
}

/* number: 0 puts, 1 print and PRINT */
XS(hp_print)
{
    HP_METHOD(1);
    STRLEN total = print_list(aTHX_ printing(aTHX_ r, XSANY.any_i32 ? "print" : "puts"), &ST(1), items - 1);
    if (XSANY.any_i32 && hp_request_autoflush(aTHX_ r))
        hp_request_push(aTHX_ hp_request_printing(r));
    if (GIMME_V == G_VOID)
        XSRETURN_EMPTY;
    HP_ANSWER(count_or_zero_but_true(aTHX_ total));
}

XS(hp_printf)
{
    HP_METHOD(2);
    SV *text = sv_newmortal();
    do_sprintf(text, items - 1, &ST(1));
    STRLEN total = print_list(aTHX_ printing(aTHX_ r, "printf"), &text, 1);
    if (hp_request_autoflush(aTHX_ r))
        hp_request_push(aTHX_ hp_request_printing(r));
    HP_ANSWER(count_or_zero_but_true(aTHX_ total));
}

/* write(buffer, length = -1, offset = 0); number 1: the handle's WRITE */
XS(hp_write)
{
    HP_METHOD(2);
    STRLEN available, length;
    const char *bytes = SvPV(ST(1), available);
    IV wanted = items > 2 && SvOK(ST(2)) ? SvIV(ST(2)) : -1, offset = items > 3 ? SvIV(ST(3)) : 0;
    if (offset < 0)
        offset += (IV)available;
    if (offset < 0 || (STRLEN)offset > available)
        croak("write: the offset is outside of the string");
    length = available - offset;
    if (wanted >= 0 && (STRLEN)wanted < length)
        length = wanted;
    hp_request_write(aTHX_ printing(aTHX_ r, "write"), bytes + offset, length);
    if (hp_request_autoflush(aTHX_ r))
        hp_request_push(aTHX_ hp_request_printing(r));
    HP_ANSWER(count_or_zero_but_true(aTHX_ length));
}

XS(hp_rflush)
{
    HP_METHOD(1);
    hp_request_push(aTHX_ hp_request_printing(r));
    XSRETURN_EMPTY;
}

/* ---- the body ---- */

static char ahead[8192]; /* read for READLINE and GETC, and not yet given out */
static STRLEN ahead_from, ahead_to;
static const hp_request *ahead_of;

static STRLEN receive(pTHX_ hp_request *r, char *into, STRLEN length)
{
    ptrdiff_t got;
    if (r->body_ended || !length)
        return 0;
    got = hp_in_body(into, length);
    if (got == 0)
        r->body_ended = 1;
    if (got < 0) {
        r->body_ended = 1;
        hp_throw(aTHX_ 104, "Apache2::RequestIO::read"); /* ECONNRESET */
    }
    return (STRLEN)got;
}

STRLEN hp_request_read(pTHX_ hp_request *r, char *into, STRLEN length)
{
    STRLEN waiting;
    r = hp_request_base(r); /* whose the body is */
    if (ahead_of != r) {
        ahead_of = r;
        ahead_from = ahead_to = 0;
    }
    waiting = ahead_to - ahead_from;
    if (!waiting)
        return receive(aTHX_ r, into, length);
    if (waiting > length)
        waiting = length;
    Copy(ahead + ahead_from, into, waiting, char);
    ahead_from += waiting;
    return waiting;
}

void hp_request_unread(void)
{
    ahead_of = NULL;
}

static int more(pTHX_ hp_request *r)
{
    if (ahead_of != r) {
        ahead_of = r;
        ahead_from = ahead_to = 0;
    }
    if (ahead_from < ahead_to)
        return 1;
    ahead_from = 0;
    ahead_to = receive(aTHX_ r, ahead, sizeof ahead);
    return ahead_to > 0;
}

static void pad(pTHX_ SV *buffer, STRLEN offset)
{
    STRLEN length = SvCUR(buffer);
    if (offset > length) {
        SvGROW(buffer, offset + 1);
        Zero(SvPVX(buffer) + length, offset - length, char);
        SvCUR_set(buffer, offset);
    }
}

/* read(buffer, length, offset): gives up to `length` bytes, all of them unless the body ends. */
XS(hp_read)
{
    HP_METHOD(3);
    SV *buffer = ST(1);
    IV wanted = SvIV(ST(2)), offset = items > 3 ? SvIV(ST(3)) : 0;
    STRLEN total = 0, got = 1;
    if (wanted < 0)
        croak("The LENGTH argument can't be negative");
    if (!SvOK(buffer))
        sv_setpvs_mg(buffer, ""); /* an element of a hash that is not there yet comes to be */
    SvPV_force_nolen(buffer);
    SvUTF8_off(buffer);
    if (offset < 0)
        offset += (IV)SvCUR(buffer);
    if (offset < 0)
        croak("Offset outside string");
    pad(aTHX_ buffer, offset);
    SvGROW(buffer, (STRLEN)offset + 1);
    SvCUR_set(buffer, offset);
    /* Programs ask for as much as the client has promised: room is made for what comes, and about as much again. */
    while (total < (STRLEN)wanted && got) {
        STRLEN piece = wanted - total, room = total + 65536;
        if (piece > room)
            piece = room;
        SvGROW(buffer, offset + total + piece + 1);
        got = hp_request_read(aTHX_ r, SvPVX(buffer) + offset + total, piece);
        total += got;
        SvCUR_set(buffer, offset + total);
    }
    *SvEND(buffer) = 0;
    SvPOK_only(buffer);
    SvSETMAGIC(buffer);
    SvTAINTED_on(buffer);
    HP_ANSWER(newSVuv(total));
}

STRLEN hp_request_ahead(pTHX_ hp_request *r, char **from, int fill)
{
    if (fill)
        more(aTHX_ r);
    *from = ahead + ahead_from;
    return ahead_of == r ? ahead_to - ahead_from : 0;
}

void hp_request_ahead_left(STRLEN left)
{
    if (left <= ahead_to)
        ahead_from = ahead_to - left;
}

/* Appends up to and with the separator; 0: nothing was left. */
static int read_line(pTHX_ hp_request *r, SV *line)
{
    STRLEN separator_length = 0;
    SV *rs = PL_rs;
    const char *separator = SvOK(rs) && !SvROK(rs) ? SvPV(rs, separator_length) : NULL;
    int paragraphs = separator && separator_length == 0, any = 0;
    STRLEN record = SvOK(rs) && SvROK(rs) ? (STRLEN)SvIV(SvRV(rs)) : 0;
    if (paragraphs)
        separator = "\n\n", separator_length = 2;
    while (more(aTHX_ r)) {
        char *from = ahead + ahead_from;
        STRLEN length = ahead_to - ahead_from;
        any = 1;
        if (record) {
            STRLEN missing = record - SvCUR(line);
            if (length > missing)
                length = missing;
        } else if (separator) {
            char *last = memchr(from, separator[separator_length - 1], length);
            if (last)
                length = last - from + 1;
        }
        sv_catpvn(line, from, length);
        ahead_from += length;
        if (record && SvCUR(line) >= record)
            break;
        if (separator && SvCUR(line) >= separator_length &&
            memcmp(SvEND(line) - separator_length, separator, separator_length) == 0)
            break;
    }
    while (paragraphs && more(aTHX_ r) && ahead[ahead_from] == '\n')
        ahead_from++;
    return any;
}

XS(hp_readline)
{
    HP_METHOD(1);
    r = hp_request_base(r);
    if (GIMME_V == G_LIST) {
        SP -= items;
        for (;;) {
            SV *line = sv_2mortal(newSVpvs(""));
            if (!read_line(aTHX_ r, line))
                break;
            XPUSHs(line);
        }
        PUTBACK;
        return;
    } else {
        SV *line = newSVpvs("");
        if (!read_line(aTHX_ r, line)) {
            SvREFCNT_dec(line);
            XSRETURN_UNDEF;
        }
        HP_ANSWER(line);
    }
}

XS(hp_getc)
{
    HP_METHOD(1);
    r = hp_request_base(r);
    if (!more(aTHX_ r))
        XSRETURN_UNDEF;
    HP_ANSWER(newSVpvn(&ahead[ahead_from++], 1));
}

XS(hp_eof)
{
    HP_METHOD(1);
    HP_ANSWER(newSViv(!more(aTHX_ hp_request_base(r))));
}

XS(hp_discard_request_body)
{
    HP_METHOD(1);
    char nowhere[8192];
    while (hp_request_read(aTHX_ r, nowhere, sizeof nowhere))
        ;
    HP_ANSWER(newSViv(0));
}

/* ---- sendfile(name, offset, length) ---- */

static int send_file(pTHX_ hp_request *r, const char *name, off_t offset, UV length)
{
    char piece[65536];
    ssize_t got;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    while (length && (got = pread(fd, piece, length < sizeof piece ? length : sizeof piece, offset)) != 0) {
        if (got < 0) {
            int error = errno;
            close(fd);
            return error;
        }
        hp_request_write(aTHX_ r, piece, got);
        offset += got;
        length -= got;
    }
    close(fd);
    return 0;
}

XS(hp_sendfile)
{
    HP_METHOD(2);
    int error = send_file(aTHX_ hp_request_printing(r), SvPV_nolen(ST(1)), items > 2 ? (off_t)SvIV(ST(2)) : 0,
                          items > 3 && SvUV(ST(3)) ? SvUV(ST(3)) : ~(UV)0);
    if (error && GIMME_V == G_VOID)
        hp_throw(aTHX_ error, form("Apache2::RequestIO::sendfile('%s')", SvPV_nolen(ST(1))));
    HP_ANSWER(newSViv(error));
}

/* ---- the rest of the handle ---- */

/* `tie *STDOUT, $r` and `tie *STDOUT, CLASS, $r` */
XS(hp_tiehandle)
{
    dXSARGS;
    SV *object = items ? ST(items > 1 ? 1 : 0) : &PL_sv_undef;
    hp_request_of(aTHX_ object);
    HP_ANSWER(newSVsv(object));
}

/* number: what it answers */
XS(hp_constant_answer)
{
    dXSARGS;
    PERL_UNUSED_VAR(items);
    HP_ANSWER(newSViv(XSANY.any_i32));
}

void hp_boot_io(pTHX)
{
    static const hp_xsub list[] = {
        {"Apache2::RequestRec::print", hp_print, 1},
        {"Apache2::RequestRec::puts", hp_print, 0},
        {"Apache2::RequestRec::PRINT", hp_print, 1},
        {"Apache2::RequestRec::printf", hp_printf, 0},
        {"Apache2::RequestRec::PRINTF", hp_printf, 0},
        {"Apache2::RequestRec::write", hp_write, 0},
        {"Apache2::RequestRec::WRITE", hp_write, 1},
        {"Apache2::RequestRec::rflush", hp_rflush, 0},
        {"Apache2::RequestRec::read", hp_read, 0},
        {"Apache2::RequestRec::READ", hp_read, 0},
        {"Apache2::RequestRec::READLINE", hp_readline, 0},
        {"Apache2::RequestRec::GETC", hp_getc, 0},
        {"Apache2::RequestRec::EOF", hp_eof, 0},
        {"Apache2::RequestRec::discard_request_body", hp_discard_request_body, 0},
        {"Apache2::RequestRec::sendfile", hp_sendfile, 0},
        {"Apache2::RequestRec::TIEHANDLE", hp_tiehandle, 0},
        {"Apache2::RequestRec::FILENO", hp_constant_answer, -1},
        {"Apache2::RequestRec::OPEN", hp_constant_answer, 0},
        {"Apache2::RequestRec::CLOSE", hp_constant_answer, 1},
        {"Apache2::RequestRec::BINMODE", hp_constant_answer, 1},
        {"Apache2::RequestRec::UNTIE", hp_constant_answer, 1},
    };
    HP_REGISTER(list);
}
