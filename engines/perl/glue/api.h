/* What the files of the interface (api_*.c) share: how an XSUB begins, and how it is registered. */
#ifndef HOSTLER_API_H
#define HOSTLER_API_H

#include "request.h"

/* One XSUB: its full name, the function, and a number for it (XSANY). */
typedef struct {
    const char *name;
    XSUBADDR_t function;
    I32 number;
} hp_xsub;

void hp_register(pTHX_ const hp_xsub *list, size_t count);
#define HP_REGISTER(list) hp_register(aTHX_ list, sizeof list / sizeof *list)

/* Arguments such as $1 and tied ones have no value before they are asked for it. */
PERL_STATIC_INLINE void hp_fetch_arguments(pTHX_ SV **first, I32 items)
{
    I32 i;
    for (i = 1; i < items; i++)
        SvGETMAGIC(first[i]);
}

/* Begins an XSUB of a request's method. */
#define HP_METHOD(least)                                                                                               \
    dXSARGS;                                                                                                           \
    hp_request *r;                                                                                                     \
    if (items < (least))                                                                                               \
        croak("%s: too few arguments", GvNAME(CvGV(cv)));                                                              \
    r = hp_request_for(aTHX_ ST(0), GvNAME(CvGV(cv)));                                                                 \
    hp_fetch_arguments(aTHX_ &ST(0), items);                                                                           \
    PERL_UNUSED_VAR(r)

#define HP_ANSWER(sv)                                                                                                  \
    STMT_START                                                                                                         \
    {                                                                                                                  \
        ST(0) = sv_2mortal(sv);                                                                                        \
        XSRETURN(1);                                                                                                   \
    }                                                                                                                  \
    STMT_END

/* A new SV of a string that may be absent. */
SV *hp_sv(pTHX_ hp_str text);
/* A string SV's bytes; absent when undefined. */
hp_str hp_text(pTHX_ SV *sv);
hp_str hp_literal(const char *text);
/* A blessed scalar that carries a pointer in magic, and the pointer. */
SV *hp_object(pTHX_ const char *class, const MGVTBL *kind, void *pointer);
void *hp_object_of(pTHX_ SV *object, const MGVTBL *kind);

const hp_server *hp_server_of_request(const hp_request *r);
SV *hp_server_sv(pTHX_ const hp_server *server);
const hp_server *hp_server_of(pTHX_ SV *object);
hp_request *hp_request_maybe(pTHX_ SV *object);
/* send_cgi_header: a header, and perhaps the beginning of the body. */
void hp_request_take_headers(pTHX_ hp_request *r, const char *text, STRLEN length);
/* rflush: sends what was printed, and lets the front see it. */
void hp_request_push(pTHX_ hp_request *r);
/* Serves what comes inside of the open question, until it is answered. */
void hp_serve_until_told(pTHX_ hp_told *told);
/* The sub-request that is told of: known already, or new. */
hp_request *hp_request_inside(pTHX_ const hp_told *told);
/* Whether something is printed that has not been sent on. */
int hp_request_has_output(const hp_request *r);
/* What is printed of a body and not sent on, in bytes, where programs take it for sent: in generation 1, whose handles do
 * not gather. */
STRLEN hp_request_gathered(const hp_request *r);
int hp_request_autoflush(pTHX_ hp_request *r);
/* Body bytes for the program; as read(2): 0 at the end. Croaks with an APR::Error when the body broke off. */
STRLEN hp_request_read(pTHX_ hp_request *r, char *into, STRLEN length);
/* Parses CGI headers at the start of `text`; how many bytes they took, or -1: they are not complete, -2: no header. */
ptrdiff_t hp_headers_parse(pTHX_ hp_request *r, const char *text, STRLEN length);
/* Whether it is a sub-request: of a page's (mod_include), or of a program's. */
int hp_is_part(const hp_request *r);
/* HTTP's version as programs are told it; of a sub-request INCLUDED. */
hp_str hp_protocol_name(const hp_request *r);
/* Adds to a PSGI environment that has the request's header fields: variables of the configuration under names that it does
 * not have, then the CGI variables. */
void hp_env_psgi(pTHX_ hp_request *r, HV *env);
/* Adds the CGI variables to subprocess_env. */
void hp_env_common(pTHX_ hp_request *r);
/* What the program has changed of %ENV is in subprocess_env as well, for the log and whoever asks (env_follow.c). */
void hp_env_of_program(pTHX_ hp_request *r);
/* From now on what is done with %ENV and with the request's table is looked at. */
void hp_env_watch(pTHX_ hp_request *r);
/* %ENV is this request's, and nobody's any more. */
void hp_follow_begin(pTHX_ hp_request *r);
void hp_follow_end(pTHX);
/* Makes room for a request inside of another one; and gives it back. */
typedef struct {
    hp_request *filled;
    HV *last;
} hp_followed;
hp_followed hp_follow_put_aside(void);
void hp_follow_take_back(pTHX_ hp_followed outer);
/* Only what PerlSetEnv and PerlPassEnv say: all that a program finds before it asks for CGI's variables. */
void hp_env_put_configured(pTHX_ hp_request *r);
/* The hash that is %ENV during a request (environ.c): begin, put every variable, end; again if end answers 0. */
void hp_environ_begin(pTHX);
void hp_environ_put(pTHX_ const char *name, size_t length, hp_str value);
int hp_environ_end(pTHX);
/* What follows goes into %ENV as it is; hp_environ_restore() takes it out again. */
void hp_environ_into_real(pTHX);
/* %ENV of a request of which its program has changed something; else NULL. */
HV *hp_environ_changed(pTHX);
/* The hash itself; NULL: %ENV is the process's. */
HV *hp_environ_of_request(pTHX);
/* What the request began with, as a new hash. */
HV *hp_environ_given(pTHX);
void hp_environ_restore(pTHX);
/* Takes a request's %ENV away, NULL if it has none; and gives it back, in place of another's. */
HV *hp_environ_put_aside(pTHX);
void hp_environ_take_back(pTHX_ HV *env);
/* subprocess_env in void context: the CGI variables, also in %ENV. */
/* What is kept with the request's connection; made at first use. */
HV **hp_connection_pnotes(pTHX_ hp_request *r);
hp_table **hp_connection_notes_of(pTHX_ hp_request *r);
/* Whether no other request can follow this one on its connection. */
int hp_connection_is_last(const hp_request_in *in);
/* The request is over: so is its connection, if no other may follow. */
void hp_connection_end(pTHX_ const hp_request *r);
void hp_env_of_void_call(pTHX_ hp_request *r);
/* What a program has filled %ENV with is there in the request's later trips as well. */
void hp_env_keep(pTHX_ hp_request *r);
void hp_env_put_back(pTHX_ hp_request *r);
/* %ENV of a CGI script, which the programs inherit that it starts (env.c); how that is done (exported.c). */
void hp_env_export(pTHX_ hp_request *r);
void hp_exported_begin(pTHX);
void hp_exported_put(pTHX_ const char *name, size_t length, hp_str value);
/* unparsed_uri after an internal redirect: the URL of that, as a client would write it (ap_internal_redirect parses it
 * anew). */
SV *hp_redirected_uri(pTHX_ const hp_request_in *in);
int hp_method_number(const char *name, size_t length);
/* The body bytes that are there already, read on first if `fill` and there are none; and how many are left of them. */
STRLEN hp_request_ahead(pTHX_ hp_request *r, char **from, int fill);
void hp_request_ahead_left(STRLEN left);
/* Forgets what was read ahead of the body. */
void hp_request_unread(void);
/* Dies with an APR::Error of this errno. */
void hp_throw(pTHX_ int error, const char *function) __attribute__((noreturn));
void hp_log_text(pTHX_ int severity, int virtual_host, SV *text);

SV *hp_connection_sv(pTHX_ hp_request *r);
hp_request *hp_request_copy(pTHX_ const hp_request_in *in, hp_directory *directory);
/* The value of a name, and then, with a value: set, undef: unset. */
SV *hp_table_access(pTHX_ hp_table *table, SV *name, SV *value);
void hp_boot_record(pTHX);
void hp_boot_io(pTHX);
void hp_boot_handles(pTHX);
/* STDERR (errors.c); and what a request has begun a line with. */
void hp_boot_errors(pTHX);
void hp_errors_end(void);
/* Before each request. */
void hp_errors_begin(void);
void hp_boot_programs(pTHX);
void hp_boot_table(pTHX);
void hp_boot_request(pTHX);
void hp_boot_server(pTHX);

/* What is gathered of an answer, while another request prints. */
typedef struct {
    char *text;
    STRLEN length;
    const hp_request *of;
} hp_gathered;
void hp_output_put_aside(pTHX_ hp_gathered *gathered);
void hp_output_take_back(pTHX_ hp_gathered *gathered);

/* STDIN and STDOUT of a request, while another has them (tie.c). */
typedef struct hp_handles hp_handles;
hp_handles *hp_handles_put_aside(pTHX);
void hp_handles_take_back(pTHX_ hp_handles *handles);

#endif
