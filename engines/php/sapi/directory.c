/* The working directory is the script's, as under mod_php. PHP would change to it and back with every request; it is
 * left alone here while neither a request nor its script wants another one. */
#include "sapi.h"

#include <unistd.h>

static char *entered; /* where the process is; NULL: not known */
static zif_handler php_chdir;

static ZEND_FUNCTION(hostler_chdir)
{
    free(entered);
    entered = NULL;
    php_chdir(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void hp_directory_watch(void)
{
    zend_internal_function *function = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("chdir"));
    if (!function || function->type != ZEND_INTERNAL_FUNCTION)
        return;
    php_chdir = function->handler;
    function->handler = ZEND_FN(hostler_chdir);
}

void hp_directory_enter(const char *script)
{
    const char *slash = strrchr(script, '/');
    size_t length = slash ? (size_t)(slash - script) : 0;
    if (!slash)
        return;
    if (!length)
        length = 1; /* the root */
    if (entered && strlen(entered) == length && memcmp(entered, script, length) == 0)
        return;
    free(entered);
    entered = strndup(script, length);
    if (!entered || chdir(entered) != 0) {
        free(entered);
        entered = NULL;
    }
}
