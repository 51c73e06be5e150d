/* The environment of a CGI script: %ENV, and what the programs inherit that the script starts.
 *
 * The latter is made anew as a whole. Setting one variable after the other, as assignments to %ENV do, takes longer
 * than a short script does; from then on they do it as ever. */
#include "api.h"

#include <unistd.h>

/* Of RFC 3875 and Apache; of header fields, what browsers send. */
/* clang-format off */
static const char *const usual[] = {
    "AUTH_TYPE",          "CONTENT_LENGTH",      "CONTENT_TYPE",         "CONTEXT_DOCUMENT_ROOT",
    "CONTEXT_PREFIX",     "DOCUMENT_ROOT",       "GATEWAY_INTERFACE",    "HTTPS",
    "HTTP_ACCEPT",        "HTTP_ACCEPT_CHARSET", "HTTP_ACCEPT_ENCODING", "HTTP_ACCEPT_LANGUAGE",
    "HTTP_CACHE_CONTROL", "HTTP_CONNECTION",     "HTTP_COOKIE",          "HTTP_HOST",
    "HTTP_REFERER",       "HTTP_USER_AGENT",     "PATH_INFO",            "PATH_TRANSLATED",
    "QUERY_STRING",       "REMOTE_ADDR",         "REMOTE_HOST",          "REMOTE_PORT",
    "REMOTE_USER",        "REQUEST_METHOD",      "REQUEST_SCHEME",       "REQUEST_URI",
    "SCRIPT_FILENAME",    "SCRIPT_NAME",         "SCRIPT_URI",           "SCRIPT_URL",
    "SERVER_ADDR",        "SERVER_ADMIN",        "SERVER_NAME",          "SERVER_PORT",
    "SERVER_PROTOCOL",    "SERVER_SIGNATURE",    "SERVER_SOFTWARE",      "UNIQUE_ID",
};
/* clang-format on */

extern char **environ;

static char **list;
static size_t count, room;

void hp_exported_boot(pTHX)
{
    HV *names = newHV();
    size_t i;
    for (i = 0; i < sizeof usual / sizeof *usual; i++)
        (void)hv_store(names, usual[i], (I32)strlen(usual[i]), newSV(0), 0);
    PERL_UNUSED_VAR(names); /* kept for ever: a worker's %ENV shares its keys, which lie together */
}

static int is_named(const char *entry, const char *name, size_t length)
{
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static void add(pTHX_ char *entry)
{
    if (count + 1 >= room) {
        room = room ? 2 * room : 128;
        Renew(list, room, char *);
    }
    list[count++] = entry;
    list[count] = NULL;
}

/* What only programs under mod_perl see is not for scripts: a parent that may have scripts run hides it, once it has
 * loaded what it loads. */
static const char *const mod_perl[] = {"MOD_PERL", "MOD_PERL_API_VERSION"};
static SV *hidden[2];

void hp_mod_perl_hide(pTHX)
{
    HV *env = GvHVn(PL_envgv);
    size_t i;
    for (i = 0; i < 2; i++) {
        SV **value = hv_fetch(env, mod_perl[i], (I32)strlen(mod_perl[i]), 0);
        if (!value)
            continue;
        hidden[i] = newSVsv_nomg(*value);
        (void)hv_delete(env, mod_perl[i], (I32)strlen(mod_perl[i]), G_DISCARD);
    }
}

void hp_mod_perl_show(pTHX)
{
    size_t i;
    for (i = 0; i < 2; i++) {
        if (!hidden[i])
            continue;
        (void)hv_store(GvHVn(PL_envgv), mod_perl[i], (I32)strlen(mod_perl[i]), hidden[i], 0);
        SvSETMAGIC(hidden[i]);
        hidden[i] = NULL;
    }
}

/* A script that runs where handlers have run for the same request: it does not see what they did. */
void hp_exported_begin(pTHX)
{
    char **each;
    hp_mod_perl_hide(aTHX);
    for (each = environ; each && *each; each++)
        add(aTHX_ * each);
    environ = list;
}

void hp_exported_put(pTHX_ const char *name, size_t length, hp_str value)
{
    SV *sv = newSVpvn(value.ptr, value.len);
    char *entry;
    size_t i;
    SvTAINTED_on(sv);
    if (!hv_store(GvHVn(PL_envgv), name, (I32)length, sv, 0))
        SvREFCNT_dec(sv);
    Newx(entry, length + value.len + 2, char);
    Copy(name, entry, length, char);
    entry[length] = '=';
    Copy(value.ptr, entry + length + 1, value.len, char);
    entry[length + 1 + value.len] = 0;
    for (i = 0; i < count && !is_named(list[i], name, length); i++)
        ;
    if (i < count)
        list[i] = entry;
    else
        add(aTHX_ entry);
    environ = list;
}
