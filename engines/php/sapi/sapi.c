/* The server interface that PHP sees: what it calls to read a request and to write an answer.
 *
 * Its name is apache2handler. The name decides: opcache runs only under those that it knows, frameworks take unknown
 * ones for a console, and programs that find mod_php's look for mod_php's functions and configuration, which are here
 * (functions.c, ini.c).
 *
 * Quirk(php): any of these may be followed by a longjmp of PHP's, out of a memory limit or an exit. They call the host,
 * take what it gives, and leave only when the host's function has returned. */
#include "sapi.h"

#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>
#include <unistd.h>

hp_state *hp_current;

void hp_log(int severity, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if ((size_t)length >= sizeof line)
        length = sizeof line - 1;
    hp_calls->log(hp_current ? hp_current->trip : NULL, severity, line, (size_t)length);
}

static size_t write_output(const char *bytes, size_t length)
{
    hp_state *state = hp_current;
    if (!state || !length || state->has_finished)
        return length;
    hp_calls->write(state->trip, bytes, length);
    state->has_written = true;
    if (hp_calls->is_gone(state->trip))
        php_handle_aborted_connection(); /* may not return: see ignore_user_abort */
    return length;
}

static void flush_output(void *context)
{
    hp_state *state = hp_current;
    (void)context;
    if (!state || state->has_finished)
        return;
    sapi_send_headers();
    hp_calls->flush(state->trip);
    if (hp_calls->is_gone(state->trip))
        php_handle_aborted_connection();
}

/* What has ended by a fatal error, without a word for the client, gets the server's page: the log says why. What the program
 * has said in fields goes with it, as under mod_php: a session's cookie, whom the answer is for. */
static bool has_failed(const hp_state *state, const sapi_headers_struct *headers)
{
    return state->is_ending && EG(exit_status) == 255 && headers->http_response_code >= 500;
}

/* As under mod_php a line without a name is no field, and programs do not find it among theirs. */
static int take_header(sapi_header_struct *header, sapi_header_op_enum operation, sapi_headers_struct *headers)
{
    bool comes = operation == SAPI_HEADER_ADD || operation == SAPI_HEADER_REPLACE;
    (void)headers;
    return comes && !strchr(header->header, ':') ? 0 : SAPI_HEADER_ADD;
}

static int send_headers(sapi_headers_struct *headers)
{
    hp_state *state = hp_current;
    size_t count = zend_llist_count(&headers->headers), at = 0;
    zend_llist_position position;
    sapi_header_struct *header;
    hp_pair few[32], *fields = few;
    if (!state || state->has_finished || state->has_head)
        return SAPI_HEADER_SENT_SUCCESSFULLY;
    state->has_head = true;
    if (has_failed(state, headers))
        state->failed = headers->http_response_code;
    if (count > sizeof few / sizeof *few)
        fields = safe_emalloc(count, sizeof *fields, 0);
    for (header = zend_llist_get_first_ex(&headers->headers, &position); header && at < count;
         header = zend_llist_get_next_ex(&headers->headers, &position))
        fields[at++] = (hp_pair){header->header, header->header_len, NULL, 0};
    hp_calls->head(state->trip, headers->http_response_code, headers->http_status_line, fields, at, HP_G(last_modified),
                   state->failed != 0);
    if (fields != few)
        efree(fields);
    return SAPI_HEADER_SENT_SUCCESSFULLY;
}

/* To PHP a short read is the body's end, so the buffer is filled. */
static size_t read_post(char *buffer, size_t wanted)
{
    size_t filled = 0;
    while (hp_current && filled < wanted) {
        ptrdiff_t count = hp_calls->read_body(hp_current->trip, buffer + filled, wanted - filled);
        if (count <= 0)
            break;
        filled += (size_t)count;
    }
    return filled;
}

static char *read_cookies(void)
{
    hp_pairs fields;
    size_t i;
    char *joined = NULL;
    if (!hp_current)
        return NULL;
    fields = hp_calls->fields(hp_current->trip);
    for (i = 0; i < fields.count; i++) {
        const hp_pair *field = &fields.list[i];
        char *longer;
        if (field->name_length != 6 || strcasecmp(field->name, "Cookie") != 0)
            continue;
        if (!joined) {
            joined = (char *)field->value;
            continue;
        }
        /* HTTP/2 may send one in pieces (RFC 9113 §8.2.3). Freed with the request's memory. */
        spprintf(&longer, 0, "%s; %s", joined, field->value);
        joined = longer;
    }
    return joined;
}

static void log_message(const char *text, int severity)
{
    /* Before anything is served, what PHP says goes where the host lets it. */
    hp_calls->log(hp_current ? hp_current->trip : NULL, severity & LOG_PRIMASK, text, strlen(text));
}

static zend_result request_time(double *seconds)
{
    if (!hp_current)
        return FAILURE;
    *seconds = hp_current->request->time;
    return SUCCESS;
}

/* Spares a look at the script's file, for getlastmod() and for opcache's question whether it has changed. */
static zend_stat_t *script_facts(void)
{
    if (!hp_current || !hp_current->request->has_facts)
        return NULL;
    SG(global_stat) = hp_current->request->facts;
    return &SG(global_stat);
}

static char *variable(const char *name, size_t length)
{
    return hp_current ? hp_variable(name, length) : NULL;
}

static void terminate_process(void)
{
    if (hp_current)
        hp_current->terminate = true;
}

static int start(sapi_module_struct *module)
{
#if PHP_VERSION_ID >= 80200
    return php_module_startup(module, &hp_module);
#else
    return php_module_startup(module, &hp_module, 1);
#endif
}

static int activate(void)
{
    if (hp_current)
        hp_ini_of_user(hp_current->request);
    return SUCCESS;
}

static int deactivate(void)
{
    return SUCCESS;
}

sapi_module_struct hp_sapi = {
    .name = "apache2handler",
    .pretty_name = "Hostler",
    .startup = start,
    .shutdown = php_module_shutdown_wrapper,
    .activate = activate,
    .deactivate = deactivate,
    .ub_write = write_output,
    .flush = flush_output,
    .get_stat = script_facts,
    .getenv = variable,
    .sapi_error = php_error,
    .header_handler = take_header,
    .send_headers = send_headers,
    .read_post = read_post,
    .read_cookies = read_cookies,
    .register_server_variables = hp_variables_register,
    .log_message = log_message,
    .get_request_time = request_time,
    .terminate_process = terminate_process,
    .php_ini_ignore_cwd = 1,
};
