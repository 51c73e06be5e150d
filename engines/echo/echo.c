/* The smallest engine: answers with what it was asked. What its setup says makes it refuse: "no load", "no workers". A
 * directory's own part is what it greets with. */
#define _POSIX_C_SOURCE 200809L
#include <hostler_engine.h>

#include <stdlib.h>
#include <string.h>

static int refuses_workers;

static int equals(hostler_str text, const char *other)
{
    return text.len == strlen(other) && memcmp(text.ptr, other, text.len) == 0;
}

static int load(const hostler_setup *setup, char **why)
{
    if (equals(setup->own, "no load")) {
        *why = strdup("it was told not to load");
        return -1;
    }
    refuses_workers = equals(setup->own, "no workers");
    return 0;
}

static const char *version(void)
{
    return "echo 1";
}

static int begin_worker(char **why)
{
    if (!refuses_workers)
        return 0;
    *why = strdup("it was told not to begin");
    return -1;
}

static void *define(const hostler_directory *directory)
{
    /* Kept as long as the worker lives. */
    return directory->own.len ? strndup(directory->own.ptr, directory->own.len) : NULL;
}

static void print(hostler_str text)
{
    if (text.ptr)
        hostler_write(text.ptr, text.len);
}

static void print_text(const char *text)
{
    hostler_write(text, strlen(text));
}

static void print_table(hostler_fields table)
{
    size_t i;
    for (i = 0; i < table.count; i++) {
        print(table.list[i].name);
        print_text(": ");
        print(table.list[i].value);
        print_text("\n");
    }
}

/* 0, or -1: the body broke off. */
static int print_body(void)
{
    char piece[4096];
    ptrdiff_t count;
    while ((count = hostler_read_body(piece, sizeof piece)) != 0) {
        if (count == -1)
            return -1;
        if (count > 0)
            hostler_write(piece, (size_t)count);
    }
    return 0;
}

static void serve(const hostler_request *request, void *directory)
{
    static const char broken[] = "the request's body broke off";
    hostler_head head = {.status = 200, .content_type = {"text/plain", 10}};
    if (equals(request->uri, "/missing")) {
        hostler_finish(HOSTLER_STATUS, 404, NULL, 0);
        return;
    }
    hostler_send_head(&head);
    if (directory)
        print_text(directory);
    print(request->method);
    print_text(" ");
    print(request->uri);
    if (request->args.ptr) {
        print_text("?");
        print(request->args);
    }
    print_text("\n");
    print_table(request->headers_in);
    if (print_body() < 0) {
        hostler_finish(HOSTLER_BROKEN, 0, broken, sizeof broken - 1);
        return;
    }
    if (equals(request->uri, "/last"))
        hostler_exit_after_request();
    hostler_finish(HOSTLER_DONE, 0, NULL, 0);
}

const hostler_engine hostler_echo = {
    .name = "hostler-echo",
    .load = load,
    .version = version,
    .begin_worker = begin_worker,
    .define = define,
    .serve = serve,
};
