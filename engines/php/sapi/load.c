/* PHP's start in the parent of a pool, and what a forked worker does first. */
#include "sapi.h"

#include "zend_signal.h"

#include <stdlib.h>

const hp_setup *hp_configured;

/* PHP's own, which none of its headers has. */
extern PHPAPI char *php_ini_opened_path;
extern PHPAPI char *php_ini_scanned_path;

/* The version of the library that runs, which a module that all builds have tells. */
static const char *running(void)
{
    zend_module_entry *standard = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("standard"));
    return standard && standard->version ? standard->version : "";
}

/* A library of another minor version would have other records than this was compiled with. */
static const char *other_version(void)
{
    static char text[160];
    char built_for[16];
    int length = snprintf(built_for, sizeof built_for, "%d.%d.", PHP_MAJOR_VERSION, PHP_MINOR_VERSION);
    if (strncmp(running(), built_for, (size_t)length) == 0)
        return NULL;
    snprintf(text, sizeof text, "the library is PHP %s, and this program was built for %s", running(), PHP_VERSION);
    return text;
}

/* Debian builds this library with what the command line has, and mod_php and PHP-FPM without it. A script that forks leaves two
 * workers at one request, of which the second one reads the cache of compiled scripts without being known to read it: what
 * it compiles while that is emptied stands there with names that are gone. */
static void withhold(const char *name)
{
    size_t length = strlen(name);
    zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, name, length);
    if (!module)
        return;
    if (module->functions)
        zend_unregister_functions(module->functions, -1, NULL);
    zend_hash_str_del(&module_registry, name, length);
}

/* Before any of them is started. */
static int register_extensions(void)
{
    if (php_register_internal_extensions() == FAILURE)
        return FAILURE;
    withhold("pcntl");
    zend_hash_str_del(CG(function_table), ZEND_STRL("chroot"));
    return SUCCESS;
}

const char *hostler_php_load(const hp_setup *setup)
{
    const char *other;
    hp_configured = setup;
    /* Zend puts its own handlers before all others while it works (php's own lists get broken otherwise). It would set
     * seven of them anew for every request, and so undo the worker's own. */
    zend_signal_startup();
#ifdef ZEND_SIGNALS
    SIGG(reset) = 0;
#endif
    sapi_startup(&hp_sapi);
    hp_ini_choose(setup->ini);
    php_register_internal_extensions_func = register_extensions;
    if (hp_sapi.startup(&hp_sapi) == FAILURE)
        return "PHP does not start";
    hp_ini_chosen();
    other = other_version();
    if (other)
        return other;
    hp_directory_watch();
    hp_cache_watch();
    return NULL;
}

const char *hostler_php_version(void)
{
    return running();
}

const char *hostler_php_ini_file(void)
{
    return php_ini_opened_path;
}

const char *hostler_php_ini_folder(void)
{
    return php_ini_scanned_path;
}

const char *hostler_php_extension_folder(void)
{
    return PG(extension_dir);
}

void hostler_php_begin_worker(void)
{
#if PHP_VERSION_ID >= 80500
    php_child_init();
#endif
#ifdef ZEND_SIGNALS
    SIGG(reset) = 0;
#endif
}

void hostler_php_leave(void)
{
    zend_hash_graceful_reverse_destroy(&EG(persistent_list));
}

void hostler_php_unload(void)
{
    php_module_shutdown();
    sapi_shutdown();
}
