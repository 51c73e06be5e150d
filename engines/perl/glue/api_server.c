/* Apache2::ServerRec and Apache2::Connection: the fields of a virtual host and of a connection. */
#include "api.h"

static MGVTBL server_magic;

const hp_server *hp_server_by_id(uint32_t id)
{
    size_t i;
    for (i = 0; i < hp_settings.server_count; i++)
        if (hp_settings.servers[i].id == id)
            return &hp_settings.servers[i];
    return hp_settings.server_count ? &hp_settings.servers[0] : NULL;
}

const hp_server *hp_server_of_request(const hp_request *r)
{
    return hp_server_by_id(r->in->server);
}

SV *hp_server_sv(pTHX_ const hp_server *server)
{
    if (!server)
        return newSV(0);
    return hp_object(aTHX_ hp_settings.generation == 1 ? "Apache::Server" : "Apache2::ServerRec", &server_magic,
                     (void *)server);
}

const hp_server *hp_server_of(pTHX_ SV *object)
{
    const hp_server *server = hp_object_of(aTHX_ object, &server_magic);
    if (!server)
        croak("argument is not a blessed reference (expecting an Apache2::ServerRec derived object)");
    return server;
}

enum { HOSTNAME, ADMIN, ERROR_FNAME, DOCUMENT_ROOT, PATH };

/* A process may set these for itself, as with mod_perl; what the front does by them it does not change. The old text is
 * not freed: there may be who has it. */
static void put_text(pTHX_ const hp_server *s, int which, SV *value)
{
    hp_server *own = (hp_server *)s;
    STRLEN length;
    const char *text = SvPV(value, length);
    *(which == HOSTNAME ? &own->name : &own->admin) = (hp_str){savepvn(text, length), length};
}

XS(hp_server_text)
{
    dXSARGS;
    const hp_server *s;
    if (items < 1)
        croak("too few arguments");
    s = hp_server_of(aTHX_ ST(0));
    if (items > 1 && (XSANY.any_i32 == HOSTNAME || XSANY.any_i32 == ADMIN)) {
        SV *old = XSANY.any_i32 == HOSTNAME ? hp_sv(aTHX_ s->name) : hp_sv(aTHX_ s->admin);
        put_text(aTHX_ s, XSANY.any_i32, ST(1));
        HP_ANSWER(old);
    }
    switch (XSANY.any_i32) {
    case HOSTNAME: HP_ANSWER(hp_sv(aTHX_ s->name));
    case ADMIN: HP_ANSWER(hp_sv(aTHX_ s->admin));
    case ERROR_FNAME: HP_ANSWER(hp_sv(aTHX_ s->error_log));
    case DOCUMENT_ROOT: HP_ANSWER(hp_sv(aTHX_ s->document_root));
    default: XSRETURN_UNDEF;
    }
}

enum {
    PORT,
    IS_VIRTUAL,
    LOGLEVEL,
    TIMEOUT,
    KEEP_ALIVE,
    KEEP_ALIVE_MAX,
    KEEP_ALIVE_TIMEOUT,
    LIMIT_LINE,
    LIMIT_FIELD_SIZE,
    LIMIT_FIELDS,
    ID
};

static void put_number(hp_server *s, int which, IV value)
{
    switch (which) {
    case PORT: s->port = (uint16_t)value; break;
    case LOGLEVEL: s->log_level = value < 0 ? 0 : value > 7 ? 7 : value; break;
    case TIMEOUT: s->timeout = value; break; /* what is kept here is not told to the front, which waits by its own */
    case KEEP_ALIVE: s->keep_alive = (int)value; break;
    case KEEP_ALIVE_MAX: s->keep_alive_max = (int)value; break;
    case KEEP_ALIVE_TIMEOUT: s->keep_alive_timeout = value; break;
    default:; /* the front's alone */
    }
}

XS(hp_server_number)
{
    dXSARGS;
    const hp_server *s;
    IV answer;
    if (items < 1)
        croak("too few arguments");
    s = hp_server_of(aTHX_ ST(0));
    switch (XSANY.any_i32) {
    case PORT: answer = s->port; break;
    case IS_VIRTUAL: answer = s->is_virtual; break;
    case LOGLEVEL: answer = s->log_level; break;
    case TIMEOUT: answer = (IV)s->timeout; break; /* microseconds, as APR counts */
    case KEEP_ALIVE: answer = s->keep_alive; break;
    case KEEP_ALIVE_MAX: answer = s->keep_alive_max; break;
    case KEEP_ALIVE_TIMEOUT: answer = (IV)s->keep_alive_timeout; break;
    case LIMIT_LINE:
    case LIMIT_FIELD_SIZE: answer = 8190; break;
    case LIMIT_FIELDS: answer = 100; break;
    default: answer = s->id;
    }
    if (items > 1)
        put_number((hp_server *)s, XSANY.any_i32, SvIV(ST(1)));
    HP_ANSWER(newSViv(answer));
}

XS(hp_server_names)
{
    dXSARGS;
    const hp_server *s;
    AV *names;
    size_t i;
    if (items < 1)
        croak("too few arguments");
    s = hp_server_of(aTHX_ ST(0));
    names = newAV();
    for (i = 0; i < s->alias_count; i++)
        av_push(names, hp_sv(aTHX_ s->aliases[i]));
    HP_ANSWER(newRV_noinc((SV *)names));
}

XS(hp_server_next)
{
    dXSARGS;
    const hp_server *s;
    if (items < 1)
        croak("too few arguments");
    s = hp_server_of(aTHX_ ST(0)) + 1;
    HP_ANSWER(hp_server_sv(aTHX_ s < hp_settings.servers + hp_settings.server_count ? s : NULL));
}

/* Apache2::ServerUtil->server: the main server; Apache2->server of a request is $r->server. */
XS(hp_main_server)
{
    dXSARGS;
    size_t i;
    PERL_UNUSED_VAR(items);
    for (i = 0; i < hp_settings.server_count; i++)
        if (!hp_settings.servers[i].is_virtual)
            HP_ANSWER(hp_server_sv(aTHX_ & hp_settings.servers[i]));
    HP_ANSWER(hp_server_sv(aTHX_ hp_server_by_id(0)));
}

/* The server's own PerlSetVar table, one for as long as the process lives: what programs set stays. */
static hp_table *vars_of(pTHX_ const hp_server *s)
{
    static hp_table **tables;
    size_t index = s - hp_settings.servers;
    if (!tables)
        Newxz(tables, hp_settings.server_count, hp_table *);
    if (!tables[index])
        tables[index] = hp_table_from(aTHX_ s->vars);
    return tables[index];
}

XS(hp_server_vars)
{
    dXSARGS;
    hp_table *table;
    if (items < 1)
        croak("too few arguments");
    table = vars_of(aTHX_ hp_server_of(aTHX_ ST(0)));
    HP_ANSWER(items > 1 ? hp_table_access(aTHX_ table, ST(1), items > 2 ? ST(2) : NULL)
                        : hp_table_sv(aTHX_ table, NULL));
}

/* ---- connection ---- */

enum { CLIENT_IP, LOCAL_IP, USERAGENT_IP };

/* Programs behind a proxy of their own set what they know better: for Perl in this request. */
XS(hp_connection_text)
{
    HP_METHOD(1);
    SV **slots[] = {&r->client_ip, &r->local_ip, &r->useragent_ip}, **slot = slots[XSANY.any_i32], *answer;
    answer = hp_sv(aTHX_ hp_request_text(aTHX_ * slot, XSANY.any_i32 == LOCAL_IP ? r->in->local_ip : r->in->remote_ip));
    if (items > 1) {
        SvREFCNT_dec(*slot);
        *slot = newSVsv(ST(1));
    }
    HP_ANSWER(answer);
}

enum { ABORTED, KEEPALIVE, KEEPALIVES, CONNECTION_ID, DOUBLE_REVERSE, REMOTE_PORT, LOCAL_PORT, IS_TLS };

/* conn_keepalive_e: CONN_UNKNOWN 0 (not decided yet), CONN_CLOSE 1, CONN_KEEPALIVE 2. It is decided when the head is sent. A
 * program's word for closing counts; what it says else is remembered, and the front decides. */
static IV keepalive(const hp_request *r)
{
    if (r->keepalive_set)
        return r->keepalive;
    if (r->head_state != HP_HEAD_UNSENT)
        return hp_connection_is_last(r->in) ? 1 : 2;
    return r->in->flags & HP_KEEP_ALIVE ? 0 : 1;
}

static void put_keepalive(pTHX_ hp_request *r, UV value)
{
    if (value == 1)
        hp_table_set(aTHX_ HP_TABLE(r, notes), "nokeepalive", 11, "1", 1);
    else if (r->keepalive_set && r->keepalive == 1)
        hp_table_unset(aTHX_ HP_TABLE(r, notes), "nokeepalive", 11);
    r->keepalive = (uint32_t)value;
    r->keepalive_set = 1;
}

XS(hp_connection_number)
{
    HP_METHOD(1);
    IV answer;
    switch (XSANY.any_i32) {
    case ABORTED: answer = hp_current && hp_aborted(); break;
    case KEEPALIVE:
        answer = keepalive(r);
        if (items > 1)
            put_keepalive(aTHX_ r, (UV)SvIV(ST(1)));
        break;
    case CONNECTION_ID: answer = (IV)r->in->connection; break;
    case KEEPALIVES: answer = (IV)r->in->keepalives; break;
    case REMOTE_PORT: answer = r->in->remote_port; break;
    case LOCAL_PORT: answer = r->in->local_port; break;
    case IS_TLS: answer = (r->in->flags & HP_TLS) != 0; break;
    default: answer = 0;
    }
    HP_ANSWER(newSViv(answer));
}

XS(hp_connection_notes)
{
    HP_METHOD(1);
    hp_table **notes = hp_connection_notes_of(aTHX_ r);
    if (!*notes)
        *notes = hp_table_new(aTHX_ 4);
    if (items > 1)
        HP_ANSWER(hp_table_access(aTHX_ * notes, ST(1), items > 2 ? ST(2) : NULL));
    HP_ANSWER(hp_table_sv(aTHX_ * notes, NULL));
}

XS(hp_connection_server)
{
    HP_METHOD(1);
    HP_ANSWER(hp_server_sv(aTHX_ hp_server_of_request(r)));
}

#define S "Apache2::ServerRec::"
#define C "Apache2::Connection::"

void hp_boot_server(pTHX)
{
    static const hp_xsub list[] = {
        {S "server_hostname", hp_server_text, HOSTNAME},
        {S "server_admin", hp_server_text, ADMIN},
        {S "error_fname", hp_server_text, ERROR_FNAME},
        {S "document_root", hp_server_text, DOCUMENT_ROOT},
        {S "path", hp_server_text, PATH},
        {S "port", hp_server_number, PORT},
        {S "is_virtual", hp_server_number, IS_VIRTUAL},
        {S "loglevel", hp_server_number, LOGLEVEL},
        {S "timeout", hp_server_number, TIMEOUT},
        {S "keep_alive", hp_server_number, KEEP_ALIVE},
        {S "keep_alive_max", hp_server_number, KEEP_ALIVE_MAX},
        {S "keep_alive_timeout", hp_server_number, KEEP_ALIVE_TIMEOUT},
        {S "limit_req_line", hp_server_number, LIMIT_LINE},
        {S "limit_req_fieldsize", hp_server_number, LIMIT_FIELD_SIZE},
        {S "limit_req_fields", hp_server_number, LIMIT_FIELDS},
        {"Hostler::Server::id", hp_server_number, ID},
        {S "names", hp_server_names, 0},
        {S "next", hp_server_next, 0},
        {S "dir_config", hp_server_vars, 0},
        {"Apache2::ServerUtil::server", hp_main_server, 0},
        {C "remote_ip", hp_connection_text, CLIENT_IP},
        {C "client_ip", hp_connection_text, CLIENT_IP},
        {"Apache2::RequestRec::useragent_ip", hp_connection_text, USERAGENT_IP},
        {C "local_ip", hp_connection_text, LOCAL_IP},
        {C "aborted", hp_connection_number, ABORTED},
        {C "keepalive", hp_connection_number, KEEPALIVE},
        {C "keepalives", hp_connection_number, KEEPALIVES},
        {C "id", hp_connection_number, CONNECTION_ID},
        {C "double_reverse", hp_connection_number, DOUBLE_REVERSE},
        {C "remote_port", hp_connection_number, REMOTE_PORT},
        {C "local_port", hp_connection_number, LOCAL_PORT},
        {"Hostler::Connection::is_tls", hp_connection_number, IS_TLS},
        {C "notes", hp_connection_notes, 0},
        {C "base_server", hp_connection_server, 0},
    };
    HP_REGISTER(list);
}
