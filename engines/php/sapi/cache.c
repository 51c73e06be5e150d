/* How the cache of compiled scripts stands, as opcache tells programs. The figures are those of all workers of the pool; each
 * tells them now and then, with a request that it serves anyway. */
#include "sapi.h"

#include <pthread.h>

/* Seconds between two tellings of one worker. */
#define PAUSE 1.0

static zend_function *status; /* NULL: without opcache, or the administrator has disabled the function */
static double told;

/* A process that a script forks reads the cache without being counted among those who do, as the count is a lock of the process
 * before it. So the cache may be emptied under it, and what it would put there is not to be trusted. */
static void leave(void)
{
    zend_string *name;
    if (!hp_current)
        return;
    name = zend_string_init(ZEND_STRL("opcache.enable"), 0);
    zend_alter_ini_entry_chars(name, "0", 1, PHP_INI_SYSTEM, PHP_INI_STAGE_RUNTIME);
    zend_string_release(name);
}

void hp_cache_watch(void)
{
    pthread_atfork(NULL, NULL, leave);
    status = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("opcache_get_status"));
}

static zval *part(zval *of, const char *name)
{
    return of && Z_TYPE_P(of) == IS_ARRAY ? zend_hash_str_find(Z_ARRVAL_P(of), name, strlen(name)) : NULL;
}

static uint64_t number(zval *of, const char *name)
{
    zval *value = part(of, name);
    zend_long found = value ? zval_get_long(value) : 0;
    return found > 0 ? (uint64_t)found : 0;
}

static void tell(zval *all)
{
    zval *memory = part(all, "memory_usage"), *counts = part(all, "opcache_statistics"),
         *full = part(all, "cache_full");
    hp_cache cache = {0};
    cache.used = number(memory, "used_memory");
    cache.wasted = number(memory, "wasted_memory");
    cache.memory = cache.used + cache.wasted + number(memory, "free_memory");
    cache.scripts = number(counts, "num_cached_scripts");
    cache.keys = number(counts, "num_cached_keys");
    cache.most_keys = number(counts, "max_cached_keys");
    cache.hits = number(counts, "hits");
    cache.misses = number(counts, "misses");
    cache.restarts =
        number(counts, "oom_restarts") + number(counts, "hash_restarts") + number(counts, "manual_restarts");
    cache.full = full && Z_TYPE_P(full) == IS_TRUE;
    if (memory)
        hp_calls->cache(hp_current->trip, &cache);
}

/* Called when a script has ended as scripts do, while the request still stands. */
void hp_cache_tell(void)
{
    double now = hp_current->request->time;
    const char *restricted = zend_ini_string("opcache.restrict_api", sizeof "opcache.restrict_api" - 1, 0);
    zval all, without_scripts;
    /* Where only some scripts may ask, we may not: it would warn with each request. After a fatal error nothing more is
     * called: that would be another one. */
    if (!status || now - told < PAUSE || (restricted && *restricted) || EG(exception) || CG(unclean_shutdown))
        return;
    told = now;
    ZVAL_FALSE(&without_scripts);
    ZVAL_UNDEF(&all);
    zend_call_known_function(status, NULL, NULL, &all, 1, &without_scripts, NULL);
    tell(&all);
    zval_ptr_dtor(&all);
}
