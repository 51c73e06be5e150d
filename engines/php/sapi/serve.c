/* One request: its settings, its script, its end.
 *
 * Everything that may leave a script by longjmp is called from here between zend_try and zend_end_try, and between those
 * and it there are frames of C alone. */
#include "sapi.h"

#include "ext/standard/basic_functions.h"

static void tell_request(const hp_request *request)
{
    SG(server_context) = hp_current;
    SG(options) |= SAPI_OPTION_NO_CHDIR; /* directory.c */
    SG(sapi_headers).http_response_code = request->status;
    SG(request_info).request_method = request->method;
    SG(request_info).query_string = (char *)request->query;
    SG(request_info).request_uri = (char *)request->uri;
    SG(request_info).path_translated = (char *)request->script;
    SG(request_info).content_type = request->content_type;
    /* Of unknown length: PHP reads until nothing comes. */
    SG(request_info).content_length = request->content_length < 0 ? 0 : (zend_long)request->content_length;
    SG(request_info).proto_num = request->protocol;
    SG(request_info).headers_only = request->head_only;
    SG(request_info).no_headers = 0;
    SG(request_info).argc = 0;
    SG(request_info).argv = NULL;
}

/* PHP_AUTH_USER and PHP_AUTH_PW, though Authorization itself is not among the variables (CGIPassAuth). */
static void tell_credentials(const hp_request *request)
{
    SG(request_info).auth_user = NULL;
    SG(request_info).auth_password = NULL;
    SG(request_info).auth_digest = NULL;
    if (request->authorization)
        php_handle_auth_data(request->authorization);
    if (!SG(request_info).auth_user && request->user)
        SG(request_info).auth_user = estrdup(request->user);
}

static void run(const hp_request *request)
{
    zend_file_handle file;
    zend_stream_init_filename(&file, request->script);
    file.primary_script = 1;
    php_execute_script(&file);
    zend_destroy_file_handle(&file);
}

static void show(const hp_request *request)
{
    zend_syntax_highlighter_ini colours = {0};
    php_get_highlight_struct(&colours);
    highlight_file(request->script, &colours);
}

/* Without a body there is no input to wait for, so one timer is enough: PHP would set one for the input, and then another
 * for the script. What programs read of the setting stays as it is. */
static zend_result start_up(const hp_request *request)
{
    if (request->content_length <= 0 && !request->content_type)
        PG(max_input_time) = -1;
    return php_request_startup();
}

/* The script and what it has registered for its end. */
static void execute(hp_state *state)
{
    const hp_request *request = state->request;
    EG(exit_status) = 0;
    zend_first_try
    {
        tell_request(request);
        tell_credentials(request);
        hp_ini_apply(request->settings);
        hp_directory_enter(request->script);
        state->has_begun = true;
        if (start_up(request) == SUCCESS) {
            if (request->source)
                show(request);
            else
                run(request);
            hp_cache_tell();
        }
    }
    zend_end_try();
}

hp_served hostler_php_serve(void *trip, const hp_request *request)
{
    hp_served served = {0};
    hp_state state = {.trip = trip, .request = request};
    zend_long input_time = PG(max_input_time);
    hp_current = &state;
    execute(&state);
    if (state.has_begun)
        php_request_shutdown(NULL);
    else
        zend_ini_deactivate();
    PG(max_input_time) = input_time;
    served.failed = state.has_head || state.has_finished ? state.failed : 500;
    served.terminate = state.terminate;
    hp_current = NULL;
    SG(server_context) = NULL;
    return served;
}
