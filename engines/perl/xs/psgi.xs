/* PSGI 1.1 (the `psgi` handler): the environment of a request, and the answers that need no Perl to be sent.
 *
 * What an application rarely does (handles as bodies, delayed answers) is lib/Hostler/PSGI.pm's. */
#include "api.h"

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The path of the request target, decoded once (RFC 3875 4.1.5), slashes and dot segments as the client wrote them;
 * NULL if the target has no path of its own. */
static SV *raw_path(pTHX_ const hp_request_in *in) {
    const char *at = in->unparsed_uri.ptr, *end = at + in->unparsed_uri.len;
    SV *path;
    char *out;
    STRLEN n = 0;
    if (!at || at == end || *at != '/')
        return NULL;
    path = newSV(in->unparsed_uri.len + 1);
    SvPOK_on(path);
    out = SvPVX(path);
    while (at < end && *at != '?' && *at != '#') {
        int high = -1, low = -1;
        if (*at == '%' && end - at > 2) {
            high = hex(at[1]);
            low = hex(at[2]);
        }
        if (high >= 0 && low >= 0) {
            out[n++] = (char)(high << 4 | low);
            at += 3;
        } else {
            out[n++] = *at++;
        }
    }
    out[n] = '\0';
    SvCUR_set(path, n);
    return path;
}

/* Joins doubled slashes of a path, in place. 0 if it has dot segments: an application that asks what its path begins with
 * would take `/closed/../open` for one of its `/closed`, whose rules were not asked. */
static int join_slashes(char *path, STRLEN *length) {
    STRLEN in = 0, out = 0, end = *length;
    while (in < end) {
        STRLEN segment = ++in, size; /* behind its slash */
        while (in < end && path[in] != '/')
            in++;
        size = in - segment;
        if (size && size <= 2 && memEQ(path + segment, "..", size))
            return 0;
        if (!size && in < end)
            continue;
        path[out] = '/';
        Move(path + segment, path + out + 1, size, char);
        out += size + 1;
    }
    *length = out;
    return 1;
}

/* The length of `root` (of a location, without a slash at its end) where a path is it, or is below it; else 0. */
static STRLEN below(const char *path, STRLEN length, hp_str root) {
    if (root.len && length >= root.len && memEQ(path, root.ptr, root.len)
        && (length == root.len || path[root.len] == '/'))
        return root.len;
    return 0;
}

/* Whether a path as the client wrote it may be shown to the application: it is another spelling of the one that the
 * configuration was chosen by (`uri`), not of one that it was redirected from, and below `root`. */
static int spells(pTHX_ SV *path, hp_str uri, hp_str root) {
    STRLEN length, joined, of_uri = uri.len;
    const char *text = SvPV_const(path, length);
    char *copy, *same;
    if (length == uri.len && memEQ(text, uri.ptr, length))
        return 1;
    if (root.len && !below(text, length, root))
        return 0;
    joined = length - root.len;
    copy = SvPVX(sv_2mortal(newSVpvn(text + root.len, joined)));
    same = SvPVX(sv_2mortal(newSVpvn(uri.ptr, uri.len)));
    return join_slashes(copy, &joined) && join_slashes(same, &of_uri) && of_uri == root.len + joined
        && memEQ(same, root.ptr ? root.ptr : "", root.len) && memEQ(same + root.len, copy, joined);
}

/* What of a path a <LocationMatch> is about: its expression from the beginning to a slash or the end; else nothing. */
static hp_str matched(pTHX_ hp_str pattern, hp_str uri) {
    static SV *known;
    static REGEXP *compiled;
    hp_str root = {uri.ptr, 0};
    if (!known || SvCUR(known) != pattern.len || memNE(SvPVX(known), pattern.ptr, pattern.len)) {
        REGEXP *fresh = pregcomp(sv_2mortal(newSVpvf("^(?:%.*s)(?=/|\\z)", (int)pattern.len, pattern.ptr)), 0);
        SvREFCNT_dec(known);
        known = newSVpvn(pattern.ptr, pattern.len);
        if (compiled)
            ReREFCNT_dec(compiled);
        compiled = fresh;
    }
    if (uri.len) {
        SV *text = sv_2mortal(newSVpvn(uri.ptr, uri.len));
        char *start = SvPVX(text);
        if (pregexec(compiled, start, start + uri.len, start, 0, text, 1))
            root.len = (size_t)RX_OFFS(compiled)[0].end;
    }
    return root;
}

/* SCRIPT_NAME and PATH_INFO: a location is the application's root; a file that is the application has its own URL; an
 * application for a directory or for the whole server is mounted at the root. */
static void put_paths(pTHX_ HV *env, const hp_request_in *in, const hp_directory *directory) {
    hp_str root = directory->location;
    SV *path = raw_path(aTHX_ in);
    const char *text;
    STRLEN length, script;
    if (!directory->psgi_app.ptr) {
        root.ptr = in->uri.ptr;
        root.len = in->uri.len - (in->path_info.len <= in->uri.len ? in->path_info.len : 0);
    }
    if (directory->psgi_app.ptr && root.len > 1 && *root.ptr == '~') {
        root.ptr++;
        root.len--;
        root = matched(aTHX_ root, in->uri);
    }
    while (root.len && root.ptr[root.len - 1] == '/')
        root.len--;
    if (!below(in->uri.ptr, in->uri.len, root))
        root.len = 0;
    if (!path || !spells(aTHX_ path, in->uri, root)) {
        SvREFCNT_dec(path);
        path = newSVpvn(in->uri.ptr, in->uri.len);
    }
    text = SvPV_const(path, length);
    script = below(text, length, root);
    (void)hv_stores(env, "SCRIPT_NAME", newSVpvn(script ? root.ptr : "", script));
    if (script)
        sv_chop(path, text + script);
    (void)hv_stores(env, "PATH_INFO", path);
}

/* A field as HTTP_NAME; Content-Type and Content-Length without the prefix. Names with other characters than letters,
 * digits and '-' are dropped: "A_B" must not pass for "A-B" (CVE-2015-7519). */
static void put_field(pTHX_ HV *env, hp_str name, hp_str value) {
    char key[256];
    size_t i, start = 5;
    SV **there;
    if (name.len + 5 > sizeof key)
        return;
    memcpy(key, "HTTP_", 5);
    for (i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c >= 'a' && c <= 'z')
            c -= 'a' - 'A';
        else if (c == '-')
            c = '_';
        else if (!((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')))
            return;
        key[5 + i] = c;
    }
    if ((name.len == 12 && memEQ(key + 5, "CONTENT_TYPE", 12))
        || (name.len == 14 && memEQ(key + 5, "CONTENT_LENGTH", 14)))
        start = 0;
    if (name.len == 5 && memEQ(key + 5, "PROXY", 5))
        return; /* CVE-2016-5385 */
    there = hv_fetch(env, start ? key : key + 5, (I32)(name.len + start), 1);
    if (!there)
        return;
    if (SvOK(*there)) {
        sv_catpvs(*there, ", ");
        sv_catpvn(*there, value.ptr, value.len);
    } else {
        sv_setpvn(*there, value.ptr ? value.ptr : "", value.len);
    }
}

static void put_all(pTHX_ HV *env, hp_request *r) {
    hp_fields headers = r->headers_in ? hp_table_fields(aTHX_ r->headers_in) : r->in->headers_in;
    size_t i;
    for (i = 0; i < headers.count; i++)
        put_field(aTHX_ env, headers.list[i].name, headers.list[i].value);
    hp_env_psgi(aTHX_ r, env);
    put_paths(aTHX_ env, r->in, r->directory);
}

static void put_field_of(pTHX_ hp_field *field, SV *name, SV *value) {
    STRLEN length;
    field->name.ptr = SvPV_const(name, length);
    field->name.len = length;
    field->value.ptr = SvOK(value) ? SvPV_const(value, length) : "";
    field->value.len = SvOK(value) ? length : 0;
}

static int is(const hp_str *name, const char *wanted, size_t length) {
    return name->len == length && foldEQ(name->ptr, wanted, (I32)length);
}

/* Sends the head of an answer. `known`: the body's length, or -1. */
static void send_head(pTHX_ hp_request *r, int status, AV *list, IV known) {
    hp_reply_head head;
    hp_field few[32], *fields = few;
    SSize_t count = (av_len(list) + 1) / 2, i;
    bool is_success = status >= 200 && status < 300;
    /* The application's fields are added to what the phases before have set, as Plack::Handler::Apache2 does it. */
    hp_fields set = hp_request_fields_out(aTHX_ r, !is_success);
    size_t kept = set.count, room = set.count + (size_t)count;
    Zero(&head, 1, hp_reply_head);
    if (room > 32) {
        fields = (hp_field *)SvPVX(sv_2mortal(newSV(room * sizeof(hp_field))));
    }
    if (set.count)
        Copy(set.list, fields, set.count, hp_field);
    for (i = 0; i < count; i++) {
        SV **name = av_fetch(list, 2 * i, 0), **value = av_fetch(list, 2 * i + 1, 0);
        hp_field *field = &fields[kept];
        if (!name || !value)
            continue;
        put_field_of(aTHX_ field, *name, *value);
        if (is(&field->name, "Content-Type", 12)) {
            head.content_type = field->value;
        } else if (is(&field->name, "Content-Length", 14)) {
            head.has_length = 1;
            head.length = SvUV(*value);
        } else {
            kept++;
        }
    }
    if (!head.has_length && known >= 0 && status >= 200 && status != 204 && status != 304) {
        head.has_length = 1;
        head.length = (uint64_t)known;
    }
    head.status = (uint16_t)status;
    head.headers_out = head.err_headers_out = hp_request_fields_out(aTHX_ r, is_success);
    if (is_success) {
        head.headers_out.list = fields;
        head.headers_out.count = kept;
    } else {
        head.err_headers_out.list = fields;
        head.err_headers_out.count = kept;
    }
    hp_out_head(&head);
    r->head_state = HP_HEAD_SENT;
    r->status = status;
}

/* Sends an interim response with the fields of a list. */
static void send_early(pTHX_ const hp_request *r, IV status, AV *list) {
    SSize_t count = (av_len(list) + 1) / 2, i;
    hp_field *fields = (hp_field *)SvPVX(sv_2mortal(newSV((STRLEN)(count + 1) * sizeof(hp_field))));
    hp_fields all = {fields, 0};
    if (status < 102 || status > 199)
        croak("an informational response must have a status from 102 to 199, not %" IVdf, status);
    if (r->head_state == HP_HEAD_SENT)
        croak("an informational response must be sent before the response begins");
    for (i = 0; i < count; i++) {
        SV **name = av_fetch(list, 2 * i, 0), **value = av_fetch(list, 2 * i + 1, 0);
        if (name && value)
            put_field_of(aTHX_ &fields[all.count++], *name, *value);
    }
    hp_out_early((uint16_t)status, &all);
}

static void send_body(pTHX_ hp_request *r, SV *piece) {
    STRLEN length;
    const char *text;
    SvGETMAGIC(piece);
    if (!SvOK(piece) || (r->in->flags & HP_HEAD_ONLY))
        return;
    if (SvUTF8(piece) && !sv_utf8_downgrade(piece, TRUE))
        croak("Wide character in the body of a PSGI answer: encode it first (Encode::encode_utf8)");
    text = SvPV_const(piece, length);
    r->bytes_sent += length;
    hp_out_body(text, length);
}

/* [status, [headers], [body]]: sent at once; 0 if it is something else. */
static int send_plain(pTHX_ hp_request *r, SV *answer) {
    SV **status, **headers, **body;
    AV *list, *pieces;
    SSize_t i, count;
    IV length = 0;
    if (!SvROK(answer) || SvOBJECT(SvRV(answer)) || SvTYPE(SvRV(answer)) != SVt_PVAV)
        return 0;
    list = (AV *)SvRV(answer);
    if (av_len(list) != 2)
        return 0;
    status = av_fetch(list, 0, 0);
    headers = av_fetch(list, 1, 0);
    body = av_fetch(list, 2, 0);
    if (!status || !headers || !body || !SvROK(*headers) || SvTYPE(SvRV(*headers)) != SVt_PVAV || !SvROK(*body)
        || SvTYPE(SvRV(*body)) != SVt_PVAV || SvOBJECT(SvRV(*body)))
        return 0;
    pieces = (AV *)SvRV(*body);
    count = av_len(pieces) + 1;
    for (i = 0; i < count; i++) {
        SV **piece = av_fetch(pieces, i, 0);
        STRLEN bytes = 0;
        if (!piece || !SvOK(*piece))
            continue;
        if (SvUTF8(*piece) && !sv_utf8_downgrade(*piece, TRUE))
            croak("Wide character in the body of a PSGI answer: encode it first (Encode::encode_utf8)");
        (void)SvPV_const(*piece, bytes);
        length += (IV)bytes;
    }
    send_head(aTHX_ r, (int)SvIV(*status), (AV *)SvRV(*headers), length);
    for (i = 0; i < count; i++) {
        SV **piece = av_fetch(pieces, i, 0);
        if (piece)
            send_body(aTHX_ r, *piece);
    }
    return 1;
}

static hp_request *current(pTHX) {
    if (!hp_current)
        croak("no request is being served");
    return hp_current;
}

MODULE = Hostler::PSGI  PACKAGE = Hostler::PSGI

PROTOTYPES: DISABLE

void
_environment(SV *env)
  CODE:
    put_all(aTHX_ (HV *)SvRV(env), current(aTHX));

int
_send(SV *answer)
  CODE:
    RETVAL = send_plain(aTHX_ current(aTHX), answer);
  OUTPUT:
    RETVAL

void
_head(int status, SV *headers)
  CODE:
    if (!SvROK(headers) || SvTYPE(SvRV(headers)) != SVt_PVAV)
        croak("the headers of a PSGI answer must be an array reference");
    send_head(aTHX_ current(aTHX), status, (AV *)SvRV(headers), -1);

void
_informational(int status, SV *headers)
  CODE:
    if (!SvROK(headers) || SvTYPE(SvRV(headers)) != SVt_PVAV)
        croak("the headers of an informational response must be an array reference");
    send_early(aTHX_ current(aTHX), status, (AV *)SvRV(headers));

void
_body(SV *piece)
  CODE:
    send_body(aTHX_ current(aTHX), piece);

void
_publish()
  CODE:
    hp_out_publish();

int
_gone()
  CODE:
    RETVAL = hp_aborted();
  OUTPUT:
    RETVAL

int
_has_body()
  CODE:
    RETVAL = (current(aTHX)->in->flags & HP_BODY) != 0;
  OUTPUT:
    RETVAL

SV *
_read(UV most)
  CODE:
    RETVAL = newSV(most + 1);
    SvPOK_on(RETVAL);
    {
        ptrdiff_t n = hp_in_body(SvPVX(RETVAL), most);
        if (n < 0)
            n = 0;
        SvCUR_set(RETVAL, (STRLEN)n);
        *SvEND(RETVAL) = '\0';
    }
  OUTPUT:
    RETVAL

SV *
_application()
  CODE:
    {
        hp_request *r = current(aTHX);
        hp_str path = r->directory->psgi_app.ptr ? r->directory->psgi_app : r->in->filename;
        RETVAL = newSVpvn(path.ptr ? path.ptr : "", path.len);
    }
  OUTPUT:
    RETVAL

void
_leave()
  CODE:
    hp_exit_after_request();

void
_log(SV *text)
  CODE:
    {
        STRLEN length;
        const char *bytes = SvPV_const(text, length);
        while (length && (bytes[length - 1] == '\n' || bytes[length - 1] == '\r'))
            length--;
        hp_log(3, 1, bytes, length);
    }
