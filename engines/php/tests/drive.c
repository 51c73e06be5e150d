/* Drives the interface by hand, without a server: reads commands, a line each, and prints what a client would see.
 *
 *   ini PATH        before anything else: php.ini or its folder
 *   fork            what follows is done by a forked worker; its end is printed
 *   value NAME VALUE, admin NAME VALUE     settings of the requests that follow; `plain` forgets them
 *   field NAME VALUE, var NAME VALUE       of the requests that follow
 *   type TEXT, length N, body TEXT, authorization TEXT, root PATH, status N   of the next request; in a body \r and \n
 *                   are what they are in C
 *   chunks N        the body comes in pieces of N bytes
 *   cache           how the cache stands is printed
 *   gone            the client of the next request is gone when something is written
 *   warm ROOT PATH  before anything is forked: a script is run for what stays of it
 *   get PATH, post PATH, head PATH, show PATH     a request
 */
#include "host.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    const char *body;
    size_t left, chunk;
    bool gone;
    size_t written;
} trip_state;

static hp_pair fields[64], variables[64], settings[64];
static uint8_t kinds[64];
static size_t field_count, variable_count, setting_count;

static ptrdiff_t read_body(void *at, char *into, size_t most)
{
    trip_state *trip = at;
    size_t count = trip->left < most ? trip->left : most;
    if (trip->chunk && count > trip->chunk)
        count = trip->chunk;
    memcpy(into, trip->body, count);
    trip->body += count;
    trip->left -= count;
    return (ptrdiff_t)count;
}

static void head(void *at, int status, const char *line, const hp_pair *list, size_t count, bool last_modified,
                 bool failed)
{
    size_t i;
    (void)at;
    printf("head %d %s%s%s\n", status, line ? line : "", last_modified ? " last_modified" : "",
           failed ? " failed" : "");
    for (i = 0; i < count; i++)
        printf("field %.*s\n", (int)list[i].name_length, list[i].name);
}

static void write_body(void *at, const char *bytes, size_t length)
{
    trip_state *trip = at;
    printf("body %zu ", length);
    fwrite(bytes, 1, length, stdout);
    putchar('\n');
    trip->written += length;
}

static void flush(void *at)
{
    (void)at;
    puts("flush");
}

static void finish(void *at)
{
    (void)at;
    puts("finish");
}

static bool is_gone(void *at)
{
    const trip_state *trip = at;
    return trip->gone && trip->written;
}

static void log_line(void *at, int severity, const char *text, size_t length)
{
    printf("log %d %s%.*s\n", severity, at ? "" : "(no request) ", (int)length, text);
}

static hp_pairs give_variables(void *at)
{
    (void)at;
    return (hp_pairs){variables, variable_count};
}

static hp_pairs give_fields(void *at)
{
    (void)at;
    return (hp_pairs){fields, field_count};
}

static void print_pairs(const char *word, const hp_pair *list, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++)
        printf("%s %.*s=%.*s\n", word, (int)list[i].name_length, list[i].name, (int)list[i].value_length,
               list[i].value);
}

static void logged(void *at, const hp_pair *set, size_t set_count, const hp_pair *notes, size_t note_count)
{
    (void)at;
    print_pairs("variable", set, set_count);
    print_pairs("note", notes, note_count);
}

static bool shows_cache;

static void cache(void *at, const hp_cache *now)
{
    (void)at;
    if (shows_cache)
        printf("cache %s %s\n", now->memory > now->used && now->used ? "used" : "unused",
               now->scripts ? "scripts" : "empty");
}

/* There is one other URL. */
static bool look_up(void *at, const char *target, size_t length, hp_found *found)
{
    (void)at;
    if (length == 5 && memcmp(target, "/none", 5) == 0)
        return false;
    *found = (hp_found){.status = length == 6 && memcmp(target, "/other", 6) == 0 ? 200 : 404,
                        .method = "GET",
                        .uri = "/other",
                        .filename = "/srv/other",
                        .mtime = 7};
    return true;
}

static int include(void *at, const char *target, size_t length)
{
    (void)at;
    printf("include %.*s\n", (int)length, target);
    return 200;
}

static const hp_host host = {read_body,      head,        write_body, flush, finish,  is_gone, log_line,
                             give_variables, give_fields, logged,     cache, look_up, include};

static const char *const modules[] = {"core", "mod_rewrite", NULL};
static hp_setup setup = {NULL, "Hostler (Apache-compatible)", modules, &host};

static hp_request request;
static char *body = "";
static trip_state trip;

static void add(hp_pair *list, size_t *count, char *text)
{
    char *value = strchr(text, ' ');
    hp_pair *pair = &list[(*count)++];
    if (value)
        *value++ = 0;
    else
        value = "";
    *pair = (hp_pair){strdup(text), strlen(text), strdup(value), strlen(value)};
}

static void plain(void)
{
    request = (hp_request){.content_length = -1, .protocol = 1001, .status = 200, .time = 1.7e9};
    body = "";
    trip = (trip_state){0};
}

static void serve(const char *method, const char *path, bool source)
{
    static hp_settings applied;
    hp_served served;
    char *copy = strdup(path), *query = strchr(copy, '?');
    if (query)
        *query++ = 0;
    applied = (hp_settings){{settings, setting_count}, kinds, true};
    request.method = method;
    request.script = copy;
    request.query = query;
    request.uri = path;
    request.source = source;
    request.head_only = strcmp(method, "HEAD") == 0;
    request.settings = &applied;
    request.has_facts = stat(copy, &request.facts) == 0;
    trip.body = body;
    trip.left = strlen(body);
    served = hostler_php_serve(&trip, &request);
    printf("end%s%s\n", served.failed ? " failed" : "", served.terminate ? " terminate" : "");
    plain();
}

static void load(void)
{
    static bool loaded;
    const char *why;
    if (loaded)
        return;
    loaded = true;
    why = hostler_php_load(&setup);
    if (why) {
        printf("not loaded: %s\n", why);
        exit(1);
    }
    printf("loaded %s %s\n", hostler_php_version(), hostler_php_ini_file() ? hostler_php_ini_file() : "-");
}

/* As a worker's, which is told to go. */
static void note_signal(int number)
{
    static const char said[] = "told to go\n";
    (void)number;
    if (write(STDOUT_FILENO, said, sizeof said - 1) < 0)
        _exit(1);
}

static void in_worker(void)
{
    int status;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        hostler_php_begin_worker();
        signal(SIGTERM, note_signal);
        return;
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        printf("signal %d\n", WTERMSIG(status));
    else
        printf("exit %d\n", WEXITSTATUS(status));
    exit(0);
}

/* In place. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text; text++) {
        if (*text == '\\' && (text[1] == 'r' || text[1] == 'n'))
            *to++ = *++text == 'r' ? '\r' : '\n';
        else
            *to++ = *text;
    }
    *to = 0;
}

static void obey(char *line)
{
    char *rest = strchr(line, ' ');
    if (rest)
        *rest++ = 0;
    else
        rest = "";
    rest = strdup(rest);
    if (strcmp(line, "ini") == 0) {
        setup.ini = rest;
        return;
    }
    load();
    if (strcmp(line, "fork") == 0)
        in_worker();
    else if (strcmp(line, "warm") == 0) {
        hp_pair both[1];
        size_t count = 0;
        add(both, &count, rest);
        puts(hostler_php_warm(both[0].name, both[0].value, "/warm.php") ? "warmed" : "not warmed");
    } else if (strcmp(line, "value") == 0 || strcmp(line, "admin") == 0) {
        kinds[setting_count] = *line == 'a' ? HP_ADMIN : 0;
        add(settings, &setting_count, rest);
    } else if (strcmp(line, "plain") == 0)
        setting_count = 0;
    else if (strcmp(line, "cache") == 0)
        shows_cache = true;
    else if (strcmp(line, "field") == 0)
        add(fields, &field_count, rest);
    else if (strcmp(line, "var") == 0)
        add(variables, &variable_count, rest);
    else if (strcmp(line, "type") == 0)
        request.content_type = rest;
    else if (strcmp(line, "length") == 0)
        request.content_length = atol(rest);
    else if (strcmp(line, "body") == 0)
        unescape(body = rest);
    else if (strcmp(line, "chunks") == 0)
        trip.chunk = (size_t)atol(rest);
    else if (strcmp(line, "gone") == 0)
        trip.gone = true;
    else if (strcmp(line, "authorization") == 0)
        request.authorization = rest;
    else if (strcmp(line, "root") == 0)
        request.document_root = rest;
    else if (strcmp(line, "status") == 0)
        request.status = atoi(rest);
    else if (strcmp(line, "get") == 0)
        serve("GET", rest, false);
    else if (strcmp(line, "post") == 0)
        serve("POST", rest, false);
    else if (strcmp(line, "head") == 0)
        serve("HEAD", rest, false);
    else if (strcmp(line, "show") == 0)
        serve("GET", rest, true);
    else
        printf("unknown: %s\n", line);
    fflush(stdout);
}

int main(void)
{
    static char line[1 << 16];
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    plain();
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (*line)
            obey(line);
    }
    fflush(stdout);
    _exit(0);
}
