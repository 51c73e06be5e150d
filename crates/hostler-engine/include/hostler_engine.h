/* An engine in C: the functions that it gives, and those that it may call. `engines/echo` is the smallest one.
 *
 * The process has one thread when it forks; workers serve one request at a time. Whatever is passed in is valid until the
 * call returns, a request until serve() returns. The parent forks its workers, so what load() makes is shared until it is
 * written to. A process that a program has forked from a worker may call these functions, without effect. */
#ifndef HOSTLER_ENGINE_H
#define HOSTLER_ENGINE_H

#include "hostler_request.h"

/* Bits of a request's flags. */
enum {
    HOSTLER_TLS = 1,
    HOSTLER_HEAD_ONLY = 1 << 1,
    HOSTLER_REDIRECTED = 1 << 2,
    HOSTLER_SUBREQUEST = 1 << 3,
    HOSTLER_BODY = 1 << 4,
    HOSTLER_PROXY = 1 << 5,
    HOSTLER_KEEP_ALIVE = 1 << 6,
    HOSTLER_HTTP_2 = 1 << 7,
    HOSTLER_NO_CACHE = 1 << 8,
    HOSTLER_SUEXEC = 1 << 9,
    HOSTLER_STAYS = 1 << 10,
    HOSTLER_BODY_ASKED = 1 << 11,
    HOSTLER_ERRORS_STAY = 1 << 12,
    HOSTLER_HTTPS_SCHEME = 1 << 13
};

/* A virtual host; the first is the main server. */
typedef struct {
    uint32_t id;
    uint16_t port;
    uint8_t is_virtual;
    uint8_t log_level; /* syslog's */
    hostler_str name, admin, document_root, software;
} hostler_server;

/* What a pool's parent is told. */
typedef struct {
    hostler_str title, server_root;
    const hostler_server *servers;
    size_t server_count;
    int one_shot; /* each worker serves one request */
    uint32_t max_requests; /* requests until a worker ends; 0: any number */
    hostler_str own; /* what to load, in the engine's own form */
} hostler_setup;

/* What a directory's configuration says. */
typedef struct {
    uint32_t server; /* which virtual host */
    uint32_t allow_options; /* Options, as Apache's OPT_ bits */
    uint64_t limit_request_body;
    hostler_str location, auth_name, auth_type, default_charset, signature;
    hostler_str own; /* in the engine's own form */
} hostler_directory;

/* The head of an answer. */
typedef struct {
    uint32_t flags; /* 1 no cache, 2 the body has its own head (nph-), 4 conditions are not looked at, 8 close */
    uint16_t status;
    hostler_str status_line, content_type, content_encoding;
    int has_length;
    uint64_t content_length;
    hostler_fields headers;
} hostler_head;

/* What became of a request. */
enum {
    HOSTLER_DONE,
    HOSTLER_STATUS, /* nothing was sent: the front makes the page for this status */
    HOSTLER_DECLINED, /* nothing was sent, and there is nothing to say */
    HOSTLER_REDIRECT, /* nothing was sent: go on with this local URL */
    HOSTLER_BROKEN, /* what was sent must not look complete: why */
    HOSTLER_VERDICT /* a number that the engine's technique in the front understands */
};

/* ---- The engine gives; those marked may be NULL ---- */

typedef struct {
    /* The program's name, at most 15 bytes: "hostler-echo". */
    const char *name;
    /* In the parent: loads what workers share. 0, or -1 with a malloc'ed reason. */
    int (*load)(const hostler_setup *setup, char **why);
    /* The runtime and its version, for people. */
    const char *(*version)(void);
    /* (NULL) In the parent, when all is loaded, before the first fork. */
    void (*before_fork)(void);
    /* (NULL) In a new worker. 0, or -1 with a malloc'ed reason: it ends, and the front is told. */
    int (*begin_worker)(char **why);
    /* (NULL) In a worker: takes a directory's configuration; what it gives comes with each of its requests. Never taken
     * back: a worker sees few of them, and ends some day. */
    void *(*define)(const hostler_directory *directory);
    /* In a worker: serves a request. It should end with hostler_finish(); a longjmp must not leave it. */
    void (*serve)(const hostler_request *request, void *directory);
    /* (NULL) In a worker that ends. */
    void (*end)(void);
} hostler_engine;

/* ---- The engine calls, while it serves ---- */

/* Reads from the request's body; waits for at least a byte. 0: its end; -1: it broke off; -2: a signal handler ran, ask
 * again. */
ptrdiff_t hostler_read_body(char *bytes, size_t length);
/* The answer's head; once, before any of its body. */
void hostler_send_head(const hostler_head *head);
/* A piece of the answer's body. Waits when the front has no room; kept until hostler_flush(), or until there is much. */
void hostler_write(const char *bytes, size_t length);
/* Lets the front see what was written so far. */
void hostler_flush(void);
/* Says what became of the request: the client has its answer. The worker may go on with other work until serve() returns. */
void hostler_finish(int outcome, uint16_t number, const char *text, size_t length);
/* A line for the virtual host's ErrorLog; severity is syslog's. At any other time it goes to standard error. */
void hostler_log(int severity, const char *text, size_t length);
/* Whether nobody waits for the answer any more. */
int hostler_is_abandoned(void);
/* Says something to the engine's own technique in the front, and waits for something of it: 0, and where it is until the
 * next call, or -1. */
void hostler_say_own(const char *bytes, size_t length);
int hostler_await_own(hostler_str *own);
/* This worker ends after this request. */
void hostler_exit_after_request(void);

#endif
