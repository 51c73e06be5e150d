/* The CGI variables of a request (RFC 3875 §4.1, and what Apache adds), in subprocess_env and in %ENV.
 *
 * For a program under perl-script %ENV is another hash: what it changes is gone with the request. As with mod_perl the
 * hash has no magic: programs that are started do not inherit what is in it. */
#include "api.h"

/* Where variables go: into the table that programs see as subprocess_env, into the hash of a PSGI application, or (both
 * NULL) into %ENV; the table is filled when somebody asks for it, which is seldom. */
typedef struct {
    hp_table *table;
    int exported; /* into %ENV, and to the programs that are started */
    HV *psgi;
    int yields; /* a variable that the hash already has stays */
} sink;

/* The names that PSGI reserves are never taken from the configuration. */
static int is_reserved(const char *name, size_t length)
{
    return (length > 5 && memcmp(name, "psgi.", 5) == 0) || (length > 6 && memcmp(name, "psgix.", 6) == 0);
}

static void put_psgi(pTHX_ const sink *to, const char *name, size_t length, hp_str value)
{
    SV **slot;
    if (to->yields && is_reserved(name, length))
        return;
    slot = hv_fetch(to->psgi, name, (I32)length, 1);
    if (slot && !(to->yields && SvOK(*slot)))
        sv_setpvn(*slot, value.ptr ? value.ptr : "", value.len);
}

static void put(pTHX_ const sink *to, const char *name, size_t length, hp_str value)
{
    if (to->psgi)
        put_psgi(aTHX_ to, name, length, value);
    else if (to->table)
        hp_table_set(aTHX_ to->table, name, length, value.ptr, value.len);
    else if (to->exported)
        hp_exported_put(aTHX_ name, length, value);
    else
        hp_environ_put(aTHX_ name, length, value);
}

static void set(pTHX_ const sink *to, const char *name, hp_str value)
{
    if (value.ptr)
        put(aTHX_ to, name, strlen(name), value);
}

static void set_text(pTHX_ const sink *to, const char *name, const char *value)
{
    set(aTHX_ to, name, hp_literal(value));
}

/* By hand: a process that serves one request would have printf's code mapped for it. */
static void set_number(pTHX_ const sink *to, const char *name, unsigned long number)
{
    char digits[24], *first = digits + sizeof digits;
    hp_str text;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    text.ptr = first;
    text.len = (size_t)(digits + sizeof digits - first);
    set(aTHX_ to, name, text);
}

static int same(hp_str a, const char *b)
{
    size_t length = strlen(b);
    return a.len == length && foldEQ(a.ptr, b, length);
}

/* HTTP_*, CONTENT_TYPE and CONTENT_LENGTH. RFC 3875 §4.1.18: no credentials, unless CGIPassAuth. */
static void set_headers(pTHX_ hp_request *r, const sink *to)
{
    hp_fields headers = r->headers_in ? hp_table_fields(aTHX_ r->headers_in) : r->in->headers_in;
    int pass_auth = r->directory && r->directory->flags & HP_PASS_AUTH;
    size_t i, j;
    for (i = 0; i < headers.count; i++) {
        hp_field field = headers.list[i];
        char name[256];
        if (same(field.name, "Content-Type")) {
            set(aTHX_ to, "CONTENT_TYPE", field.value);
            continue;
        }
        if (same(field.name, "Content-Length")) {
            set(aTHX_ to, "CONTENT_LENGTH", field.value);
            continue;
        }
        if (field.name.len > sizeof name - 6 || same(field.name, "Proxy") || /* httpoxy */
            (!pass_auth && (same(field.name, "Authorization") || same(field.name, "Proxy-Authorization"))))
            continue;
        Copy("HTTP_", name, 5, char);
        for (j = 0; j < field.name.len; j++)
            name[5 + j] = isALNUM(field.name.ptr[j]) ? toUPPER(field.name.ptr[j]) : '_';
        put(aTHX_ to, name, 5 + field.name.len, field.value);
    }
}

static void set_server(pTHX_ hp_request *r, const sink *to)
{
    const hp_server *server = hp_server_of_request(r);
    const hp_request_in *in = r->in;
    set(aTHX_ to, "SERVER_SIGNATURE", r->directory ? r->directory->signature : hp_literal(""));
    if (server) {
        set(aTHX_ to, "SERVER_SOFTWARE", server->software);
        set(aTHX_ to, "SERVER_ADMIN", server->admin);
        set(aTHX_ to, "DOCUMENT_ROOT", hp_request_text(aTHX_ r->document_root, server->document_root));
    }
    set(aTHX_ to, "SERVER_NAME", in->server_name);
    set(aTHX_ to, "SERVER_ADDR", in->local_ip);
    set_number(aTHX_ to, "SERVER_PORT", in->server_port);
    set(aTHX_ to, "REMOTE_ADDR",
        hp_request_text(aTHX_ hp_settings.generation == 1 ? r->client_ip : r->useragent_ip, in->remote_ip));
    set_number(aTHX_ to, "REMOTE_PORT", in->remote_port);
    set_text(aTHX_ to, "REQUEST_SCHEME", in->flags & HP_HTTPS_SCHEME ? "https" : "http");
    if (in->flags & HP_TLS)
        set_text(aTHX_ to, "HTTPS", "on");
    set(aTHX_ to, "CONTEXT_PREFIX", in->context_prefix);
    set(aTHX_ to, "CONTEXT_DOCUMENT_ROOT", in->context_document_root);
}

/* The URI without the path info at its end. */
static hp_str script_name(hp_str uri, hp_str path_info)
{
    if (path_info.len && path_info.len <= uri.len &&
        memcmp(uri.ptr + uri.len - path_info.len, path_info.ptr, path_info.len) == 0)
        uri.len -= path_info.len;
    return uri;
}

hp_str hp_protocol_name(const hp_request *r)
{
    static const char *const names[] = {"HTTP/1.0", "HTTP/1.1", "HTTP/1.2", "HTTP/1.3", "HTTP/1.4",
                                        "HTTP/1.5", "HTTP/1.6", "HTTP/1.7", "HTTP/1.8", "HTTP/1.9"};
    int protocol = r->in->protocol;
    if (hp_is_part(r))
        return hp_literal("INCLUDED");
    if (protocol >= 2000)
        return hp_literal("HTTP/2.0");
    return protocol < 1000 ? hp_literal("HTTP/0.9") : hp_literal(names[protocol % 10]);
}

static void set_request(pTHX_ hp_request *r, const sink *to)
{
    const hp_request_in *in = r->in;
    hp_str path_info = hp_request_text(aTHX_ r->path_info, in->path_info), args, uri;
    set_text(aTHX_ to, "GATEWAY_INTERFACE", "CGI/1.1");
    set(aTHX_ to, "SERVER_PROTOCOL", hp_protocol_name(r));
    set(aTHX_ to, "REQUEST_METHOD", hp_request_text(aTHX_ r->method, in->method));
    args = hp_request_text(aTHX_ r->args, in->args);
    set(aTHX_ to, "QUERY_STRING", args.ptr ? args : hp_literal(""));
    set(aTHX_ to, "REQUEST_URI", in->unparsed_uri); /* what the client asked for, also after internal redirects */
    set(aTHX_ to, "SCRIPT_FILENAME", hp_request_text(aTHX_ r->filename, in->filename));
    uri = hp_request_text(aTHX_ r->uri, in->uri);
    set(aTHX_ to, "SCRIPT_NAME", hp_is_part(r) ? uri : script_name(uri, path_info)); /* as ap_add_cgi_vars */
    if (path_info.len) {
        set(aTHX_ to, "PATH_INFO", path_info);
        set(aTHX_ to, "PATH_TRANSLATED", in->path_translated);
    }
    set(aTHX_ to, "REMOTE_USER", hp_request_text(aTHX_ r->user, in->user));
    set(aTHX_ to, "AUTH_TYPE", hp_request_text(aTHX_ r->ap_auth_type, in->ap_auth_type));
    set(aTHX_ to, "REDIRECT_URL", in->redirect_url);
    set(aTHX_ to, "REDIRECT_QUERY_STRING", in->redirect_query);
}

/* What PerlSetEnv and PerlPassEnv say. */
static void set_configured(pTHX_ hp_request *r, const sink *to)
{
    size_t i;
    for (i = 0; r->directory && i < r->directory->env.count; i++)
        put(aTHX_ to, r->directory->env.list[i].name.ptr, r->directory->env.list[i].name.len,
            r->directory->env.list[i].value);
}

/* That, then the variables of the request. */
static void set_all(pTHX_ hp_request *r, const sink *to)
{
    set_configured(aTHX_ r, to);
    set_headers(aTHX_ r, to);
    set_server(aTHX_ r, to);
    set_request(aTHX_ r, to);
}

void hp_env_common(pTHX_ hp_request *r)
{
    sink to = {HP_TABLE(r, subprocess_env), 0, NULL, 0};
    int changed = hp_table_changed(r->subprocess_env);
    r->env_wanted = 0;
    set_all(aTHX_ r, &to);
    if (!changed) /* the front knows all of these */
        hp_table_unchanged(r->subprocess_env);
}

void hp_env_put_configured(pTHX_ hp_request *r)
{
    sink to = {HP_TABLE(r, subprocess_env), 0, NULL, 0};
    int changed = hp_table_changed(r->subprocess_env);
    set_configured(aTHX_ r, &to);
    if (!changed)
        hp_table_unchanged(r->subprocess_env);
}

/* The variables of the front and of SetEnv. */
static void set_front(pTHX_ hp_request *r, const sink *to)
{
    hp_fields given = r->subprocess_env ? hp_table_fields(aTHX_ r->subprocess_env) : r->in->subprocess_env;
    size_t i;
    for (i = 0; i < given.count; i++)
        put(aTHX_ to, given.list[i].name.ptr, given.list[i].name.len, given.list[i].value);
}

/* %ENV as a program finds it: what the front and SetEnv say, then all of the above. */
static void set_given(pTHX_ hp_request *r, const sink *to)
{
    set_front(aTHX_ r, to);
    set_all(aTHX_ r, to);
}

void hp_env_psgi(pTHX_ hp_request *r, HV *env)
{
    sink configured = {NULL, 0, env, 1}, own = {NULL, 0, env, 0};
    set_configured(aTHX_ r, &configured);
    set_front(aTHX_ r, &configured);
    set_server(aTHX_ r, &own);
    set_request(aTHX_ r, &own);
}

static void fill(pTHX_ hp_request *r)
{
    sink to = {NULL, 0, NULL, 0};
    int old = hp_settings.generation == 1;
    set_given(aTHX_ r, &to);
    set_text(aTHX_ & to, "MOD_PERL", old ? "mod_perl/1.31" : "mod_perl/2.0.12");
    if (old)
        set_text(aTHX_ & to, "GATEWAY_INTERFACE", "CGI-Perl/1.1");
    else
        set_text(aTHX_ & to, "MOD_PERL_API_VERSION", "2");
}

void hp_env_fill(pTHX_ hp_request *r)
{
    hp_follow_begin(aTHX_ r);
    hp_environ_begin(aTHX);
    fill(aTHX_ r);
    while (!hp_environ_end(aTHX))
        fill(aTHX_ r);
    r->env_wanted = 1;
}

void hp_env_export(pTHX_ hp_request *r)
{
    sink to = {NULL, 1, NULL, 0};
    hp_exported_begin(aTHX);
    set_given(aTHX_ r, &to);
}

/* Whether the process had it from its beginning: a program that was loaded since may have changed it for good. */
static int is_of_server(hp_field wanted)
{
    size_t i;
    for (i = 0; i < hp_settings.env.count; i++) {
        hp_field known = hp_settings.env.list[i];
        if (known.name.len == wanted.name.len && memcmp(known.name.ptr, wanted.name.ptr, known.name.len) == 0)
            return known.value.len == wanted.value.len &&
                   memcmp(known.value.ptr, wanted.value.ptr, known.value.len) == 0;
    }
    return 0;
}

/* Whether %ENV has all that is the place's own. */
static int is_configured(pTHX_ const hp_request *r)
{
    HV *env = GvHVn(PL_envgv);
    size_t i;
    for (i = 0; i < r->directory->env.count; i++) {
        hp_field wanted = r->directory->env.list[i];
        SV **found = hv_fetch(env, wanted.name.ptr, (I32)wanted.name.len, 0);
        STRLEN length;
        const char *text = found && SvOK(*found) ? SvPV(*found, length) : NULL;
        if ((!text || length != wanted.value.len || memcmp(text, wanted.value.ptr, length) != 0) &&
            !is_of_server(wanted))
            return 0;
    }
    return 1;
}

static void set_own(pTHX_ hp_request *r, const sink *to)
{
    size_t i;
    for (i = 0; i < r->directory->env.count; i++) {
        hp_field own = r->directory->env.list[i];
        if (!is_of_server(own))
            put(aTHX_ to, own.name.ptr, own.name.len, own.value);
    }
}

/* Only a place's own variables take another hash, which programs that are started do not inherit. */
void hp_env_configured(pTHX_ hp_request *r)
{
    sink to = {NULL, 0, NULL, 0};
    if (!r->directory || is_configured(aTHX_ r))
        return;
    hp_environ_begin(aTHX);
    do
        set_own(aTHX_ r, &to);
    while (!hp_environ_end(aTHX));
}

void hp_env_restore(pTHX)
{
    hp_follow_end(aTHX);
    hp_environ_restore(aTHX);
}

void hp_env_of_void_call(pTHX_ hp_request *r)
{
    r->env_called = 1;
    hp_env_common(aTHX_ r);
    hp_environ_into_real(aTHX);
    fill(aTHX_ r);
}

void hp_env_keep(pTHX_ hp_request *r)
{
    if (!r->env_called)
        return;
    SvREFCNT_dec((SV *)r->env_kept);
    r->env_kept = newHVhv(GvHVn(PL_envgv));
}

void hp_env_put_back(pTHX_ hp_request *r)
{
    HV *env;
    HE *each;
    if (!r->env_kept)
        return;
    hp_environ_into_real(aTHX);
    env = GvHVn(PL_envgv);
    hv_iterinit(r->env_kept);
    while ((each = hv_iternext(r->env_kept))) {
        SV *value = newSVsv(HeVAL(each));
        if (hv_store_ent(env, HeSVKEY_force(each), value, 0))
            SvSETMAGIC(value);
        else
            SvREFCNT_dec(value);
    }
}

SV *hp_redirected_uri(pTHX_ const hp_request_in *in)
{
    static const char plain[] = "-._~!$&'()*+,;=:@/";
    SV *answer = newSVpvs("");
    size_t i;
    for (i = 0; i < in->uri.len; i++) {
        unsigned char c = (unsigned char)in->uri.ptr[i];
        if (isALNUM_A(c) || (c && strchr(plain, c)))
            sv_catpvn(answer, in->uri.ptr + i, 1);
        else
            sv_catpvf(answer, "%%%02x", c);
    }
    if (in->args.ptr)
        sv_catpvf(answer, "?%.*s", (int)in->args.len, in->args.ptr);
    return answer;
}
