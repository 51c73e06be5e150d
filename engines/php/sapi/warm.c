/* Scripts that the parent runs before it forks. Its host is a quiet one: nobody has asked, and nobody is answered. */
#include "sapi.h"

#include <sys/time.h>

static hp_pair told[16];
static size_t count;

static ptrdiff_t read_nothing(void *trip, char *into, size_t most)
{
    (void)trip, (void)into, (void)most;
    return 0;
}

static void no_head(void *trip, int status, const char *line, const hp_pair *fields, size_t fields_count, bool modified,
                    bool failed)
{
    (void)trip, (void)status, (void)line, (void)fields, (void)fields_count, (void)modified, (void)failed;
}

static void no_output(void *trip, const char *bytes, size_t length)
{
    (void)trip, (void)bytes, (void)length;
}

static void nothing(void *trip)
{
    (void)trip;
}

static bool never(void *trip)
{
    (void)trip;
    return false;
}

static hp_pairs variables(void *trip)
{
    (void)trip;
    return (hp_pairs){told, count};
}

static hp_pairs no_fields(void *trip)
{
    (void)trip;
    return (hp_pairs){NULL, 0};
}

static void not_logged(void *trip, const hp_pair *set, size_t set_count, const hp_pair *notes, size_t notes_count)
{
    (void)trip, (void)set, (void)set_count, (void)notes, (void)notes_count;
}

static void no_cache(void *trip, const hp_cache *cache)
{
    (void)trip, (void)cache;
}

static bool not_found(void *trip, const char *target, size_t length, hp_found *found)
{
    (void)trip, (void)target, (void)length, (void)found;
    return false;
}

static int not_included(void *trip, const char *target, size_t length)
{
    (void)trip, (void)target, (void)length;
    return 0;
}

static void say(const char *name, const char *value)
{
    told[count++] = (hp_pair){name, strlen(name), value, strlen(value)};
}

/* What is persistent is a worker's own: connections that were opened here would be all workers' at once. */
static void forget_persistent(void)
{
    dtor_func_t destructor = EG(persistent_list).pDestructor;
    zend_hash_graceful_reverse_destroy(&EG(persistent_list));
    zend_hash_init(&EG(persistent_list), 8, NULL, destructor, 1);
}

bool hostler_php_warm(const char *document_root, const char *script, const char *uri)
{
    hp_host quiet = {read_nothing, no_head,   no_output,  nothing,  nothing,   never,       hp_calls->log,
                     variables,    no_fields, not_logged, no_cache, not_found, not_included};
    const hp_setup *usual = hp_configured;
    hp_setup setup = *usual;
    struct timeval now;
    hp_request request = {.method = "GET",
                          .query = "",
                          .uri = uri,
                          .script = script,
                          .document_root = document_root,
                          .content_length = -1,
                          .protocol = 1001,
                          .status = 200};
    hp_served served;
    gettimeofday(&now, NULL);
    request.time = (double)now.tv_sec;
    count = 0;
    say("HTTP_HOST", "localhost");
    say("SERVER_NAME", "localhost");
    say("SERVER_PORT", "80");
    say("SERVER_PROTOCOL", "HTTP/1.1");
    say("REMOTE_ADDR", "127.0.0.1");
    say("REQUEST_METHOD", "GET");
    say("QUERY_STRING", "");
    say("REQUEST_URI", uri);
    say("SCRIPT_NAME", uri);
    say("PHP_SELF", uri);
    say("SCRIPT_FILENAME", script);
    say("DOCUMENT_ROOT", document_root);
    say("SERVER_SOFTWARE", usual->software);
    setup.host = &quiet;
    hp_configured = &setup;
    served = hostler_php_serve(NULL, &request);
    hp_configured = usual;
    forget_persistent();
    return !served.failed;
}
