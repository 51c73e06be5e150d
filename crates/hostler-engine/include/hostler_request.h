/* A request's head, as a structure. Made by the tests of hostler-engine of the list in crates/hostler-wire/src/work/request.rs,
 * which says what each field is: not to be edited. `UPDATE_HEADER=1 cargo test -p hostler-engine header` writes it anew. */
#ifndef HOSTLER_REQUEST_HEAD_H
#define HOSTLER_REQUEST_HEAD_H

#include <stddef.h>
#include <stdint.h>

/* A byte string, not a C string; absent: ptr == NULL. */
typedef struct {
    const char *ptr;
    size_t len;
} hostler_str;

typedef struct {
    hostler_str name, value;
} hostler_field;

typedef struct {
    const hostler_field *list;
    size_t count;
} hostler_fields;

typedef struct {
    uint8_t kind;
    uint32_t mode;
    uint32_t uid;
    uint32_t gid;
    uint32_t mtime_nsec;
    uint64_t size;
    uint64_t dev;
    uint64_t ino;
    uint64_t nlink;
    uint64_t mtime;
    uint64_t ctime;
    uint64_t atime;
} hostler_file;

#define HOSTLER_REQUEST_FIELDS \
    uint32_t flags; \
    uint32_t directory; \
    uint64_t number; \
    uint64_t connection; \
    uint64_t time; \
    uint32_t server; \
    uint32_t keepalives; \
    uint16_t protocol; \
    uint16_t remote_port; \
    uint16_t local_port; \
    uint16_t server_port; \
    hostler_str method; \
    hostler_str the_request; \
    hostler_str uri; \
    hostler_str unparsed_uri; \
    hostler_str args; \
    hostler_str filename; \
    hostler_str path_info; \
    hostler_str hostname; \
    hostler_str server_name; \
    hostler_str remote_ip; \
    hostler_str local_ip; \
    hostler_str user; \
    hostler_str ap_auth_type; \
    hostler_str handler; \
    hostler_str content_type; \
    hostler_str content_encoding; \
    hostler_str content_languages; \
    hostler_str context_prefix; \
    hostler_str context_document_root; \
    hostler_str path_translated; \
    hostler_str redirect_url; \
    hostler_str redirect_query; \
    hostler_str log_id; \
    hostler_file finfo; \
    hostler_fields headers_in; \
    hostler_fields subprocess_env; \
    hostler_str own;

typedef struct {
    HOSTLER_REQUEST_FIELDS
} hostler_request;

#if UINTPTR_MAX == 0xffffffffffffffff
_Static_assert(offsetof(hostler_file, kind) == 0, "hostler_file.kind");
_Static_assert(offsetof(hostler_file, mode) == 4, "hostler_file.mode");
_Static_assert(offsetof(hostler_file, uid) == 8, "hostler_file.uid");
_Static_assert(offsetof(hostler_file, gid) == 12, "hostler_file.gid");
_Static_assert(offsetof(hostler_file, mtime_nsec) == 16, "hostler_file.mtime_nsec");
_Static_assert(offsetof(hostler_file, size) == 24, "hostler_file.size");
_Static_assert(offsetof(hostler_file, dev) == 32, "hostler_file.dev");
_Static_assert(offsetof(hostler_file, ino) == 40, "hostler_file.ino");
_Static_assert(offsetof(hostler_file, nlink) == 48, "hostler_file.nlink");
_Static_assert(offsetof(hostler_file, mtime) == 56, "hostler_file.mtime");
_Static_assert(offsetof(hostler_file, ctime) == 64, "hostler_file.ctime");
_Static_assert(offsetof(hostler_file, atime) == 72, "hostler_file.atime");
_Static_assert(offsetof(hostler_request, flags) == 0, "hostler_request.flags");
_Static_assert(offsetof(hostler_request, directory) == 4, "hostler_request.directory");
_Static_assert(offsetof(hostler_request, number) == 8, "hostler_request.number");
_Static_assert(offsetof(hostler_request, connection) == 16, "hostler_request.connection");
_Static_assert(offsetof(hostler_request, time) == 24, "hostler_request.time");
_Static_assert(offsetof(hostler_request, server) == 32, "hostler_request.server");
_Static_assert(offsetof(hostler_request, keepalives) == 36, "hostler_request.keepalives");
_Static_assert(offsetof(hostler_request, protocol) == 40, "hostler_request.protocol");
_Static_assert(offsetof(hostler_request, remote_port) == 42, "hostler_request.remote_port");
_Static_assert(offsetof(hostler_request, local_port) == 44, "hostler_request.local_port");
_Static_assert(offsetof(hostler_request, server_port) == 46, "hostler_request.server_port");
_Static_assert(offsetof(hostler_request, method) == 48, "hostler_request.method");
_Static_assert(offsetof(hostler_request, the_request) == 64, "hostler_request.the_request");
_Static_assert(offsetof(hostler_request, uri) == 80, "hostler_request.uri");
_Static_assert(offsetof(hostler_request, unparsed_uri) == 96, "hostler_request.unparsed_uri");
_Static_assert(offsetof(hostler_request, args) == 112, "hostler_request.args");
_Static_assert(offsetof(hostler_request, filename) == 128, "hostler_request.filename");
_Static_assert(offsetof(hostler_request, path_info) == 144, "hostler_request.path_info");
_Static_assert(offsetof(hostler_request, hostname) == 160, "hostler_request.hostname");
_Static_assert(offsetof(hostler_request, server_name) == 176, "hostler_request.server_name");
_Static_assert(offsetof(hostler_request, remote_ip) == 192, "hostler_request.remote_ip");
_Static_assert(offsetof(hostler_request, local_ip) == 208, "hostler_request.local_ip");
_Static_assert(offsetof(hostler_request, user) == 224, "hostler_request.user");
_Static_assert(offsetof(hostler_request, ap_auth_type) == 240, "hostler_request.ap_auth_type");
_Static_assert(offsetof(hostler_request, handler) == 256, "hostler_request.handler");
_Static_assert(offsetof(hostler_request, content_type) == 272, "hostler_request.content_type");
_Static_assert(offsetof(hostler_request, content_encoding) == 288, "hostler_request.content_encoding");
_Static_assert(offsetof(hostler_request, content_languages) == 304, "hostler_request.content_languages");
_Static_assert(offsetof(hostler_request, context_prefix) == 320, "hostler_request.context_prefix");
_Static_assert(offsetof(hostler_request, context_document_root) == 336, "hostler_request.context_document_root");
_Static_assert(offsetof(hostler_request, path_translated) == 352, "hostler_request.path_translated");
_Static_assert(offsetof(hostler_request, redirect_url) == 368, "hostler_request.redirect_url");
_Static_assert(offsetof(hostler_request, redirect_query) == 384, "hostler_request.redirect_query");
_Static_assert(offsetof(hostler_request, log_id) == 400, "hostler_request.log_id");
_Static_assert(offsetof(hostler_request, finfo) == 416, "hostler_request.finfo");
_Static_assert(offsetof(hostler_request, headers_in) == 496, "hostler_request.headers_in");
_Static_assert(offsetof(hostler_request, subprocess_env) == 512, "hostler_request.subprocess_env");
_Static_assert(offsetof(hostler_request, own) == 528, "hostler_request.own");
_Static_assert(sizeof(hostler_file) == 80, "hostler_file");
_Static_assert(sizeof(hostler_request) == 544, "hostler_request");
#endif

#endif
