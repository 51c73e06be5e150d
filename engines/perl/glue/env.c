/* The CGI variables of a request (RFC 3875 §4.1, and what Apache adds), in subprocess_env and in %ENV.
 *
 * For a program under perl-script %ENV is another hash: what it changes is gone with the request. As with mod_perl the
 * hash has no magic: programs that are started do not inherit what is in it. */
#include "api.h"

static HV *saved_env;

static void set(pTHX_ hp_table *table, const char *name, hp_str value)
{
    if (value.ptr)
        hp_table_set(aTHX_ table, name, strlen(name), value.ptr, value.len);
}

static void set_text(pTHX_ hp_table *table, const char *name, const char *value)
{
    set(aTHX_ table, name, hp_literal(value));
}

static void set_number(pTHX_ hp_table *table, const char *name, unsigned long number)
{
    char digits[24];
    my_snprintf(digits, sizeof digits, "%lu", number);
    set_text(aTHX_ table, name, digits);
}

static int same(hp_str a, const char *b)
{
    size_t length = strlen(b);
    return a.len == length && foldEQ(a.ptr, b, length);
}

/* HTTP_*, CONTENT_TYPE and CONTENT_LENGTH. RFC 3875 §4.1.18: no credentials, unless CGIPassAuth. */
static void set_headers(pTHX_ hp_request *r, hp_table *table)
{
    hp_table *headers = HP_TABLE(r, headers_in);
    int pass_auth = r->directory && r->directory->flags & HP_PASS_AUTH;
    hp_field field;
    size_t i, j;
    for (i = 0; hp_table_at(headers, i, &field); i++) {
        char name[256];
        if (same(field.name, "Content-Type")) {
            set(aTHX_ table, "CONTENT_TYPE", field.value);
            continue;
        }
        if (same(field.name, "Content-Length")) {
            set(aTHX_ table, "CONTENT_LENGTH", field.value);
            continue;
        }
        if (field.name.len > sizeof name - 6 || same(field.name, "Proxy") || /* httpoxy */
            (!pass_auth && (same(field.name, "Authorization") || same(field.name, "Proxy-Authorization"))))
            continue;
        Copy("HTTP_", name, 5, char);
        for (j = 0; j < field.name.len; j++)
            name[5 + j] = isALNUM(field.name.ptr[j]) ? toUPPER(field.name.ptr[j]) : '_';
        hp_table_set(aTHX_ table, name, 5 + field.name.len, field.value.ptr, field.value.len);
    }
}

static void set_server(pTHX_ hp_request *r, hp_table *table)
{
    const hp_server *server = hp_server_of_request(r);
    const hp_request_in *in = r->in;
    set(aTHX_ table, "SERVER_SIGNATURE", r->directory ? r->directory->signature : hp_literal(""));
    if (server) {
        set(aTHX_ table, "SERVER_SOFTWARE", server->software);
        set(aTHX_ table, "SERVER_ADMIN", server->admin);
        set(aTHX_ table, "DOCUMENT_ROOT", hp_request_text(aTHX_ r->document_root, server->document_root));
    }
    set(aTHX_ table, "SERVER_NAME", in->server_name);
    set(aTHX_ table, "SERVER_ADDR", in->local_ip);
    set_number(aTHX_ table, "SERVER_PORT", in->server_port);
    set(aTHX_ table, "REMOTE_ADDR", in->remote_ip);
    set_number(aTHX_ table, "REMOTE_PORT", in->remote_port);
    set_text(aTHX_ table, "REQUEST_SCHEME", in->flags & HP_TLS ? "https" : "http");
    if (in->flags & HP_TLS)
        set_text(aTHX_ table, "HTTPS", "on");
    set(aTHX_ table, "CONTEXT_PREFIX", in->context_prefix);
    set(aTHX_ table, "CONTEXT_DOCUMENT_ROOT", in->context_document_root);
}

/* The URI without the path info at its end. */
static hp_str script_name(hp_str uri, hp_str path_info)
{
    if (path_info.len && path_info.len <= uri.len &&
        memcmp(uri.ptr + uri.len - path_info.len, path_info.ptr, path_info.len) == 0)
        uri.len -= path_info.len;
    return uri;
}

static hp_str protocol_name(hp_str line, uint16_t protocol)
{
    static const char *const names[] = {"HTTP/0.9", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0"};
    PERL_UNUSED_ARG(line);
    return hp_literal(names[protocol >= 2000 ? 3 : protocol >= 1001 ? 2 : protocol >= 1000 ? 1 : 0]);
}

static void set_request(pTHX_ hp_request *r, hp_table *table)
{
    const hp_request_in *in = r->in;
    hp_str path_info = hp_request_text(aTHX_ r->path_info, in->path_info), args;
    set_text(aTHX_ table, "GATEWAY_INTERFACE", "CGI/1.1");
    set(aTHX_ table, "SERVER_PROTOCOL", protocol_name(in->the_request, in->protocol));
    set(aTHX_ table, "REQUEST_METHOD", hp_request_text(aTHX_ r->method, in->method));
    args = hp_request_text(aTHX_ r->args, in->args);
    set(aTHX_ table, "QUERY_STRING", args.ptr ? args : hp_literal(""));
    set(aTHX_ table, "REQUEST_URI", hp_request_text(aTHX_ r->unparsed_uri, in->unparsed_uri));
    set(aTHX_ table, "SCRIPT_FILENAME", hp_request_text(aTHX_ r->filename, in->filename));
    set(aTHX_ table, "SCRIPT_NAME", script_name(hp_request_text(aTHX_ r->uri, in->uri), path_info));
    if (path_info.len) {
        set(aTHX_ table, "PATH_INFO", path_info);
        set(aTHX_ table, "PATH_TRANSLATED", in->path_translated);
    }
    set(aTHX_ table, "REMOTE_USER", hp_request_text(aTHX_ r->user, in->user));
    set(aTHX_ table, "AUTH_TYPE", hp_request_text(aTHX_ r->ap_auth_type, in->ap_auth_type));
    set(aTHX_ table, "REDIRECT_URL", in->redirect_url);
    set(aTHX_ table, "REDIRECT_QUERY_STRING", in->redirect_query);
}

void hp_env_common(pTHX_ hp_request *r)
{
    hp_table *table = HP_TABLE(r, subprocess_env);
    set_headers(aTHX_ r, table);
    set_server(aTHX_ r, table);
    set_request(aTHX_ r, table);
}

static void store(pTHX_ HV *env, hp_str name, hp_str value)
{
    SV *sv = newSVpvn(value.ptr, value.len);
    SvTAINTED_on(sv);
    if (!hv_store(env, name.ptr, (I32)name.len, sv, 0))
        SvREFCNT_dec(sv);
}

/* Copies subprocess_env into %ENV; $ENV{PATH} and what PerlSetEnv says are there as well. */
static void copy_to_env(pTHX_ hp_request *r)
{
    HV *env = GvHVn(PL_envgv);
    hp_field field;
    size_t i;
    store(aTHX_ env, hp_literal("MOD_PERL"),
          hp_settings.generation == 1 ? hp_literal("mod_perl/1.31") : hp_literal("mod_perl/2.0.12"));
    if (hp_settings.generation == 1)
        store(aTHX_ env, hp_literal("GATEWAY_INTERFACE"), hp_literal("CGI-Perl/1.1"));
    else
        store(aTHX_ env, hp_literal("MOD_PERL_API_VERSION"), hp_literal("2"));
    for (i = 0; hp_table_at(r->subprocess_env, i, &field); i++) {
        if (hp_settings.generation == 1 && same(field.name, "GATEWAY_INTERFACE"))
            continue;
        store(aTHX_ env, field.name, field.value);
    }
}

static void apply_directory(pTHX_ hp_request *r)
{
    size_t i;
    if (!r->directory)
        return;
    for (i = 0; i < r->directory->env.count; i++) {
        const hp_field *field = &r->directory->env.list[i];
        set(aTHX_ HP_TABLE(r, subprocess_env), SvPVX(sv_2mortal(newSVpvn(field->name.ptr, field->name.len))),
            field->value);
    }
}

void hp_env_fill(pTHX_ hp_request *r)
{
    HV *old = GvHVn(PL_envgv);
    if (!saved_env) {
        saved_env = old;
        GvHV(PL_envgv) = newHVhv(old);
    }
    apply_directory(aTHX_ r);
    hp_env_common(aTHX_ r);
    copy_to_env(aTHX_ r);
}

void hp_env_restore(pTHX)
{
    HV *env;
    if (!saved_env)
        return;
    env = GvHV(PL_envgv);
    GvHV(PL_envgv) = saved_env;
    saved_env = NULL;
    SvREFCNT_dec((SV *)env);
}

void hp_env_of_void_call(pTHX_ hp_request *r)
{
    apply_directory(aTHX_ r);
    hp_env_common(aTHX_ r);
    copy_to_env(aTHX_ r);
}
