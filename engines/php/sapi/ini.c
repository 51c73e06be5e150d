/* php.ini, php_value and its sisters, .user.ini and the sections [PATH=] and [HOST=] of php.ini. */
#include "sapi.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Debian keeps a configuration for each interface; administrators know mod_php's. */
static bool scan_set;

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* PHPINIDir; else mod_php's, where that is installed; else what the library was built with. Folders of further files
 * are those of the same interface, unless the environment names others. */
void hp_ini_choose(const char *configured)
{
    char folder[64], further[80];
    const char *scanned = getenv("PHP_INI_SCAN_DIR");
    snprintf(folder, sizeof folder, "/etc/php/%d.%d/apache2", PHP_MAJOR_VERSION, PHP_MINOR_VERSION);
    snprintf(further, sizeof further, "%s/conf.d", folder);
    if (configured)
        hp_sapi.php_ini_path_override = strdup(configured);
    else if (is_folder(folder))
        hp_sapi.php_ini_path_override = strdup(folder);
    if (!scanned && is_folder(further)) {
        scan_set = true;
        setenv("PHP_INI_SCAN_DIR", further, 1);
    }
}

/* Programs do not see what was set for PHP alone. */
void hp_ini_chosen(void)
{
    if (scan_set)
        unsetenv("PHP_INI_SCAN_DIR");
    scan_set = false;
}

static void complain_once(const char *name, bool late)
{
    static HashTable said;
    static bool has_said;
    if (!has_said) {
        zend_hash_init(&said, 8, NULL, NULL, 1);
        has_said = true;
    }
    if (zend_hash_str_exists(&said, name, strlen(name)))
        return;
    zend_hash_str_add_empty_element(&said, name, strlen(name));
    if (late)
        hp_log(
            4,
            "php_value or php_admin_value: \"%s\" has no effect: PHP reads it when it starts, from php.ini (PHPINIDir)",
            name);
    else
        hp_log(4, "php_value or php_admin_value: PHP has no setting \"%s\", or it can't be set here", name);
}

/* What can be set when everything is loaded already would seem to work, and would not. */
static bool is_too_late(const char *name)
{
    static const char *const starting[] = {"extension",
                                           "zend_extension",
                                           "extension_dir",
                                           "opcache.preload",
                                           "opcache.preload_user",
                                           "opcache.memory_consumption",
                                           "opcache.interned_strings_buffer",
                                           "opcache.max_accelerated_files"};
    size_t i;
    for (i = 0; i < sizeof starting / sizeof *starting; i++)
        if (strcmp(name, starting[i]) == 0)
            return true;
    return false;
}

/* Some settings end in a fatal error when their value makes no sense, and there is no request yet that could be left: it is
 * logged, and the setting stays as it was. */
static zend_result alter(zend_string *name, const hp_pair *setting, int modify, int stage)
{
    volatile zend_result done = FAILURE;
    bool displays = PG(display_errors);
    int status = SG(sapi_headers).http_response_code;
    PG(display_errors) = false; /* nothing can be written yet */
    zend_try
    {
        done = zend_alter_ini_entry_chars(name, setting->value, setting->value_length, modify, stage);
    }
    zend_end_try();
    CG(unclean_shutdown) = false;
    EG(exit_status) = 0;
    SG(sapi_headers).http_response_code = status;
    if (!zend_string_equals_literal(name, "display_errors") || done == FAILURE)
        PG(display_errors) = displays;
    return done;
}

static void apply(const hp_pair *setting, int kind)
{
    int modify = kind & HP_ADMIN ? PHP_INI_SYSTEM : PHP_INI_PERDIR;
    /* Some settings only get stricter in an access file: open_basedir. */
    int stage = kind & HP_ACCESS_FILE ? PHP_INI_STAGE_HTACCESS : PHP_INI_STAGE_ACTIVATE;
    zend_string *name = zend_string_init(setting->name, setting->name_length, 0);
    if (is_too_late(setting->name))
        complain_once(setting->name, true);
    else if (alter(name, setting, modify, stage) == FAILURE)
        complain_once(setting->name, false);
    zend_string_release(name);
}

void hp_ini_apply(const hp_settings *settings)
{
    size_t i;
    for (i = 0; settings && i < settings->pairs.count; i++)
        apply(&settings->pairs.list[i], settings->kinds[i]);
}

/* The .user.ini of a folder, as it was read some time ago. */
typedef struct {
    HashTable *entries;
    double until; /* then it is read again */
} folder_ini;

static HashTable folders;
static bool has_folders;

static void forget_folder(zval *held)
{
    folder_ini *known = Z_PTR_P(held);
    zend_hash_destroy(known->entries);
    free(known->entries);
    free(known);
}

static folder_ini *folder(const char *path, size_t length)
{
    folder_ini *known;
    double now = hp_current->request->time;
    if (!has_folders) {
        zend_hash_init(&folders, 8, NULL, forget_folder, 1);
        has_folders = true;
    }
    known = zend_hash_str_find_ptr(&folders, path, length);
    if (known && now < known->until)
        return known;
    if (zend_hash_num_elements(&folders) > 1024)
        zend_hash_clean(&folders);
    known = pemalloc(sizeof *known, 1);
    known->entries = pemalloc(sizeof *known->entries, 1);
    zend_hash_init(known->entries, 8, NULL, (dtor_func_t)config_zval_dtor, 1);
    known->until = now + (double)PG(user_ini_cache_ttl);
    php_parse_user_ini_file(path, PG(user_ini_filename), known->entries);
    zend_hash_str_update_ptr(&folders, path, length, known);
    return known;
}

static void activate_folder(const char *script, size_t length)
{
    char path[MAXPATHLEN];
    folder_ini *known;
    if (length >= sizeof path)
        return;
    memcpy(path, script, length);
    path[length] = 0;
    known = folder(path, length);
    if (zend_hash_num_elements(known->entries))
        php_ini_activate_config(known->entries, PHP_INI_PERDIR, PHP_INI_STAGE_HTACCESS);
}

/* Below the document root from there on; elsewhere (an alias) in the script's own folder alone, as PHP's others do. */
static void activate_folders(const hp_request *request)
{
    const char *script = request->script, *slash = strrchr(script, '/');
    size_t last = slash ? (size_t)(slash - script) : 0, root, at;
    root = request->document_root ? strlen(request->document_root) : 0;
    while (root > 1 && request->document_root[root - 1] == '/')
        root--;
    if (!last)
        return;
    if (!root || root > last || memcmp(script, request->document_root, root) != 0 ||
        (script[root] != '/' && root != last)) {
        activate_folder(script, last);
        return;
    }
    for (at = root; at <= last; at++)
        if (at == last || script[at] == '/')
            activate_folder(script, at);
}

/* Whether a list of paths has this one, with or without a slash at its end. */
static bool lists(const char *paths, const char *path)
{
    size_t length = strlen(path);
    while (*paths) {
        size_t piece = strcspn(paths, ":");
        size_t name = piece > 1 && paths[piece - 1] == '/' ? piece - 1 : piece;
        if (name == length && memcmp(paths, path, length) == 0)
            return true;
        paths += piece + (paths[piece] == ':');
    }
    return false;
}

/* Who allows /tmp by open_basedir means the folder for temporary files, and scripts ask for that by its function: it is
 * another one here (temporary.rs). */
static void allow_temporary(void)
{
    const char *folder = getenv("TMPDIR"), *allowed = PG(open_basedir);
    zend_string *name, *longer;
    if (!allowed || !*allowed || !folder || !lists(allowed, "/tmp") || lists(allowed, folder))
        return;
    name = zend_string_init(ZEND_STRL("open_basedir"), 0);
    longer = strpprintf(0, "%s:%s", allowed, folder);
    zend_alter_ini_entry(name, longer, PHP_INI_SYSTEM, PHP_INI_STAGE_ACTIVATE);
    zend_string_release(longer);
    zend_string_release(name);
}

void hp_ini_of_user(const hp_request *request)
{
    char path[MAXPATHLEN];
    const char *slash = strrchr(request->script, '/');
    size_t length = slash ? (size_t)(slash - request->script) : 0;
    if (php_ini_has_per_dir_config() && length && length + 1 < sizeof path) {
        /* With its slash: only what stands before one is looked for. */
        memcpy(path, request->script, length + 1);
        path[length + 1] = 0;
        php_ini_activate_per_dir_config(path, length + 1); /* writes into it, and restores */
    }
    if (request->host_name && php_ini_has_per_host_config())
        php_ini_activate_per_host_config(request->host_name, strlen(request->host_name));
    if (request->settings && request->settings->user_ini && PG(user_ini_filename) && *PG(user_ini_filename))
        activate_folders(request);
    allow_temporary();
}
