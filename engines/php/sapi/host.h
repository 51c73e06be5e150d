/* What PHP's interface of ours needs of its host: the worker that serves requests from shared memory, or a test.
 *
 * All of it is plain C without a header of PHP's, so that the host's side in another language is an exact picture of it.
 * The host never unwinds and is never unwound: PHP leaves a script by longjmp, which must not cross a frame that is not
 * C. So each of these functions takes, gives and returns; whether the script is left is decided by its caller. */
#ifndef HOSTLER_PHP_HOST_H
#define HOSTLER_PHP_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* A name and its value; both end with NUL, which their lengths do not count. */
typedef struct {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
} hp_pair;

typedef struct {
    const hp_pair *list;
    size_t count;
} hp_pairs;

/* Of a setting: by php_admin_value or php_admin_flag, not php_value or php_flag; in an access file. */
enum { HP_ADMIN = 1, HP_ACCESS_FILE = 2 };

/* Configuration of a directory: names, values and, beside them, the bits above for each. */
typedef struct {
    hp_pairs pairs;
    const uint8_t *kinds;
    /* .user.ini files between the document root and the script are read. */
    bool user_ini;
} hp_settings;

/* What is known of a request. Texts end with NUL and stay until it has been served; NULL: there is none. */
typedef struct {
    const char *method;
    const char *query;
    const char *uri; /* its path, decoded, without the query: Apache's r->uri */
    const char *script; /* the script's path, absolute */
    const char *document_root;
    const char *host_name;
    const char *content_type;
    const char *authorization;
    const char *user; /* who has logged in, where the server has asked for it */
    int64_t content_length; /* bytes; -1: unknown, or no body */
    int protocol; /* 1001: HTTP/1.1 */
    int status; /* 200, or what an error document is for */
    double time; /* when it was received, seconds since the epoch */
    bool head_only;
    bool source; /* the script is shown, not run */
    bool has_facts;
    struct stat facts; /* the script's, where has_facts */
    const hp_settings *settings;
} hp_request;

/* A request that another URL would be, as apache_lookup_uri() tells it. Texts end with NUL, and stay until the host is
 * asked again; NULL: there is none. */
typedef struct {
    int status;
    const char *the_request, *method, *content_type, *handler, *unparsed_uri, *uri, *filename, *path_info, *args;
    int64_t mtime, request_time; /* seconds since the epoch */
    /* The configuration of its directory, if it is a script that may be run in the place of the one that asks; else NULL. Stays
     * until the host is asked again. */
    const hp_settings *in_place;
} hp_found;

/* The cache of compiled scripts. Sizes in bytes. */
typedef struct {
    uint64_t memory, used, wasted; /* all of it; of it used; of it lost to scripts that have changed */
    uint64_t scripts, keys, most_keys;
    uint64_t hits, misses;
    uint64_t restarts; /* how often it was emptied for want of room, by hand, or as its lock was lost */
    bool full; /* it takes nothing more */
} hp_cache;

/* What became of a request. */
typedef struct {
    int failed; /* ended by a fatal error, before anything was written: the status of the server's page; else 0 */
    bool terminate; /* the program has asked for the end of its process */
} hp_served;

/* The host's functions; `trip` is what hostler_php_serve was given. */
typedef struct {
    /* Reads from the body, at most `most` bytes; 0: its end; -1: it broke off. */
    ptrdiff_t (*read_body)(void *trip, char *into, size_t most);
    /* The answer's head: fields as "Name: value" in `name`, without values; `line` is "HTTP/1.1 404 Nothing" where the
     * program has given one; `last_modified`: the script's time is the answer's; `failed`: what follows is the server's
     * page, and the fields are what the program has said before. At most once, before anything is written. */
    void (*head)(void *trip, int status, const char *line, const hp_pair *fields, size_t count, bool last_modified,
                 bool failed);
    /* A piece of the body. */
    void (*write)(void *trip, const char *bytes, size_t length);
    /* What was written so far is sent. */
    void (*flush)(void *trip);
    /* The answer is complete; the program goes on without a client. */
    void (*finish)(void *trip);
    /* Nobody waits for the answer any more. */
    bool (*is_gone)(void *trip);
    /* A line for the error log, with syslog's severity (0 emergency ... 7 debug). Without a request `trip` is NULL. */
    void (*log)(void *trip, int severity, const char *text, size_t length);
    /* The CGI variables and those that the configuration has set: $_SERVER. */
    hp_pairs (*variables)(void *trip);
    /* The request's header fields. */
    hp_pairs (*fields)(void *trip);
    /* What the program has set for the server's logs: variables and notes. */
    void (*logged)(void *trip, const hp_pair *variables, size_t variable_count, const hp_pair *notes,
                   size_t note_count);
    /* How the cache of compiled scripts stands. */
    void (*cache)(void *trip, const hp_cache *cache);
    /* What another URL would be; false: nobody can be asked. */
    bool (*look_up)(void *trip, const char *target, size_t length, hp_found *found);
    /* Another URL's answer becomes a part of this one's; its status, 0: nobody can be asked. */
    int (*include)(void *trip, const char *target, size_t length);
} hp_host;

/* What is loaded in a pool's parent. */
typedef struct {
    const char *ini; /* PHPINIDir: a php.ini, or its folder; NULL: searched */
    const char *software; /* the server's words for apache_get_version() */
    const char *const *modules; /* for apache_get_modules(), ends with NULL */
    const hp_host *host;
} hp_setup;

/* Starts PHP. NULL, or why it can't be; the process is of no use then. Called once. */
const char *hostler_php_load(const hp_setup *setup);
/* The version of the library that runs: "8.2.36". */
const char *hostler_php_version(void);
/* The php.ini that was read; NULL: none. */
const char *hostler_php_ini_file(void);
/* The folders, with colons between, of which further files were read; NULL: none. */
const char *hostler_php_ini_folder(void);
/* The folder of PHP's extensions. */
const char *hostler_php_extension_folder(void);
/* The first of what a forked worker does. */
void hostler_php_begin_worker(void);
/* Runs a script in the parent before it forks, for what stays of it: the cache, and what PHP has set up for the first
 * time. Its output goes nowhere. false: it could not be run, or has ended by a fatal error. */
bool hostler_php_warm(const char *document_root, const char *script, const char *uri);
/* Serves a request. */
hp_served hostler_php_serve(void *trip, const hp_request *request);
/* Closes persistent connections before the process ends without ending PHP. */
void hostler_php_leave(void);
/* Ends PHP. */
void hostler_php_unload(void);

#endif
