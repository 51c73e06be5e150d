/* $_SERVER and getenv(). */
#include "sapi.h"

static void put(zval *server, const char *name, const char *value, size_t length)
{
    char *text = (char *)value;
    /* ext/filter's, or PHP's own that lets everything through. */
    if (sapi_module.input_filter(PARSE_SERVER, name, &text, length, &length))
        php_register_variable_safe(name, text, length, server);
}

static void put_string(zval *server, zend_string *name, zval *value)
{
    if (Z_TYPE_P(value) == IS_STRING)
        put(server, ZSTR_VAL(name), Z_STRVAL_P(value), Z_STRLEN_P(value));
}

static void put_table(zval *server, HashTable *set)
{
    zend_string *name;
    zval *value;
    if (!set)
        return;
    ZEND_HASH_FOREACH_STR_KEY_VAL(set, name, value)
    {
        if (name)
            put_string(server, name, value);
    }
    ZEND_HASH_FOREACH_END();
}

void hp_variables_register(zval *server)
{
    hp_pairs all;
    size_t i;
    if (!hp_current)
        return;
    all = hp_calls->variables(hp_current->trip);
    for (i = 0; i < all.count; i++)
        put(server, all.list[i].name, all.list[i].value, all.list[i].value_length);
    put_table(server, hp_current->included);
    put_table(server, hp_current->set);
}

/* As in Apache's tables, case makes no difference. */
static char *set_variable(HashTable *set, const char *name, size_t length)
{
    zend_string *known;
    zval *value;
    ZEND_HASH_FOREACH_STR_KEY_VAL(set, known, value)
    {
        if (known && ZSTR_LEN(known) == length && strncasecmp(ZSTR_VAL(known), name, length) == 0)
            return Z_STRVAL_P(value);
    }
    ZEND_HASH_FOREACH_END();
    return NULL;
}

char *hp_variable(const char *name, size_t length)
{
    hp_pairs all;
    size_t i;
    char *set = hp_current->set ? set_variable(hp_current->set, name, length) : NULL;
    if (!set && hp_current->included)
        set = set_variable(hp_current->included, name, length);
    if (set)
        return set;
    all = hp_calls->variables(hp_current->trip);
    for (i = 0; i < all.count; i++) {
        const hp_pair *pair = &all.list[i];
        if (pair->name_length == length && strncasecmp(pair->name, name, length) == 0)
            return (char *)pair->value;
    }
    return NULL;
}
