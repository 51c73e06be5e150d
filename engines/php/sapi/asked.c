/* Functions that ask the server about other URLs, or for their answers. The server walks the real phases for these, so all
 * its rules hold. */
#include "sapi.h"

#include "ext/standard/head.h"

static void put_text(zval *object, const char *name, const char *value)
{
    if (value)
        add_property_string(object, name, value);
}

/* What is not known here is what it is of a request that nobody has answered yet. */
static void describe(zval *object, const hp_found *found)
{
    object_init(object);
    add_property_long(object, "status", found->status);
    put_text(object, "the_request", found->the_request);
    put_text(object, "method", found->method);
    add_property_long(object, "mtime", (zend_long)found->mtime);
    add_property_long(object, "clength", 0);
    add_property_long(object, "chunked", 0);
    put_text(object, "content_type", found->content_type);
    put_text(object, "handler", found->handler);
    add_property_long(object, "no_cache", 0);
    add_property_long(object, "no_local_copy", 1);
    put_text(object, "unparsed_uri", found->unparsed_uri);
    put_text(object, "uri", found->uri);
    put_text(object, "filename", found->filename);
    put_text(object, "path_info", found->path_info);
    put_text(object, "args", found->args);
    add_property_long(object, "allowed", 0);
    add_property_long(object, "sent_bodyct", 0);
    add_property_long(object, "bytes_sent", 0);
    add_property_long(object, "request_time", (zend_long)found->request_time);
}

ZEND_FUNCTION(apache_lookup_uri)
{
    zend_string *target;
    hp_found found = {0};
    ZEND_PARSE_PARAMETERS_START(1, 1)
        Z_PARAM_PATH_STR(target)
    ZEND_PARSE_PARAMETERS_END();
    if (!hp_current || !hp_calls->look_up(hp_current->trip, ZSTR_VAL(target), ZSTR_LEN(target), &found)) {
        php_error_docref(NULL, E_WARNING, "Unable to include '%s' - URI lookup failed", ZSTR_VAL(target));
        RETURN_FALSE;
    }
    if (found.status != 200) {
        php_error_docref(NULL, E_WARNING, "Unable to include '%s' - error finding URI", ZSTR_VAL(target));
        RETURN_FALSE;
    }
    describe(return_value, &found);
}

/* What is a variable of the included script's request, and not of the one that includes it. The table's strings are its own. */
static void put_variable(HashTable *into, const char *name, const char *value)
{
    zval text;
    ZVAL_STRING(&text, value ? value : "");
    zend_hash_str_update(into, name, strlen(name), &text);
}

static HashTable *variables_of(const hp_found *found)
{
    HashTable *made;
    ALLOC_HASHTABLE(made);
    zend_hash_init(made, 8, NULL, ZVAL_PTR_DTOR, 0);
    put_variable(made, "SERVER_PROTOCOL", "INCLUDED");
    put_variable(made, "QUERY_STRING", found->args);
    put_variable(made, "SCRIPT_FILENAME", found->filename);
    put_variable(made, "SCRIPT_NAME", found->uri);
    put_variable(made, "PHP_SELF", found->uri);
    if (found->path_info)
        put_variable(made, "PATH_INFO", found->path_info);
    return made;
}

/* As LimitInternalRecursion: a script that includes itself would fill the stack. */
#define DEEPEST 10

/* As mod_php does, the script is run as if it were included: it has the variables of the one that includes it, $_GET among
 * them, what it sets stays, and an exit or an error ends it alone. false: it is too deep. */
static bool run_in_place(const hp_found *found)
{
    hp_state *state = hp_current;
    HashTable *outer = state->included;
    zend_file_handle file;
    if (state->depth >= DEEPEST)
        return false;
    state->depth++;
    state->included = variables_of(found);
    hp_ini_apply(found->in_place);
    zend_stream_init_filename(&file, found->filename);
    file.primary_script = 1;
    zend_execute_scripts(ZEND_INCLUDE, NULL, 1, &file);
    zend_destroy_file_handle(&file);
    zend_hash_destroy(state->included);
    FREE_HASHTABLE(state->included);
    state->included = outer;
    state->depth--;
    return true;
}

/* What was written before comes first: buffers are sent, and end. */
ZEND_FUNCTION(virtual)
{
    zend_string *target;
    hp_found found = {0};
    int status;
    ZEND_PARSE_PARAMETERS_START(1, 1)
        Z_PARAM_PATH_STR(target)
    ZEND_PARSE_PARAMETERS_END();
    if (!hp_current || hp_current->has_finished ||
        !hp_calls->look_up(hp_current->trip, ZSTR_VAL(target), ZSTR_LEN(target), &found)) {
        php_error_docref(NULL, E_WARNING, "Unable to include '%s' - URI lookup failed", ZSTR_VAL(target));
        RETURN_FALSE;
    }
    if (found.status != 200) {
        php_error_docref(NULL, E_WARNING, "Unable to include '%s' - error finding URI", ZSTR_VAL(target));
        RETURN_FALSE;
    }
    php_output_end_all();
    php_header();
    hp_current->has_written = true;
    if (found.in_place) {
        if (run_in_place(&found))
            RETURN_TRUE;
        php_error_docref(NULL, E_WARNING, "Unable to include '%s' - request execution failed", ZSTR_VAL(target));
        RETURN_FALSE;
    }
    status = hp_calls->include(hp_current->trip, ZSTR_VAL(target), ZSTR_LEN(target));
    if (status != 200) {
        php_error_docref(NULL, E_WARNING, "Unable to include '%s' - request execution failed", ZSTR_VAL(target));
        RETURN_FALSE;
    }
    RETURN_TRUE;
}
