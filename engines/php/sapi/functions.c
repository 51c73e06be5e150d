/* The functions that programs find under Apache, and PHP-FPM's for ending a request early. */
#include "sapi.h"

#include "ext/standard/head.h"
#include "ext/standard/info.h"

ZEND_BEGIN_ARG_INFO_EX(takes_nothing, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(takes_name, 0, 0, 1)
    ZEND_ARG_TYPE_INFO(0, variable, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, walk_to_top, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(takes_variable, 0, 0, 2)
    ZEND_ARG_TYPE_INFO(0, variable, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO(0, value, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, walk_to_top, _IS_BOOL, 0, "false")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(takes_note, 0, 0, 1)
    ZEND_ARG_TYPE_INFO(0, note_name, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, note_value, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(takes_uri, 0, 0, 1)
    ZEND_ARG_TYPE_INFO(0, uri, IS_STRING, 0)
ZEND_END_ARG_INFO()

static ZEND_FUNCTION(apache_request_headers)
{
    hp_pairs fields = {NULL, 0};
    size_t i;
    ZEND_PARSE_PARAMETERS_NONE();
    array_init(return_value);
    if (hp_current)
        fields = hp_calls->fields(hp_current->trip);
    for (i = 0; i < fields.count; i++) {
        zval value;
        ZVAL_STRINGL(&value, fields.list[i].value, fields.list[i].value_length);
        zend_hash_str_update(Z_ARRVAL_P(return_value), fields.list[i].name, fields.list[i].name_length, &value);
    }
}

static bool has_head(void)
{
    return !hp_current || hp_current->has_head;
}

static ZEND_FUNCTION(apache_response_headers)
{
    zend_llist *fields = &SG(sapi_headers).headers;
    zend_llist_position position;
    sapi_header_struct *field;
    ZEND_PARSE_PARAMETERS_NONE();
    array_init(return_value);
    for (field = zend_llist_get_first_ex(fields, &position); field; field = zend_llist_get_next_ex(fields, &position)) {
        const char *colon = memchr(field->header, ':', field->header_len), *value;
        const char *end = field->header + field->header_len;
        zval held;
        size_t length = colon ? (size_t)(colon - field->header) : 0;
        if (!colon)
            continue;
        /* Under mod_php the type becomes a field when the head is sent. */
        if (length == 12 && strncasecmp(field->header, "Content-Type", 12) == 0 && !has_head())
            continue;
        for (value = colon + 1; value < end && *value == ' '; value++)
            ;
        ZVAL_STRINGL(&held, value, (size_t)(end - value));
        zend_hash_str_update(Z_ARRVAL_P(return_value), field->header, length, &held);
    }
}

static HashTable *table(HashTable **held)
{
    if (!*held) {
        ALLOC_HASHTABLE(*held);
        zend_hash_init(*held, 8, NULL, ZVAL_PTR_DTOR, 0);
    }
    return *held;
}

static void keep(HashTable **held, zend_string *name, zend_string *value)
{
    zval text;
    ZVAL_STR_COPY(&text, value);
    zend_hash_update(table(held), name, &text);
}

static ZEND_FUNCTION(apache_setenv)
{
    zend_string *name, *value;
    bool to_top = false;
    ZEND_PARSE_PARAMETERS_START(2, 3)
        Z_PARAM_STR(name)
        Z_PARAM_STR(value)
        Z_PARAM_OPTIONAL
        Z_PARAM_BOOL(to_top)
    ZEND_PARSE_PARAMETERS_END();
    if (!hp_current)
        RETURN_FALSE;
    keep(&hp_current->set, name, value);
    RETURN_TRUE;
}

static ZEND_FUNCTION(apache_getenv)
{
    zend_string *name;
    bool to_top = false;
    const char *value;
    ZEND_PARSE_PARAMETERS_START(1, 2)
        Z_PARAM_STR(name)
        Z_PARAM_OPTIONAL
        Z_PARAM_BOOL(to_top)
    ZEND_PARSE_PARAMETERS_END();
    value = hp_current ? hp_variable(ZSTR_VAL(name), ZSTR_LEN(name)) : NULL;
    if (!value)
        RETURN_FALSE;
    RETURN_STRING(value);
}

/* Gives what the note was, and "" where it was nothing. */
static ZEND_FUNCTION(apache_note)
{
    zend_string *name, *value = NULL;
    zval *old;
    ZEND_PARSE_PARAMETERS_START(1, 2)
        Z_PARAM_STR(name)
        Z_PARAM_OPTIONAL
        Z_PARAM_STR_OR_NULL(value)
    ZEND_PARSE_PARAMETERS_END();
    if (!hp_current)
        RETURN_FALSE;
    old = hp_current->notes ? zend_hash_find(hp_current->notes, name) : NULL;
    if (old)
        RETVAL_STR_COPY(Z_STR_P(old));
    else
        RETVAL_FALSE;
    if (value)
        keep(&hp_current->notes, name, value);
}

static ZEND_FUNCTION(apache_get_version)
{
    ZEND_PARSE_PARAMETERS_NONE();
    RETURN_STRING(hp_configured->software);
}

static ZEND_FUNCTION(apache_get_modules)
{
    const char *const *module;
    ZEND_PARSE_PARAMETERS_NONE();
    array_init(return_value);
    for (module = hp_configured->modules; module && *module; module++)
        add_next_index_string(return_value, *module);
}

/* The client has its answer, and the program goes on: what it says from now on goes nowhere. */
static ZEND_FUNCTION(fastcgi_finish_request)
{
    ZEND_PARSE_PARAMETERS_NONE();
    if (!hp_current || hp_current->has_finished)
        RETURN_FALSE;
    php_output_end_all();
    php_header();
    hp_calls->finish(hp_current->trip);
    hp_current->has_finished = true;
    RETURN_TRUE;
}

/* clang-format off */
const zend_function_entry hp_functions[] = {
    ZEND_FE(apache_request_headers, takes_nothing)
    ZEND_FALIAS(getallheaders, apache_request_headers, takes_nothing)
    ZEND_FE(apache_response_headers, takes_nothing)
    ZEND_FE(apache_setenv, takes_variable)
    ZEND_FE(apache_getenv, takes_name)
    ZEND_FE(apache_note, takes_note)
    ZEND_FE(virtual, takes_uri)
    ZEND_FE(apache_lookup_uri, takes_uri)
    ZEND_FE(apache_get_version, takes_nothing)
    ZEND_FE(apache_get_modules, takes_nothing)
    ZEND_FE(fastcgi_finish_request, takes_nothing)
    ZEND_FALIAS(litespeed_finish_request, fastcgi_finish_request, takes_nothing)
    ZEND_FE_END
};
/* clang-format on */

ZEND_DECLARE_MODULE_GLOBALS(hostler)

/* mod_php's own. The front knows `engine` as well, and asks no worker where it is off. */
PHP_INI_BEGIN()
    STD_PHP_INI_BOOLEAN("engine", "1", PHP_INI_ALL, OnUpdateBool, engine, zend_hostler_globals, hostler_globals)
    STD_PHP_INI_BOOLEAN("xbithack", "0", PHP_INI_ALL, OnUpdateBool, xbithack, zend_hostler_globals, hostler_globals)
    STD_PHP_INI_BOOLEAN("last_modified", "0", PHP_INI_ALL, OnUpdateBool, last_modified, zend_hostler_globals,
                        hostler_globals)
PHP_INI_END()

static PHP_MINIT_FUNCTION(hostler)
{
    (void)type;
    REGISTER_INI_ENTRIES();
    return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(hostler)
{
    (void)type;
    UNREGISTER_INI_ENTRIES();
    return SUCCESS;
}

/* The texts of a table, as many as fit; how many they are. */
static size_t texts(HashTable *held, hp_pair *into, size_t most)
{
    size_t count = 0;
    zend_string *name;
    zval *value;
    if (!held)
        return 0;
    ZEND_HASH_FOREACH_STR_KEY_VAL(held, name, value)
    {
        if (name && count < most)
            into[count++] = (hp_pair){ZSTR_VAL(name), ZSTR_LEN(name), Z_STRVAL_P(value), Z_STRLEN_P(value)};
    }
    ZEND_HASH_FOREACH_END();
    return count;
}

/* Variables and notes that the log is told of. */
#define MOST_LOGGED 64

static void tell_logged(const hp_state *state)
{
    hp_pair set[MOST_LOGGED], notes[MOST_LOGGED];
    size_t set_count = texts(state->set, set, MOST_LOGGED), note_count = texts(state->notes, notes, MOST_LOGGED);
    if (set_count || note_count)
        hp_calls->logged(state->trip, set, set_count, notes, note_count);
}

/* Output has ended, and whatever is called from now on has nothing for it. */
static PHP_RSHUTDOWN_FUNCTION(hostler)
{
    (void)type;
    (void)module_number;
    if (hp_current) {
        hp_current->is_ending = true;
        tell_logged(hp_current);
    }
    return SUCCESS;
}

static PHP_MINFO_FUNCTION(hostler)
{
    php_info_print_table_start();
    php_info_print_table_row(2, "Server", hp_configured->software);
    php_info_print_table_end();
    DISPLAY_INI_ENTRIES();
}

zend_module_entry hp_module = {STANDARD_MODULE_HEADER,
                               "apache2handler",
                               hp_functions,
                               PHP_MINIT(hostler),
                               PHP_MSHUTDOWN(hostler),
                               NULL,
                               PHP_RSHUTDOWN(hostler),
                               PHP_MINFO(hostler),
                               PHP_VERSION,
                               NO_MODULE_GLOBALS,
                               NULL,
                               STANDARD_MODULE_PROPERTIES_EX};
