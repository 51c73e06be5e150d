/* The border between the worker's Rust half and its Perl half.
 *
 * Rust owns the process, the control socket and the ring; C owns the interpreter. Everything that Rust passes in is
 * valid until the call returns, a request's strings until hp_perl_serve() returns. Absent strings have ptr == NULL.
 * No function here may be called from another thread than the worker's only one. */
#ifndef HOSTLER_H
#define HOSTLER_H

#include <hostler_request.h>

typedef hostler_str hp_str;
typedef hostler_field hp_field;
typedef hostler_fields hp_fields;
typedef hostler_file hp_finfo;

/* hostler_perl_frames::RequestHead; bits of flags are hostler_wire::work::request_flag */
typedef struct {
    struct {
        HOSTLER_REQUEST_FIELDS
    };
    uint32_t phases;
    uint16_t status;
    hp_str status_line;
    uint64_t bytes_sent;
    hp_str provider; /* no phase is run, but a provider asked */
    hp_fields headers_out, err_headers_out, notes;
} hp_request_in;

enum {
    HP_TLS = 1,
    HP_HEAD_ONLY = 1 << 1,
    HP_REDIRECTED = 1 << 2,
    HP_SUBREQUEST = 1 << 3,
    HP_BODY = 1 << 4,
    HP_PROXY = 1 << 5,
    HP_KEEP_ALIVE = 1 << 6,
    HP_HTTP_2 = 1 << 7,
    HP_NO_CACHE = 1 << 8,
    HP_ERRORS_STAY = 1 << 12,
    HP_HTTPS_SCHEME = 1 << 13
};

/* hostler_perl_frames::Phase */
enum {
    HP_POST_READ_REQUEST,
    HP_TRANS,
    HP_MAP_TO_STORAGE,
    HP_HEADER_PARSER,
    HP_ACCESS,
    HP_AUTHEN,
    HP_AUTHZ,
    HP_TYPE,
    HP_FIXUP,
    HP_RESPONSE,
    HP_LOG,
    HP_CLEANUP,
    HP_INPUT_FILTER,
    HP_OUTPUT_FILTER,
    HP_PHASES
};

/* hostler_perl_frames::Directory; the same pointer for the same configuration as long as the worker lives, so that
 * what Perl needs of it can be made once and kept in `cache`. */
typedef struct {
    uint32_t flags; /* hostler_perl_frames::directory_flag */
    const hp_str *handlers[HP_PHASES];
    size_t handler_count[HP_PHASES];
    hp_fields vars, env;
    uint32_t allow_options;
    hp_str location, auth_name, auth_type;
    const hp_str *requires;
    size_t require_count;
    int satisfy_any;
    uint32_t overrides, override_options; /* AllowOverride: OR_ and OPT_ bits */
    hp_str psgi_app, signature;
    uint32_t server;
    uint64_t limit_request_body;
    hp_str default_charset;
    hp_str layers; /* what directives of modules say: Perl text (hostler_config::directives::perl::layers_text) */
    void *cache;   /* the glue's own; NULL at first */
} hp_directory;

enum {
    HP_PARSE_HEADERS = 1,
    HP_SETUP_ENV = 1 << 1,
    HP_GLOBAL_REQUEST = 1 << 2,
    HP_MERGE_HANDLERS = 1 << 3,
    HP_PASS_AUTH = 1 << 4,
    HP_SETUP_ENV_SET = 1 << 5,
    HP_GLOBAL_REQUEST_SET = 1 << 6,
    HP_SATISFY_SET = 1 << 7
};

/* hostler_wire::engine::ServerFacts */
typedef struct {
    uint32_t id;
    uint16_t port;
    int is_virtual;
    uint8_t log_level;
    int64_t timeout, keep_alive_timeout; /* microseconds */
    int keep_alive, keep_alive_max;
    hp_str name, admin, document_root, software, error_log;
    hp_fields vars;
    const hp_str *aliases;
    size_t alias_count;
} hp_server;

/* hostler_perl_frames::Setup, as far as the glue needs it */
typedef struct {
    uint8_t generation; /* 1 or 2: which mod_perl programs see */
    int one_shot;
    const hp_str *switches;
    size_t switch_count;
    hp_fields env;
    hp_str server_root;
    const hp_server *servers;
    size_t server_count;
    uint32_t max_requests;
    hp_str tree; /* the lines of the configuration that programs may see (hostler_perl_frames::Setup::tree) */
} hp_setup;

/* hostler_wire::work::ReplyHead */
typedef struct {
    uint32_t flags; /* 1 NO_CACHE, 2 RAW (assbackwards), 4 NO_LOCAL_COPY, 8 CLOSE */
    uint16_t status;
    hp_str status_line, content_type, content_encoding;
    int has_length;
    uint64_t length;
    const hp_str *languages;
    size_t language_count;
    uint64_t mtime;
    hp_fields headers_out, err_headers_out;
} hp_reply_head;

/* hostler_perl_frames::Changes */
typedef struct {
    uint16_t status; /* 0: the answer has been made */
    hp_str method, uri, args, filename, path_info, user, ap_auth_type, handler, content_type;
    hp_fields custom_responses, headers_in, headers_out, err_headers_out, subprocess_env, notes;
} hp_changes;

/* What became of a request (hostler_wire::work::Outcome). */
enum { HP_DONE, HP_STATUS, HP_DECLINED_REQUEST, HP_REDIRECT, HP_BROKEN, HP_VERDICT };

typedef struct {
    int kind;
    uint16_t status;
    hp_str text; /* the redirect's target, or why it broke off; malloc'ed, freed by Rust with hp_free() */
} hp_outcome;

/* hostler_perl_frames::Role */
enum { HP_ROLE_MAIN, HP_ROLE_PREV, HP_ROLE_NEXT, HP_ROLE_STAYED };

/* What comes while a program's question about another URL is open. */
enum { HP_TOLD_GONE, HP_TOLD_ANSWER, HP_TOLD_RAN, HP_TOLD_NESTED, HP_TOLD_CONFIGURED };

typedef struct {
    int kind;
    uint32_t id, main, prev;      /* hostler_perl_frames::Nested; of an answer: id */
    int status;                   /* what was run came to this */
    const hp_request_in *request; /* valid until the next is asked for */
    hp_str text;                  /* why nothing was configured; valid as long */
} hp_told;

/* ---- Rust gives, C calls (all during hp_perl_serve() unless said otherwise) ---- */

/* The answer's head; once, before any body. */
void hp_out_head(const hp_reply_head *head);
/* An interim response (RFC 9110 §15.2), status 102 to 199, ahead of the answer's head. The client gets it at once. */
void hp_out_early(uint16_t status, const hp_fields *fields);
/* A piece of the body; kept in shared memory until hp_out_publish(), the end, or until there is no room. */
void hp_out_body(const char *bytes, size_t length);
/* Lets the front see what was written so far (rflush). */
void hp_out_publish(void);
/* What phases changed of the request; at most once, before the outcome. */
void hp_out_changes(const hp_changes *changes);
/* What programs have added for phases to come (bits), and the phase after which others were left out because the
 * configuration has changed, or -1. Before the outcome, where there is something to say. */
void hp_out_standing(uint32_t pushed, int stopped);
/* The response is complete: the client gets its last byte now, though Log and Cleanup handlers still run. To be
 * called once, before them; the worker is given its next request when hp_perl_serve() returns. */
void hp_out_finished(const hp_outcome *outcome);
/* Reads from the request's body; blocks. 0: end; -1: it broke off. Perl's signal handlers run while it waits, and may
 * die out of it. */
ptrdiff_t hp_in_body(char *bytes, size_t length);
/* Rust's half of it; -2: a signal came. */
ptrdiff_t hp_ring_read(char *bytes, size_t length);
/* Whether the client is gone. */
int hp_aborted(void);
/* A line for the ErrorLog: severity 0 emerg ... 7 debug; of the virtual host, or of the main server. Works at any
 * time; without a request it goes to stderr. */
void hp_log(int severity, int virtual_host, const char *text, size_t length);
/* A line of the program's STDERR, without its end; to the worker's pipe where nobody listens to the request. */
void hp_print_error(const char *text, size_t length);
/* Asks what this URL (file == 0) or path maps to: HP_TOLD_ANSWER. */
void hp_ask_look_up(const char *method, size_t method_length, const char *target, size_t length, int file);
/* Has the answer of what was looked up sent as part of this one's, as it has been changed (NULL: it was not):
 * HP_TOLD_RAN. */
void hp_ask_run(const char *target, size_t length, uint32_t id, const hp_changes *changes);
/* Has the request go on as one for this local URL (it begins with a slash), whose answer is sent as this one's:
 * HP_TOLD_ANSWER with that request as it was answered, or HP_TOLD_RAN. */
void hp_ask_redirect(const char *target, size_t length, int keeps_type);
/* Has these lines of configuration added for this request: HP_TOLD_CONFIGURED with the number of what it is now, or with
 * the reason why not. `overrides`: Apache's OR_ bits of what they may contain. */
void hp_ask_configure(const char *text, size_t length, uint32_t overrides, int phase);
/* What comes next of the answer. HP_TOLD_NESTED: a request to be served first, and its outcome told by
 * hp_out_finished(); what is told until then is of it. */
void hp_await_told(hp_told *told);
/* The configuration of what was told or of a request, by number; NULL if it was never told. */
hp_directory *hp_directory_of(uint32_t number);
/* Loading depends on this file, or on there being none; `inside`: on what a directory of this name holds. */
void hp_loaded_path(const char *path, size_t length, int inside);
/* Loading depends on what can't be looked at again: the output of a program, an answer over the network. */
void hp_loaded_elsewhere(void);
/* This worker ends after this request (child_terminate). */
void hp_exit_after_request(void);

/* ---- C gives, Rust calls ---- */

/* Makes the interpreter (perl_alloc, switches, @INC hook, XS modules); 0, or -1 with a malloc'ed message. */
int hp_perl_boot(const hp_setup *setup, char **error);
/* Loads something: kind as hostler_perl_frames::PreloadKind (0 module, 1 file, 2 late file, 3 late call, 4 code);
 * `configured`: what it builds of configuration was taken when the configuration was read. */
int hp_perl_preload(int kind, hp_str text, hp_str origin, int configured, char **error);
/* When all is loaded: tells what that depends on, with hp_loaded_path() and hp_loaded_elsewhere(). */
void hp_perl_loaded(void);
/* In the process that runs code while the configuration is read: before a section, or something else that is loaded;
 * `in_host`: it is not to build what is the whole server's. */
void hp_perl_configure(int in_host, int is_section);
/* After it: the configuration that it has built, what it warned of, and the directives that modules have added so far;
 * three texts, kept until the next call. */
int hp_perl_configured(hp_str *texts, char **error);
/* When all is loaded, in a parent whose workers serve one request each: makes forking them cheap. */
void hp_prepare_forks(void);
/* In a new worker, before its first request: reseeds random numbers, $$ is right, PerlChildInitHandler, CLONE-like
 * hooks (DBI handles and so on are the programs' own business). */
int hp_perl_child_init(const hp_str *functions, size_t count, char **error);
/* Serves one trip of a request: all its phases. Whether the request stays for another: because it was to (`stays`), or
 * because its Log handlers are to see what the front makes of the status that it has ended with, or because it has ended
 * with an error's (HP_ERRORS_STAY). */
int hp_perl_serve(const hp_request_in *request, hp_directory *directory, int stays);
/* Serves a request inside of the one that stays. */
void hp_perl_nested(const hp_told *told);
/* What the next request belongs to (HP_ROLE_), as it was left. HP_ROLE_STAYED: the next goes on in the place of the one that
 * stays, which becomes its `prev`. */
void hp_perl_related(const hp_request_in *request, hp_directory *directory, int role);
/* Ends a request that stays. */
void hp_perl_release(void);
/* PerlChildExitHandler, END blocks, perl_destruct; `quick`: of a one-shot worker, for which only END blocks and
 * child-exit handlers matter. */
void hp_perl_end(const hp_str *functions, size_t count, int quick);
/* "perl v5.36.0" */
const char *hp_perl_version(void);
/* Whether this process was forked from a worker by a program: it is not a worker. */
int hp_is_forked_away(void);
/* Frees what C has malloc'ed for Rust. */
void hp_free(void *memory);
/* An embedded module's text by its path below lib/ ("Apache2/RequestRec.pm"); made by the build. NULL: none. */
const char *hp_embedded(const char *path, size_t *length);

#endif
