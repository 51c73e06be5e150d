/* The header that a CGI script prints before its body (PerlSendHeader, ParseHeaders, send_cgi_header): RFC 3875 §6.3
 * in the manner of Apache's ap_scan_script_header_err. */
#include "trip.h"

#include <strings.h>

static int is(const char *name, size_t length, const char *other)
{
    return strlen(other) == length && strncasecmp(name, other, length) == 0;
}

static void replace(pTHX_ SV **slot, const char *value, size_t length)
{
    SvREFCNT_dec(*slot);
    *slot = newSVpvn(value, length);
}

static void put_status(pTHX_ hp_request *r, const char *value, size_t length)
{
    char digits[16];
    int status;
    Copy(value, digits, length < 15 ? length : 15, char);
    digits[length < 15 ? length : 15] = 0;
    status = atoi(digits);
    if (status < 100 || status > 999) {
        int shown = length < 30 ? (int)length : 30;
        hp_log_text(aTHX_ 3, 1, sv_2mortal(newSVpvf("Invalid status line from script: %.*s", shown, value)));
        r->status = r->own_status = 500;
        return;
    }
    r->status = r->own_status = status;
    if (length > 3)
        replace(aTHX_ & r->status_line, value, length);
}

/* As Apache reads and writes it (ap_update_mtime, ap_set_last_modified); what is no date is dropped. For a script in a
 * fork, which loads nothing of mod_perl, the front does it. */
static void put_modified(pTHX_ hp_request *r, const char *value, size_t length)
{
    dSP;
    require_pv("Apache2/Response.pm");
    SPAGAIN;
    PUSHMARK(SP);
    EXTEND(SP, 2);
    mPUSHs(hp_request_sv(aTHX_ r));
    mPUSHp(value, length);
    PUTBACK;
    call_pv("Apache2::Response::_modified", G_VOID | G_DISCARD);
}

static void put(pTHX_ hp_request *r, const char *name, size_t name_length, const char *value, size_t length)
{
    if (is(name, name_length, "Status"))
        put_status(aTHX_ r, value, length);
    else if (is(name, name_length, "Content-Type"))
        replace(aTHX_ & r->content_type, value, length);
    else if (is(name, name_length, "Location") || is(name, name_length, "Content-Length") ||
             is(name, name_length, "Transfer-Encoding") || is(name, name_length, "ETag") ||
             (is(name, name_length, "Last-Modified") && hp_handler_kind(aTHX_ r) == CGI_SCRIPT))
        hp_table_set(aTHX_ HP_TABLE(r, headers_out), name, name_length, value, length);
    else if (is(name, name_length, "Last-Modified"))
        put_modified(aTHX_ r, value, length);
    else if (is(name, name_length, "Set-Cookie"))
        hp_table_add(aTHX_ HP_TABLE(r, err_headers_out), name, name_length, value, length);
    else
        hp_table_merge(aTHX_ HP_TABLE(r, err_headers_out), name, name_length, value, length);
}

/* Where the header ends (behind its empty line); 0: not in this text. */
static size_t end_of_header(const char *text, STRLEN length)
{
    size_t i = 0;
    while (i < length) {
        const char *newline = memchr(text + i, '\n', length - i);
        size_t line;
        if (!newline)
            return 0;
        line = newline - (text + i);
        if (line == 0 || (line == 1 && text[i] == '\r'))
            return i + line + 1;
        i += line + 1;
    }
    return 0;
}

/* Whether each whole line could be one of a header. */
static int looks_like_header(const char *text, STRLEN length)
{
    size_t i = 0;
    while (i < length) {
        const char *newline = memchr(text + i, '\n', length - i);
        size_t line = newline ? (size_t)(newline - (text + i)) : length - i;
        const char *colon = memchr(text + i, ':', line);
        size_t j, end = colon ? (size_t)(colon - (text + i)) : line;
        if (newline && line && !(line == 1 && text[i] == '\r') && !colon &&
            !(line >= 5 && memcmp(text + i, "HTTP/", 5) == 0))
            return 0;
        for (j = 0; j < end; j++)
            if ((unsigned char)text[i + j] < 33 && !(j + 1 == end && text[i + j] == '\r') &&
                memcmp(text + i, "HTTP/", 5 < line ? 5 : line))
                return 0;
        i += line + 1;
    }
    return 1;
}

static void put_line(pTHX_ hp_request *r, const char *line, size_t length)
{
    const char *colon;
    size_t name, from;
    if (length && line[length - 1] == '\r')
        length--;
    if (length > 5 && memcmp(line, "HTTP/", 5) == 0) {
        const char *space = memchr(line, ' ', length);
        if (space)
            put_status(aTHX_ r, space + 1, length - (space + 1 - line));
        return;
    }
    colon = memchr(line, ':', length);
    if (!colon)
        return;
    name = from = colon - line;
    for (from++; from < length && isSPACE(line[from]); from++)
        ;
    while (length > from && isSPACE(line[length - 1]))
        length--;
    put(aTHX_ r, line, name, line + from, length - from);
}

ptrdiff_t hp_headers_parse(pTHX_ hp_request *r, const char *text, STRLEN length)
{
    size_t end = end_of_header(text, length), i = 0;
    if (!looks_like_header(text, end ? end : length))
        return -2;
    if (!end)
        return length > 65536 ? -2 : -1;
    while (i < end) {
        size_t line = (const char *)memchr(text + i, '\n', end - i) - (text + i);
        put_line(aTHX_ r, text + i, line);
        i += line + 1;
    }
    return (ptrdiff_t)end;
}
