/* What a request answers: small pieces are gathered, then the head goes out, then bytes. */
#include "api.h"
#include "perl_glue.h"

/* As mod_perl's: scripts see the same moments at which output leaves. */
#define ROOM 8192

static char gathered[ROOM];
static STRLEN gathered_length;
/* Whose bytes are gathered: what one request left (it failed) is not the next one's. */
static const hp_request *gathered_of;

static void begin(hp_request *r)
{
    if (gathered_of != r) {
        gathered_of = r;
        gathered_length = 0;
    }
}

void hp_output_put_aside(pTHX_ hp_gathered *kept)
{
    kept->of = gathered_of;
    kept->length = gathered_of ? gathered_length : 0;
    kept->text = savepvn(gathered, kept->length);
    gathered_of = NULL;
}

void hp_output_take_back(pTHX_ hp_gathered *kept)
{
    gathered_of = kept->of;
    gathered_length = kept->length;
    Copy(kept->text, gathered, kept->length, char);
    Safefree(kept->text);
}

void (*hp_before_output)(pTHX_ hp_request *r);

int hp_request_forget_output(hp_request *r)
{
    begin(r);
    gathered_length = 0;
    return r->head_state == HP_HEAD_UNSENT;
}

static size_t languages(pTHX_ hp_request *r, hp_str *room, size_t most)
{
    SSize_t i;
    size_t count = 0;
    if (!r->languages)
        return 0;
    for (i = 0; i <= av_len(r->languages) && count < most; i++) {
        SV **language = av_fetch(r->languages, i, 0);
        if (language && SvOK(*language))
            room[count++] = hp_text(aTHX_ * language);
    }
    return count;
}

/* What no_cache(1) asks for is out of date when it is sent, errors as well (ap_http_header_filter). RFC 9110 §5.6.7. */
void hp_request_expire(pTHX_ hp_request *r, int error)
{
    static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char date[40];
    struct tm parts;
    time_t now = (time_t)(r->in->time / 1000000);
    size_t length;
    if (!r->no_cache || hp_table_get(HP_TABLE(r, headers_out), "Expires", 7, &length) ||
        hp_table_get(HP_TABLE(r, err_headers_out), "Expires", 7, &length) || !gmtime_r(&now, &parts))
        return;
    length = (size_t)snprintf(date, sizeof date, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", days + 3 * parts.tm_wday,
                              parts.tm_mday, months + 3 * parts.tm_mon, parts.tm_year + 1900, parts.tm_hour,
                              parts.tm_min, parts.tm_sec);
    hp_table_set(aTHX_ error ? HP_TABLE(r, err_headers_out) : HP_TABLE(r, headers_out), "Expires", 7, date, length);
}

/* A program of mod_perl 1's that sends no header makes the whole answer itself (PerlSendHeader Off), if it begins as one. */
static void look_for_own_head(pTHX_ hp_request *r, const char *bytes, STRLEN length)
{
    if (hp_settings.generation == 1 && r->head_state == HP_HEAD_UNSENT && !r->assbackwards && !r->parse_headers &&
        !r->header_said && !hp_is_part(r) && length > 9 && memcmp(bytes, "HTTP/1.", 7) == 0)
        r->assbackwards = 1;
}

hp_fields hp_request_fields_out(pTHX_ hp_request *r, int kept)
{
    hp_table *table = kept ? r->err_headers_out : r->headers_out;
    if (table)
        return hp_table_fields(aTHX_ table);
    return kept ? r->in->err_headers_out : r->in->headers_out;
}

void hp_request_send_head(pTHX_ hp_request *r)
{
    hp_reply_head head;
    hp_str room[32];
    if (r->head_state == HP_HEAD_SENT)
        return;
    r->head_state = HP_HEAD_SENT;
    hp_request_expire(aTHX_ r, 0);
    head.flags = (r->no_cache ? 1 : 0) | (r->assbackwards ? 2 : 0) | (r->no_local_copy ? 4 : 0);
    head.status = r->status >= 100 && r->status <= 999 ? (uint16_t)r->status : 500; /* as ap_get_status_line */
    head.status_line = hp_text(aTHX_ r->status_line);
    head.content_type = hp_request_text(aTHX_ r->content_type, r->in->content_type);
    if (!head.content_type.len)
        head.content_type.ptr = NULL; /* an empty type is none */
    head.content_encoding = hp_request_text(aTHX_ r->content_encoding, r->in->content_encoding);
    head.has_length = r->has_length;
    head.length = r->length;
    head.languages = room;
    head.language_count = languages(aTHX_ r, room, 32);
    head.mtime = (uint64_t)r->mtime;
    head.headers_out = hp_request_fields_out(aTHX_ r, 0);
    head.err_headers_out = hp_request_fields_out(aTHX_ r, 1);
    hp_out_head(&head);
}

int hp_request_has_filters(pTHX_ const hp_request *r)
{
    return r->is_filtered && r->is_served &&
           (r->pushed[HP_OUTPUT_FILTER] ? av_len(r->pushed[HP_OUTPUT_FILTER]) >= 0
                                        : r->directory->handler_count[HP_OUTPUT_FILTER] > 0);
}

/* Calls a function of Hostler::Filter with bytes, if there are any. What goes wrong in it is the answer's end; $@ is the
 * program's. */
static void through_filters(pTHX_ hp_request *r, const char *function, const char *bytes, STRLEN length)
{
    SV *error;
    dSP;
    if (r->filter_failed)
        return;
    error = newSVsv(ERRSV);
    r->has_length = 0; /* it was that of what goes in */
    load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Hostler::Filter"), NULL);
    SPAGAIN;
    ENTER;
    SAVETMPS;
    PUSHMARK(SP);
    XPUSHs(sv_2mortal(hp_request_sv(aTHX_ r)));
    if (bytes)
        XPUSHs(sv_2mortal(newSVpvn(bytes, length)));
    PUTBACK;
    call_pv(function, G_VOID | G_DISCARD | G_EVAL);
    if (SvTRUE(ERRSV)) {
        STRLEN shown;
        const char *why = SvPV(ERRSV, shown);
        hp_log(3, 1, why, shown);
        r->filter_failed = 1;
        if (r->head_state == HP_HEAD_UNSENT)
            r->answer_status = 500;
    }
    sv_setsv(ERRSV, error);
    SvREFCNT_dec(error);
    FREETMPS;
    LEAVE;
}

void hp_request_begin_filters(pTHX_ hp_request *r)
{
    if (hp_request_has_filters(aTHX_ r))
        through_filters(aTHX_ r, "Hostler::Filter::begin", NULL, 0);
}

void hp_request_transmit(pTHX_ hp_request *r, const char *bytes, STRLEN length)
{
    hp_request_send_head(aTHX_ r);
    r->bytes_sent += length; /* after HEAD, as Apache: what would have been */
    if (length && !(r->in->flags & HP_HEAD_ONLY))
        hp_out_body(bytes, length);
}

static void transmit(pTHX_ hp_request *r, const char *bytes, STRLEN length)
{
    if (UNLIKELY(hp_request_has_filters(aTHX_ r))) {
        through_filters(aTHX_ r, "Hostler::Filter::write", bytes, length);
        return;
    }
    look_for_own_head(aTHX_ r, bytes, length);
    hp_request_send_head(aTHX_ r);
    r->bytes_sent += length; /* after HEAD, as Apache: what would have been */
    if (!length || r->in->flags & HP_HEAD_ONLY)
        return;
    hp_out_body(bytes, length);
}

static void no_header(pTHX_ hp_request *r)
{
    hp_str uri = hp_request_text(aTHX_ r->uri, r->in->uri);
    SV *text = sv_2mortal(newSVpvf("%.*s did not send an HTTP header", (int)uri.len, uri.ptr ? uri.ptr : ""));
    hp_log_text(aTHX_ 4, 1, text);
    r->status = 500;
    r->parse_headers = 0;
}

/* After the headers: a Location decides what becomes of the request (RFC 3875 §6.2.2, 6.2.3). 1: the rest is not sent. */
static int redirected(pTHX_ hp_request *r)
{
    size_t length;
    const char *location;
    if (r->status != 200 || !(location = hp_table_get(HP_TABLE(r, headers_out), "Location", 8, &length)))
        return 0;
    if (length && location[0] == '/') {
        SvREFCNT_dec(r->redirect);
        r->redirect = newSVpvn(location, length);
    } else {
        r->answer_status = 302;
    }
    return 1;
}

/* A script's own validators are compared with what the client has (ap_scan_script_header_err): 304 and 412 go without
 * the script's body. */
static int unmodified(pTHX_ hp_request *r)
{
    size_t length;
    IV status = 0;
    dSP;
    if (r->status != 200 || !r->headers_out ||
        !(hp_table_get(r->headers_out, "ETag", 4, &length) ||
          hp_table_get(r->headers_out, "Last-Modified", 13, &length)))
        return 0;
    load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Apache2::Response"), NULL);
    SPAGAIN;
    ENTER;
    SAVETMPS;
    PUSHMARK(SP);
    XPUSHs(sv_2mortal(hp_request_sv(aTHX_ r)));
    PUTBACK;
    if (call_pv("Apache2::RequestRec::meets_conditions", G_SCALAR) == 1) {
        SPAGAIN;
        status = POPi;
        PUTBACK;
    }
    FREETMPS;
    LEAVE;
    if (!status)
        return 0;
    r->answer_status = (int)status;
    return 1;
}

/* Looks for the header in what the script has printed so far; `last`: there will be no more. */
static void pass_headers(pTHX_ hp_request *r, const char *bytes, STRLEN length, int last)
{
    ptrdiff_t taken;
    SV *text = r->header_text;
    if (text) {
        sv_catpvn(text, bytes, length);
        bytes = SvPV(text, length);
    }
    taken = length || last ? hp_headers_parse(aTHX_ r, bytes, length) : -1;
    if (taken == -1 && !last) {
        /* Quirk(mod_perl): it gives up when the first flush does not hold the whole header; here the rest may come. */
        if (!text)
            r->header_text = newSVpvn(bytes, length);
        return;
    }
    if (taken < 0) {
        no_header(aTHX_ r);
        return;
    }
    r->parse_headers = 0;
    if (!redirected(aTHX_ r) && !unmodified(aTHX_ r) && (STRLEN)taken < length)
        transmit(aTHX_ r, bytes + taken, length - taken);
}

/* Somebody else answers. */
static int is_mute(const hp_request *r)
{
    return r->redirect || r->redirected || r->answer_status;
}

static void pass(pTHX_ hp_request *r, const char *bytes, STRLEN length)
{
    if (is_mute(r))
        return;
    if (r->parse_headers && !r->assbackwards) /* nph-: the whole answer is the script's */
        pass_headers(aTHX_ r, bytes, length, 0);
    else
        transmit(aTHX_ r, bytes, length);
}

void hp_request_take_headers(pTHX_ hp_request *r, const char *text, STRLEN length)
{
    begin(r);
    if (r->head_state == HP_HEAD_SENT)
        return;
    r->parse_headers = 1;
    pass_headers(aTHX_ r, text, length, 0);
}

static void pass_gathered(pTHX_ hp_request *r)
{
    STRLEN length = gathered_length;
    gathered_length = 0;
    if (length)
        pass(aTHX_ r, gathered, length);
}

void hp_request_pass_gathered(pTHX_ hp_request *r)
{
    begin(r);
    pass_gathered(aTHX_ r);
}

void hp_request_write(pTHX_ hp_request *r, const char *bytes, STRLEN length)
{
    void (*first)(pTHX_ hp_request *) = hp_before_output;
    if (UNLIKELY(first != NULL)) {
        hp_before_output = NULL;
        first(aTHX_ r);
        hp_before_output = first;
    }
    begin(r);
    if (gathered_length + length > ROOM) {
        pass_gathered(aTHX_ r);
        if (length >= ROOM) {
            pass(aTHX_ r, bytes, length);
            return;
        }
    }
    Copy(bytes, gathered + gathered_length, length, char);
    gathered_length += length;
}

/* A short answer to HEAD is measured although it is not sent, as Apache's content length filter does. */
static void measure(pTHX_ hp_request *r)
{
    if (!hp_request_has_filters(aTHX_ r) && r->in->flags & HP_HEAD_ONLY && r->head_state == HP_HEAD_UNSENT &&
        !r->has_length && !r->parse_headers && gathered_length) {
        r->has_length = 1;
        r->length = gathered_length;
    }
}

void hp_request_flush(pTHX_ hp_request *r)
{
    begin(r);
    measure(aTHX_ r);
    pass_gathered(aTHX_ r);
    if (r->parse_headers && r->header_text && !r->redirect && !r->redirected)
        pass_headers(aTHX_ r, "", 0, 1);
    if (!is_mute(r) && hp_request_has_filters(aTHX_ r))
        through_filters(aTHX_ r, "Hostler::Filter::finish", NULL, 0);
    if (!is_mute(r))
        hp_request_send_head(aTHX_ r);
}

/* What rflush() and $| do: everything printed so far is on its way, unless a header is still awaited. */
void hp_request_push(pTHX_ hp_request *r)
{
    STRLEN length = 0;
    begin(r);
    if (!r->parse_headers && hp_request_has_filters(aTHX_ r)) {
        length = gathered_length; /* a filter gets both at once */
        gathered_length = 0;
    } else
        pass_gathered(aTHX_ r);
    if (is_mute(r) || (r->parse_headers && r->header_text))
        return;
    if (hp_request_has_filters(aTHX_ r)) {
        through_filters(aTHX_ r, "Hostler::Filter::flush", gathered, length);
        if (r->head_state == HP_HEAD_SENT)
            hp_out_publish();
        return;
    }
    if (!r->parse_headers)
        hp_request_send_head(aTHX_ r);
    hp_out_publish();
}

int hp_request_let_by(pTHX_ hp_request *r)
{
    if (!hp_request_has_filters(aTHX_ r)) {
        hp_request_push(aTHX_ r);
        return 1;
    }
    hp_request_pass_gathered(aTHX_ r);
    if (r->filter_failed)
        return 0;
    if (!is_mute(r) && !r->parse_headers)
        hp_request_send_head(aTHX_ r);
    hp_out_publish();
    return 1;
}

int hp_request_autoflush(pTHX_ hp_request *r)
{
    IO *io = GvIOp(PL_defoutgv);
    return r->autoflush || (io && IoFLAGS(io) & IOf_FLUSH);
}

STRLEN hp_request_gathered(const hp_request *r)
{
    return hp_settings.generation == 1 && !r->parse_headers && gathered_of == r ? gathered_length : 0;
}

int hp_request_has_output(const hp_request *r)
{
    return gathered_of == r && gathered_length;
}
