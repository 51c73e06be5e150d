/* Apache2::RequestRec: the fields of a request. */
#include "api.h"

#include <stddef.h>
#include <sys/stat.h>

/* Texts that can be read and set: where the changed value is, where the front's, what changing it means. */
/* clang-format off */
static const struct {
    size_t changed, original;
    int tells;
} texts[] = {
#define TEXT(name, tells) {offsetof(hp_request, name), offsetof(hp_request_in, name), tells}
    TEXT(method, HP_CHANGED_REQUEST),       TEXT(uri, HP_CHANGED_REQUEST),
    TEXT(unparsed_uri, 0),                  TEXT(args, HP_CHANGED_REQUEST),
    TEXT(filename, HP_CHANGED_REQUEST),     TEXT(path_info, HP_CHANGED_REQUEST),
    TEXT(user, HP_CHANGED_REQUEST),         TEXT(ap_auth_type, HP_CHANGED_REQUEST),
    TEXT(handler, HP_CHANGED_REQUEST),      TEXT(content_type, HP_CHANGED_ANSWER),
    TEXT(content_encoding, 0),              TEXT(the_request, 0),
    TEXT(hostname, 0),
};

enum { METHOD, URI, UNPARSED_URI, ARGS, FILENAME, PATH_INFO, USER, AP_AUTH_TYPE, HANDLER, CONTENT_TYPE,
       CONTENT_ENCODING, THE_REQUEST, HOSTNAME };
/* clang-format on */

/* The bytes: of an object that is a text by overloading, what it says now. */
static SV *text_copy(pTHX_ SV *value)
{
    STRLEN length;
    const char *text;
    if (!SvOK(value))
        return newSV(0);
    text = SvPV(value, length);
    return newSVpvn(text, length);
}

static void put_text(pTHX_ hp_request *r, int which, SV *value)
{
    SV **slot = (SV **)((char *)r + texts[which].changed);
    SV *old = *slot;
    *slot = text_copy(aTHX_ value);
    SvREFCNT_dec(old);
    r->changed |= texts[which].tells;
}

static SV *text_of(pTHX_ hp_request *r, int which)
{
    SV *changed = *(SV **)((char *)r + texts[which].changed);
    if (which == UNPARSED_URI && !changed && r->in->flags & HP_REDIRECTED && r->in->redirect_url.ptr)
        return hp_redirected_uri(aTHX_ r->in);
    return changed ? newSVsv(changed) : hp_sv(aTHX_ * (const hp_str *)((const char *)r->in + texts[which].original));
}

/* What is set up for programs of the one kind is not for the other. */
static void refuse_switch(pTHX_ hp_request *r, SV *wanted)
{
    static const char script[] = "perl-script", plain[] = "modperl";
    hp_str is = hp_request_text(aTHX_ r->handler, r->in->handler);
    STRLEN length;
    const char *to = SvPV(wanted, length);
    int is_script = is.len == sizeof script - 1 && memcmp(is.ptr, script, is.len) == 0;
    int is_plain = is.len == sizeof plain - 1 && memcmp(is.ptr, plain, is.len) == 0;
    if ((is_script && strEQ(to, plain)) || (is_plain && strEQ(to, script)))
        croak("Can't switch from '%s' to '%s' response handler", is_script ? script : plain, to);
}

XS(hp_text_field)
{
    HP_METHOD(1);
    SV *answer = text_of(aTHX_ r, XSANY.any_i32);
    if (items > 1) {
        if (XSANY.any_i32 == HANDLER && r->phase == HP_RESPONSE)
            refuse_switch(aTHX_ r, ST(1));
        put_text(aTHX_ r, XSANY.any_i32, ST(1));
        if (XSANY.any_i32 == FILENAME && r->in->filename.ptr)
            r->stat_again = 1;
        /* Who names the type does not print a header; so does mod_perl take it. */
        if (XSANY.any_i32 == CONTENT_TYPE && !r->header_text)
            r->parse_headers = 0;
    }
    HP_ANSWER(answer);
}

/* clang-format off */
static const char *const methods[] = {"GET",      "PUT",      "POST",     "DELETE",           "CONNECT",    "OPTIONS",
                                      "TRACE",    "PATCH",    "PROPFIND", "PROPPATCH",        "MKCOL",      "COPY",
                                      "MOVE",     "LOCK",     "UNLOCK",   "VERSION-CONTROL",  "CHECKOUT",   "UNCHECKOUT",
                                      "CHECKIN",  "UPDATE",   "LABEL",    "REPORT",           "MKWORKSPACE", "MKACTIVITY",
                                      "BASELINE-CONTROL", "MERGE"};
/* clang-format on */

int hp_method_number(const char *name, size_t length)
{
    int i;
    if (length == 4 && memcmp(name, "HEAD", 4) == 0)
        return 0;
    for (i = 0; i < (int)(sizeof methods / sizeof *methods); i++)
        if (strlen(methods[i]) == length && memcmp(methods[i], name, length) == 0)
            return i;
    return 26; /* M_INVALID */
}

XS(hp_method_number_field)
{
    HP_METHOD(1);
    hp_str name = hp_request_text(aTHX_ r->method, r->in->method);
    int number = hp_method_number(name.ptr, name.len);
    if (items > 1) {
        IV wanted = SvIV(ST(1));
        if (wanted >= 0 && wanted < (IV)(sizeof methods / sizeof *methods) && wanted != number)
            put_text(aTHX_ r, METHOD, sv_2mortal(newSVpv(methods[wanted], 0)));
    }
    HP_ANSWER(newSViv(number));
}

XS(hp_status)
{
    HP_METHOD(1);
    int old = r->status;
    if (items > 1) {
        r->status = (int)SvIV(ST(1));
        if (r->status != 200) /* Registry sets it back */
            r->own_status = r->status;
        r->changed |= HP_CHANGED_ANSWER;
    }
    HP_ANSWER(newSViv(old));
}

/* Of an answer whose head is sent: what it said. */
static SV *sent_line(pTHX_ hp_request *r)
{
    SV *line = newSV(0);
    if (r->head_state == HP_HEAD_SENT) {
        dSP;
        require_pv("Hostler/Reasons.pm");
        SPAGAIN;
        PUSHMARK(SP);
        mXPUSHi(r->status);
        PUTBACK;
        if (call_pv("Hostler::Reasons::line", G_SCALAR) == 1) {
            SPAGAIN;
            sv_setsv(line, POPs);
            PUTBACK;
        }
    }
    return line;
}

XS(hp_status_line)
{
    HP_METHOD(1);
    SV *old = r->status_line;
    if (items == 1 && !old)
        HP_ANSWER(r->in->status_line.ptr ? hp_sv(aTHX_ r->in->status_line) : sent_line(aTHX_ r));
    if (items > 1)
        r->status_line = text_copy(aTHX_ ST(1));
    else if (old)
        SvREFCNT_inc_simple_void(old);
    HP_ANSWER(old ? old : newSV(0));
}

/* Whole numbers that can be read and, some, set. */
enum {
    ASSBACKWARDS,
    NO_LOCAL_COPY,
    HEADER_ONLY,
    PROXYREQ,
    PROTO_NUM,
    BYTES_SENT,
    REQUEST_TIME,
    MTIME,
    CLENGTH,
    CHUNKED,
    ALLOWED,
    READ_CHUNKED,
    EOS_SENT,
    IS_MAIN,
    IS_INITIAL,
    HEADERS_SENT,
    REMAINING,
    USED_PATH_INFO
};

int hp_is_part(const hp_request *r)
{
    return r->main != NULL || r->in->flags & HP_SUBREQUEST;
}

static IV *number_slot(hp_request *r, int which, IV *room)
{
    switch (which) {
    case HEADER_ONLY: *room = (r->in->flags & HP_HEAD_ONLY) != 0; break;
    case PROTO_NUM: *room = hp_is_part(r) ? 0 : r->in->protocol; break; /* ap_set_sub_req_protocol */
    case BYTES_SENT: *room = (IV)(r->bytes_sent + hp_request_gathered(r)); break;
    case REQUEST_TIME: *room = (IV)(r->in->time / 1000000); break;
    case MTIME: *room = (IV)r->mtime; break;
    case CLENGTH: *room = (IV)r->length; break;
    case IS_MAIN: *room = !hp_is_part(r); break;
    case IS_INITIAL: *room = !hp_is_part(r) && !(r->in->flags & HP_REDIRECTED); break;
    case HEADERS_SENT: *room = r->head_state == HP_HEAD_SENT; break;
    case ASSBACKWARDS: *room = r->assbackwards || hp_is_part(r); break;
    case NO_LOCAL_COPY: *room = r->no_local_copy; break;
    case PROXYREQ: *room = r->proxyreq_set ? r->proxyreq : (r->in->flags & HP_PROXY) != 0; break;
    case ALLOWED: *room = (IV)r->allowed; break;
    case USED_PATH_INFO: *room = 2; break; /* AP_REQ_DEFAULT_PATH_INFO */
    default: *room = 0;
    }
    return room;
}

static void put_number(pTHX_ hp_request *r, int which, SV *value)
{
    IV number = SvIV(value);
    switch (which) {
    case ASSBACKWARDS: r->assbackwards = number != 0; break;
    case NO_LOCAL_COPY: r->no_local_copy = number != 0; break;
    case MTIME: r->mtime = (time_t)number; break;
    case ALLOWED: r->allowed = (UV)number; break;
    case PROXYREQ:
        r->proxyreq = (int)number;
        r->proxyreq_set = 1;
        break;
    case CLENGTH:
        r->has_length = 1;
        r->length = (uint64_t)number;
        break;
    default: break;
    }
}

XS(hp_number_field)
{
    HP_METHOD(1);
    IV room;
    SV *answer = newSViv(*number_slot(r, XSANY.any_i32, &room));
    if (items > 1)
        put_number(aTHX_ r, XSANY.any_i32, ST(1));
    HP_ANSWER(answer);
}

XS(hp_protocol)
{
    HP_METHOD(1);
    HP_ANSWER(hp_sv(aTHX_ hp_protocol_name(r)));
}

/* Tables: number says which. With a name: its value (all in list context); with a value: set, undef unsets. */
enum { HEADERS_IN, HEADERS_OUT, ERR_HEADERS_OUT, SUBPROCESS_ENV, NOTES };

static hp_table *table_of(pTHX_ hp_request *r, int which)
{
    switch (which) {
    case HEADERS_IN: return HP_TABLE(r, headers_in);
    case HEADERS_OUT: return HP_TABLE(r, headers_out);
    case ERR_HEADERS_OUT: return HP_TABLE(r, err_headers_out);
    case SUBPROCESS_ENV:
        if (r->env_wanted)
            hp_env_common(aTHX_ r);
        else if (!r->subprocess_env && r->directory && r->directory->env.count)
            hp_env_put_configured(aTHX_ r);
        hp_env_of_program(aTHX_ r);
        (void)HP_TABLE(r, subprocess_env);
        hp_env_watch(aTHX_ r);
        return r->subprocess_env;
    default: return HP_TABLE(r, notes);
    }
}

SV *hp_table_access(pTHX_ hp_table *table, SV *name, SV *value)
{
    STRLEN length, value_length;
    size_t found_length;
    const char *key = SvPV(name, length), *found = hp_table_get(table, key, length, &found_length);
    SV *answer = found ? newSVpvn(found, found_length) : newSV(0);
    if (value && !SvOK(value)) {
        hp_table_unset(aTHX_ table, key, length);
    } else if (value) {
        const char *bytes = SvPV(value, value_length);
        hp_table_set(aTHX_ table, key, length, bytes, value_length);
    }
    return answer;
}

XS(hp_table_field)
{
    HP_METHOD(1);
    int which = XSANY.any_i32;
    if (which == SUBPROCESS_ENV && items == 1 && GIMME_V == G_VOID) {
        hp_env_of_void_call(aTHX_ r);
        XSRETURN_EMPTY;
    }
    if (items > 1)
        HP_ANSWER(hp_table_access(aTHX_ table_of(aTHX_ r, which), ST(1), items > 2 ? ST(2) : NULL));
    HP_ANSWER(hp_table_sv(aTHX_ table_of(aTHX_ r, which), NULL));
}

/* pnotes() the hash, pnotes(key), pnotes(key, value): the new value. number 1: the connection's. */
XS(hp_pnotes)
{
    HP_METHOD(1);
    HV **slot = XSANY.any_i32 ? hp_connection_pnotes(aTHX_ r) : &r->pnotes;
    HE *found;
    if (!*slot)
        *slot = newHV();
    if (items == 1)
        HP_ANSWER(newRV_inc((SV *)*slot));
    if (items > 2) {
        /* Quirk(mod_perl): the variable itself is kept, not a copy of its value. */
        SvREFCNT_inc_simple_void(ST(2));
        if (!hv_store_ent(*slot, ST(1), ST(2), 0))
            SvREFCNT_dec(ST(2));
    }
    found = hv_fetch_ent(*slot, ST(1), 0, 0);
    ST(0) = found ? sv_mortalcopy(HeVAL(found)) : &PL_sv_undef;
    XSRETURN(1);
}

XS(hp_connection)
{
    HP_METHOD(1);
    HP_ANSWER(hp_connection_sv(aTHX_ r));
}

XS(hp_server_field)
{
    HP_METHOD(1);
    HP_ANSWER(hp_server_sv(aTHX_ hp_server_of_request(r)));
}

/* number 0: main, 1: prev, 2: next */
XS(hp_other_request)
{
    HP_METHOD(1);
    if (XSANY.any_i32 == 0 && r->main)
        HP_ANSWER(hp_request_sv(aTHX_ r->main));
    if (XSANY.any_i32 == 1 && !r->prev && r->in->redirect_url.ptr) {
        hp_request_in in = *r->in;
        in.uri = in.unparsed_uri = r->in->redirect_url;
        in.args = r->in->redirect_query;
        in.redirect_url.ptr = in.redirect_query.ptr = NULL;
        in.flags &= ~HP_REDIRECTED;
        r->prev = hp_request_copy(aTHX_ & in, r->directory);
        r->owns_prev = 1;
    }
    if (XSANY.any_i32 == 1 && r->prev)
        HP_ANSWER(hp_request_sv(aTHX_ r->prev));
    if (XSANY.any_i32 == 2 && r->next)
        HP_ANSWER(hp_request_sv(aTHX_ r->next));
    XSRETURN_UNDEF;
}

XS(hp_pool)
{
    HP_METHOD(1);
    r = hp_request_base(r);
    if (!r->pool) {
        dSP;
        require_pv("APR/Pool.pm");
        SPAGAIN;
        PUSHMARK(SP);
        PUTBACK;
        if (call_pv("APR::Pool::of_request", G_SCALAR) == 1) {
            SPAGAIN;
            r->pool = newSVsv(POPs);
            PUTBACK;
        }
    }
    ST(0) = sv_2mortal(newSVsv(r->pool));
    XSRETURN(1);
}

/* no_cache(flag): answers what it was; headers as Apache sets them. */
XS(hp_no_cache)
{
    HP_METHOD(1);
    int old = r->no_cache;
    if (items > 1) {
        hp_table *out = HP_TABLE(r, headers_out);
        r->no_cache = SvTRUE(ST(1));
        if (r->no_cache) {
            hp_table_set(aTHX_ out, "Pragma", 6, "no-cache", 8);
            hp_table_set(aTHX_ out, "Cache-control", 13, "no-cache", 8);
        } else if (old) {
            hp_table_unset(aTHX_ out, "Pragma", 6);
            hp_table_unset(aTHX_ out, "Cache-control", 13);
        }
    }
    HP_ANSWER(newSViv(old));
}

/* Those of the file's name, until a program says others. */
static AV *named_languages(pTHX_ hp_str text)
{
    AV *languages = newAV();
    while (text.ptr && text.len) {
        const char *comma = memchr(text.ptr, ',', text.len);
        size_t length = comma ? (size_t)(comma - text.ptr) : text.len;
        av_push(languages, newSVpvn(text.ptr, length));
        length += comma != NULL;
        text.ptr += length;
        text.len -= length;
    }
    return languages;
}

XS(hp_content_languages)
{
    HP_METHOD(1);
    SV *answer = newRV_noinc(r->languages ? (SV *)av_make(av_len(r->languages) + 1, AvARRAY(r->languages))
                                          : (SV *)named_languages(aTHX_ r->in->content_languages));
    if (items > 1) {
        AV *given;
        sv_2mortal(answer);
        if (!SvROK(ST(1)) || SvTYPE(SvRV(ST(1))) != SVt_PVAV)
            Perl_croak(aTHX_ "Not an array reference");
        SvREFCNT_inc_simple_void(answer);
        SvREFCNT_dec((SV *)r->languages);
        given = (AV *)SvRV(ST(1));
        r->languages = av_make(av_len(given) + 1, AvARRAY(given));
    }
    HP_ANSWER(answer);
}

#define REC "Apache2::RequestRec::"

void hp_boot_record(pTHX)
{
    static const hp_xsub list[] = {
        {REC "method", hp_text_field, METHOD},
        {REC "uri", hp_text_field, URI},
        {REC "unparsed_uri", hp_text_field, UNPARSED_URI},
        {REC "args", hp_text_field, ARGS},
        {REC "filename", hp_text_field, FILENAME},
        {REC "canonical_filename", hp_text_field, FILENAME},
        {REC "path_info", hp_text_field, PATH_INFO},
        {REC "user", hp_text_field, USER},
        {REC "ap_auth_type", hp_text_field, AP_AUTH_TYPE},
        {REC "handler", hp_text_field, HANDLER},
        {REC "content_type", hp_text_field, CONTENT_TYPE},
        {REC "content_encoding", hp_text_field, CONTENT_ENCODING},
        {REC "the_request", hp_text_field, THE_REQUEST},
        {REC "hostname", hp_text_field, HOSTNAME},
        {REC "method_number", hp_method_number_field, 0},
        {REC "status", hp_status, 0},
        {REC "status_line", hp_status_line, 0},
        {REC "assbackwards", hp_number_field, ASSBACKWARDS},
        {REC "no_local_copy", hp_number_field, NO_LOCAL_COPY},
        {REC "header_only", hp_number_field, HEADER_ONLY},
        {REC "proxyreq", hp_number_field, PROXYREQ},
        {REC "proto_num", hp_number_field, PROTO_NUM},
        {REC "bytes_sent", hp_number_field, BYTES_SENT},
        {REC "request_time", hp_number_field, REQUEST_TIME},
        {REC "mtime", hp_number_field, MTIME},
        {REC "clength", hp_number_field, CLENGTH},
        {REC "chunked", hp_number_field, CHUNKED},
        {REC "allowed", hp_number_field, ALLOWED},
        {REC "read_chunked", hp_number_field, READ_CHUNKED},
        {REC "eos_sent", hp_number_field, EOS_SENT},
        {REC "is_main", hp_number_field, IS_MAIN},
        {REC "is_initial_req", hp_number_field, IS_INITIAL},
        {REC "headers_sent", hp_number_field, HEADERS_SENT},
        {REC "remaining", hp_number_field, REMAINING},
        {REC "used_path_info", hp_number_field, USED_PATH_INFO},
        {REC "protocol", hp_protocol, 0},
        {REC "headers_in", hp_table_field, HEADERS_IN},
        {REC "headers_out", hp_table_field, HEADERS_OUT},
        {REC "err_headers_out", hp_table_field, ERR_HEADERS_OUT},
        {REC "subprocess_env", hp_table_field, SUBPROCESS_ENV},
        {REC "notes", hp_table_field, NOTES},
        {REC "pnotes", hp_pnotes, 0},
        {"Apache2::Connection::pnotes", hp_pnotes, 1},
        {REC "connection", hp_connection, 0},
        {REC "server", hp_server_field, 0},
        {REC "main", hp_other_request, 0},
        {REC "prev", hp_other_request, 1},
        {REC "next", hp_other_request, 2},
        {REC "pool", hp_pool, 0},
        {REC "no_cache", hp_no_cache, 0},
        {REC "content_languages", hp_content_languages, 0},
    };
    HP_REGISTER(list);
}
