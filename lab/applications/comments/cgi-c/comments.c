/* The comments as a CGI program in C: SQLite's own library, or PostgreSQL's with -DPOSTGRESQL. A process and a
 * connection for each request, and nothing else to load. Prints the same bytes as the Perl programs.
 *
 * With -DFASTCGI it is a FastCGI program: a process that takes one request after the other, and keeps its connection. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 65536

/* What is known of the request, its body, and where the answer goes. */
#ifdef FASTCGI
#include <fcgiapp.h>
static FCGX_Request request;
static const char *parameter(const char *name) { return FCGX_GetParam(name, request.envp); }
static void put(const char *text, size_t length) { FCGX_PutStr(text, (int)length, request.out); }
static size_t take(char *to, size_t length) { return (size_t)FCGX_GetStr(to, (int)length, request.in); }
#else
static const char *parameter(const char *name) { return getenv(name); }
static void put(const char *text, size_t length) { fwrite(text, 1, length, stdout); }
static size_t take(char *to, size_t length) { return fread(to, 1, length, stdin); }
#endif

static const char HEAD[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head><meta charset=\"utf-8\"><title>Comments</title></head>\n"
    "<body>\n"
    "<h1>Comments</h1>\n"
    "<table>\n"
    "<tr><th>Name</th><th>Email</th><th>Comments</th></tr>\n";

static const char FOOT[] =
    "</table>\n"
    "<form method=\"post\">\n"
    "<p><label>Name <input name=\"name\" required></label></p>\n"
    "<p><label>Email <input name=\"email\" type=\"email\"></label></p>\n"
    "<p><label>Comments <textarea name=\"comments\" required></textarea></label></p>\n"
    "<p><button>Send</button></p>\n"
    "</form>\n"
    "</body>\n"
    "</html>\n";

static const char SELECT[] = "SELECT * FROM comments LIMIT $1";
static const char INSERT[] = "INSERT INTO comments (name, email, comments) VALUES ($1, $2, $3)";

/* Ends the process: the server says 500 and logs the reason. */
static void fail(const char *what, const char *why)
{
    fprintf(stderr, "comments: %s: %s\n", what, why);
    exit(1);
}

static void escaped(FILE *page, const char *text)
{
    for (;;) {
        size_t plain = strcspn(text, "&<>\"'");
        fwrite(text, 1, plain, page);
        switch (text[plain]) {
        case '&': fputs("&amp;", page); break;
        case '<': fputs("&lt;", page); break;
        case '>': fputs("&gt;", page); break;
        case '"': fputs("&quot;", page); break;
        case '\'': fputs("&#39;", page); break;
        default: return;
        }
        text += plain + 1;
    }
}

static void row(FILE *page, const char *name, const char *email, const char *comments)
{
    fputs("<tr><td>", page);
    escaped(page, name ? name : "");
    fputs("</td><td>", page);
    escaped(page, email ? email : "");
    fputs("</td><td>", page);
    escaped(page, comments ? comments : "");
    fputs("</td></tr>\n", page);
}

/* What comes after "dbi:Driver:" in COMMENTS_DSN. */
static const char *database(void)
{
    const char *dsn = getenv("COMMENTS_DSN");
    const char *driver = dsn ? strchr(dsn, ':') : NULL;
    const char *rest = driver ? strchr(driver + 1, ':') : NULL;
    if (!rest)
        fail("COMMENTS_DSN", "does not name a database");
    return rest + 1;
}

#ifdef POSTGRESQL

#include <libpq-fe.h>

static PGconn *open_database(void)
{
#ifdef FASTCGI
    static PGconn *kept;
    if (kept && PQstatus(kept) == CONNECTION_OK)
        return kept;
    PQfinish(kept);
#endif
    /* libpq wants spaces where DBI writes semicolons. */
    char *address = strdup(database());
    if (!address)
        fail("memory", "there is none");
    for (char *at = address; (at = strchr(at, ';')); )
        *at = ' ';
    PGconn *connection = PQconnectdb(address);
    if (PQstatus(connection) != CONNECTION_OK)
        fail("cannot connect", PQerrorMessage(connection));
    free(address);
#ifdef FASTCGI
    kept = connection;
#endif
    return connection;
}

static void close_database(PGconn *connection)
{
#ifndef FASTCGI
    PQfinish(connection);
#else
    (void)connection;
#endif
}

static void print_rows(FILE *page, long rows)
{
    PGconn *connection = open_database();
    char limit[32];
    snprintf(limit, sizeof limit, "%ld", rows);
    const char *values[] = {limit};
    PGresult *list = PQexecParams(connection, SELECT, 1, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(list) != PGRES_TUPLES_OK)
        fail("cannot select", PQerrorMessage(connection));
    for (int n = 0; n < PQntuples(list); n++)
        row(page, PQgetvalue(list, n, 0), PQgetvalue(list, n, 1), PQgetvalue(list, n, 2));
    PQclear(list);
    close_database(connection);
}

static void insert_row(const char *values[3])
{
    PGconn *connection = open_database();
    PGresult *done = PQexecParams(connection, INSERT, 3, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(done) != PGRES_COMMAND_OK)
        fail("cannot insert", PQerrorMessage(connection));
    PQclear(done);
    close_database(connection);
}

#else

#include <sqlite3.h>

static sqlite3 *open_database(void)
{
    const char *name = database();
#ifdef FASTCGI
    static sqlite3 *connection;
    if (connection)
        return connection;
#else
    sqlite3 *connection;
#endif
    if (strncmp(name, "dbname=", 7) == 0)
        name += 7;
    if (sqlite3_open_v2(name, &connection, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        fail("cannot open", sqlite3_errmsg(connection));
    sqlite3_busy_timeout(connection, 5000);
    return connection;
}

static void close_database(sqlite3 *connection)
{
#ifndef FASTCGI
    sqlite3_close(connection);
#else
    (void)connection;
#endif
}

static sqlite3_stmt *prepare(sqlite3 *connection, const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(connection, sql, -1, &statement, NULL) != SQLITE_OK)
        fail("cannot prepare", sqlite3_errmsg(connection));
    return statement;
}

static void print_rows(FILE *page, long rows)
{
    sqlite3 *connection = open_database();
    sqlite3_stmt *list = prepare(connection, SELECT);
    int step;
    sqlite3_bind_int64(list, 1, rows);
    while ((step = sqlite3_step(list)) == SQLITE_ROW)
        row(page, (const char *)sqlite3_column_text(list, 0), (const char *)sqlite3_column_text(list, 1),
            (const char *)sqlite3_column_text(list, 2));
    if (step != SQLITE_DONE)
        fail("cannot select", sqlite3_errmsg(connection));
    sqlite3_finalize(list);
    close_database(connection);
}

static void insert_row(const char *values[3])
{
    sqlite3 *connection = open_database();
    sqlite3_stmt *insert = prepare(connection, INSERT);
    for (int n = 0; n < 3; n++)
        sqlite3_bind_text(insert, n + 1, values[n], -1, SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE)
        fail("cannot insert", sqlite3_errmsg(connection));
    sqlite3_finalize(insert);
    close_database(connection);
}

#endif

/* "rows=99" of the query; without it, all. */
static long asked_rows(void)
{
    const char *at = parameter("QUERY_STRING");
    while (at && *at) {
        if (strncmp(at, "rows=", 5) == 0) {
            size_t digits = strspn(at + 5, "0123456789");
            if (digits >= 1 && digits <= 9 && (at[5 + digits] == '&' || !at[5 + digits]))
                return atol(at + 5);
        }
        at = strchr(at, '&');
        if (at)
            at++;
    }
    return 999999999;
}

static void print_page(void)
{
    char *text;
    size_t length;
    FILE *page = open_memstream(&text, &length);
    if (!page)
        fail("memory", "there is none");
    fputs(HEAD, page);
    print_rows(page, asked_rows());
    fputs(FOOT, page);
    if (fclose(page) != 0)
        fail("memory", "there is none");
    char head[100];
    put(head, (size_t)sprintf(head, "Content-Type: text/html; charset=utf-8\nContent-Length: %zu\n\n", length));
    put(text, length);
    free(text);
}

static void refuse(const char *status)
{
    char text[200];
    put(text, (size_t)snprintf(text, sizeof text, "Status: %s\nContent-Type: text/plain\n\n%s\n", status, status));
}

static int hex(char digit)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF";
    const char *at = digit ? strchr(digits, digit) : NULL;
    return at ? (int)((at - digits) % 16) : -1;
}

/* Undoes a form's percent signs in place. False if there is a NUL in it, which no database takes. */
static bool decode(char *text)
{
    char *to = text;
    for (char *at = text; *at; at++) {
        char byte = *at == '+' ? ' ' : *at;
        if (*at == '%' && hex(at[1]) >= 0 && hex(at[2]) >= 0) {
            byte = (char)(hex(at[1]) * 16 + hex(at[2]));
            at += 2;
        }
        if (!byte)
            return false;
        *to++ = byte;
    }
    *to = '\0';
    return true;
}

/* Whether a text is UTF-8: RFC 3629, surrogates and overlong forms excluded. */
static bool is_utf8(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; ) {
        int more = *at < 0x80 ? 0 : *at >= 0xC2 && *at < 0xE0 ? 1 : *at >= 0xE0 && *at < 0xF0 ? 2
                 : *at >= 0xF0 && *at < 0xF5 ? 3 : -1;
        if (more < 0 || (*at == 0xE0 && at[1] < 0xA0) || (*at == 0xED && at[1] > 0x9F)
            || (*at == 0xF0 && at[1] < 0x90) || (*at == 0xF4 && at[1] > 0x8F))
            return false;
        for (at++; more > 0; more--, at++)
            if ((*at & 0xC0) != 0x80)
                return false;
    }
    return true;
}

/* Inserts what the body says; what it is refused with, or NULL. */
static const char *inserted(char *body)
{
    static const char *names[] = {"name", "email", "comments"};
    const char *values[] = {"", "", ""};
    for (char *field; (field = strsep(&body, "&")); ) {
        char *value = strchr(field, '=');
        if (value)
            *value++ = '\0';
        for (int n = 0; value && n < 3; n++)
            if (strcmp(field, names[n]) == 0) {
                if (!decode(value) || !is_utf8(value))
                    return "400 Bad Request";
                values[n] = value;
            }
    }
    if (!*values[0] || !*values[2])
        return "400 Bad Request";
    insert_row(values);
    return NULL;
}

static void insert_form(void)
{
    const char *announced = parameter("CONTENT_LENGTH");
    long length = announced ? atol(announced) : 0;
    if (length > LONGEST) {
        refuse("413 Content Too Large");
        return;
    }
    char *body = calloc(1, (size_t)(length > 0 ? length : 0) + 1);
    if (!body)
        fail("memory", "there is none");
    length = (long)take(body, (size_t)(length > 0 ? length : 0));
    const char *refused = memchr(body, '\0', (size_t)length) ? "400 Bad Request" : inserted(body);
    free(body);
    if (refused) {
        refuse(refused);
        return;
    }
    const char *script = parameter("SCRIPT_NAME");
    if (!script)
        script = "/";
    static const char before[] = "Status: 303 See Other\nLocation: ", after[] = "\nContent-Type: text/plain\n\nThank you\n";
    put(before, sizeof before - 1);
    put(script, strlen(script));
    put(after, sizeof after - 1);
}

static void answer(void)
{
    const char *method = parameter("REQUEST_METHOD");
    if (method && strcmp(method, "POST") == 0)
        insert_form();
    else
        print_page();
}

int main(void)
{
#ifdef FASTCGI
    FCGX_Init();
    FCGX_InitRequest(&request, 0, 0);
    while (FCGX_Accept_r(&request) == 0)
        answer();
#else
    answer();
#endif
    return 0;
}
