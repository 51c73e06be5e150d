/* Copies: of the setup, which lives as long as the process, and of the answer to a question about a URL, which
 * lives as long as the sub-request made from it. */
#include "api.h"

static char *room_for(pTHX_ hp_str text)
{
    char *copy;
    Newx(copy, text.len + 1, char);
    Copy(text.ptr, copy, text.len, char);
    copy[text.len] = 0;
    return copy;
}

static hp_str kept(pTHX_ hp_str text)
{
    hp_str copy = {NULL, 0};
    if (text.ptr) {
        copy.ptr = room_for(aTHX_ text);
        copy.len = text.len;
    }
    return copy;
}

static hp_fields kept_fields(pTHX_ hp_fields fields)
{
    hp_fields copy = {NULL, fields.count};
    hp_field *list;
    size_t i;
    Newxz(list, fields.count ? fields.count : 1, hp_field);
    for (i = 0; i < fields.count; i++) {
        list[i].name = kept(aTHX_ fields.list[i].name);
        list[i].value = kept(aTHX_ fields.list[i].value);
    }
    copy.list = list;
    return copy;
}

static const hp_str *kept_list(pTHX_ const hp_str *list, size_t count)
{
    hp_str *copy;
    size_t i;
    Newxz(copy, count ? count : 1, hp_str);
    for (i = 0; i < count; i++)
        copy[i] = kept(aTHX_ list[i]);
    return copy;
}

static const hp_server *kept_servers(pTHX_ const hp_server *servers, size_t count)
{
    hp_server *copy;
    size_t i;
    Newxz(copy, count ? count : 1, hp_server);
    for (i = 0; i < count; i++) {
        copy[i] = servers[i];
        copy[i].name = kept(aTHX_ servers[i].name);
        copy[i].admin = kept(aTHX_ servers[i].admin);
        copy[i].document_root = kept(aTHX_ servers[i].document_root);
        copy[i].software = kept(aTHX_ servers[i].software);
        copy[i].error_log = kept(aTHX_ servers[i].error_log);
        copy[i].vars = kept_fields(aTHX_ servers[i].vars);
        copy[i].aliases = kept_list(aTHX_ servers[i].aliases, servers[i].alias_count);
    }
    return copy;
}

void hp_keep_setup(const hp_setup *setup)
{
    dTHX;
    hp_settings = *setup;
    hp_settings.switches = kept_list(aTHX_ setup->switches, setup->switch_count);
    hp_settings.env = kept_fields(aTHX_ setup->env);
    hp_settings.server_root = kept(aTHX_ setup->server_root);
    hp_settings.tree = kept(aTHX_ setup->tree);
    hp_settings.servers = kept_servers(aTHX_ setup->servers, setup->server_count);
}

/* ---- one block for a request's strings ---- */

static size_t size_of_fields(const hp_fields *fields)
{
    size_t i, size = fields->count * sizeof(hp_field);
    for (i = 0; i < fields->count; i++)
        size += fields->list[i].name.len + fields->list[i].value.len + 2;
    return size;
}

static void move_text(hp_str *text, char **free)
{
    if (!text->ptr)
        return;
    memcpy(*free, text->ptr, text->len);
    (*free)[text->len] = 0;
    text->ptr = *free;
    *free += text->len + 1;
}

/* `list` is where the table's entries go; strings go to `free`. */
static void move_fields(hp_fields *fields, hp_field **list, char **free)
{
    size_t i;
    hp_field *mine = *list;
    for (i = 0; i < fields->count; i++) {
        mine[i] = fields->list[i];
        move_text(&mine[i].name, free);
        move_text(&mine[i].value, free);
    }
    fields->list = mine;
    *list += fields->count;
}

#define TEXTS(in)                                                                                                      \
    &(in)->method, &(in)->the_request, &(in)->uri, &(in)->unparsed_uri, &(in)->args, &(in)->filename,                  \
        &(in)->path_info, &(in)->hostname, &(in)->server_name, &(in)->remote_ip, &(in)->local_ip, &(in)->user,         \
        &(in)->ap_auth_type, &(in)->handler, &(in)->content_type, &(in)->content_encoding, &(in)->content_languages,   \
        &(in)->context_prefix, &(in)->context_document_root, &(in)->path_translated, &(in)->redirect_url,              \
        &(in)->redirect_query, &(in)->log_id, &(in)->status_line, &(in)->provider

#define TABLES(in) &(in)->headers_in, &(in)->headers_out, &(in)->err_headers_out, &(in)->subprocess_env, &(in)->notes

hp_request *hp_request_copy(pTHX_ const hp_request_in *original, hp_directory *directory)
{
    hp_request_in in = *original;
    hp_str *texts[] = {TEXTS(&in)};
    hp_fields *tables[] = {TABLES(&in)};
    size_t size = sizeof in, entries = 0, i;
    char *arena, *strings;
    hp_field *list;
    hp_request *r;
    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        size += texts[i]->len + 1;
    for (i = 0; i < sizeof tables / sizeof *tables; i++) {
        size += size_of_fields(tables[i]);
        entries += tables[i]->count;
    }
    Newx(arena, size, char);
    list = (hp_field *)(arena + sizeof in);
    strings = (char *)(list + entries);
    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        move_text(texts[i], &strings);
    for (i = 0; i < sizeof tables / sizeof *tables; i++)
        move_fields(tables[i], &list, &strings);
    memcpy(arena, &in, sizeof in);
    r = hp_request_new(aTHX_(const hp_request_in *) arena, directory);
    r->arena = arena;
    return r;
}
