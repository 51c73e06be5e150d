/* What the files of PHP's server interface share. */
#ifndef HOSTLER_PHP_SAPI_H
#define HOSTLER_PHP_SAPI_H

#include "php.h"

#include "SAPI.h"
#include "php_ini.h"
#include "php_main.h"
#include "php_variables.h"

#include "host.h"

/* The request that is served. */
typedef struct {
    void *trip;
    const hp_request *request;
    HashTable *set; /* apache_setenv(); NULL: nothing was set */
    HashTable *notes; /* apache_note() */
    HashTable *included; /* variables of the script that virtual() runs; NULL: it runs none */
    int depth; /* scripts that virtual() runs, within each other */
    bool has_begun; /* PHP's part of it */
    bool has_written; /* something of a body */
    bool has_finished; /* fastcgi_finish_request(): what is written from now on goes nowhere */
    bool is_ending; /* no output comes any more */
    bool has_head; /* the answer's head was given */
    int failed; /* the status of the server's page, which is the answer then; else 0 */
    bool terminate;
} hp_state;

/* NULL while none is served. */
extern hp_state *hp_current;
extern const hp_setup *hp_configured;
#define hp_calls (hp_configured->host)

/* The ini entries of this interface. */
ZEND_BEGIN_MODULE_GLOBALS(hostler)
    bool engine;
    bool xbithack;
    bool last_modified;
ZEND_END_MODULE_GLOBALS(hostler)
ZEND_EXTERN_MODULE_GLOBALS(hostler)
#define HP_G(name) (hostler_globals.name)

extern sapi_module_struct hp_sapi;
extern zend_module_entry hp_module;
extern const zend_function_entry hp_functions[];

/* ini.c */
void hp_ini_choose(const char *configured);
void hp_ini_chosen(void);
void hp_ini_apply(const hp_settings *settings);
void hp_ini_of_user(const hp_request *request);

/* directory.c */
void hp_directory_watch(void);
void hp_directory_enter(const char *script);

/* variables.c */
void hp_variables_register(zval *server);
char *hp_variable(const char *name, size_t length);

/* cache.c */
void hp_cache_watch(void);
void hp_cache_tell(void);

/* asked.c */
ZEND_FUNCTION(virtual);
ZEND_FUNCTION(apache_lookup_uri);

/* sapi.c: a line for the log. */
void hp_log(int severity, const char *format, ...) ZEND_ATTRIBUTE_FORMAT(printf, 2, 3);

#endif
