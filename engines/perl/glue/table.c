/* Tables with several values for a name, compared without case (apr_table_t's rules), and what Perl sees of them.
 *
 * Strings of a table that came from the front are borrowed until the request ends or the table is shared with Perl
 * for longer than that; what programs set is owned. A table counts its users: the request, and each Perl object. */
#include "api.h"

#include <strings.h>

typedef struct {
    char *name, *value; /* `value` follows `name` in one allocation when owned */
    size_t name_length, value_length;
    int owned;
} entry;

struct hp_table {
    entry *entries;
    size_t count, room, users;
    size_t cursor; /* of FIRSTKEY/NEXTKEY: the entry that each() stands at, plus one; 0: none */
    int changed, is_followed;
    hp_field *fields; /* hp_table_fields()'s answer */
};

hp_table *hp_table_new(pTHX_ size_t expected)
{
    hp_table *table;
    Newxz(table, 1, hp_table);
    table->room = expected ? expected : 8;
    Newx(table->entries, table->room, entry);
    table->users = 1;
    return table;
}

hp_table *hp_table_from(pTHX_ hp_fields fields)
{
    hp_table *table = hp_table_new(aTHX_ fields.count + 4);
    size_t i;
    for (i = 0; i < fields.count; i++) {
        entry *e = &table->entries[table->count++];
        e->name = (char *)fields.list[i].name.ptr;
        e->name_length = fields.list[i].name.len;
        e->value = fields.list[i].value.ptr ? (char *)fields.list[i].value.ptr : (char *)"";
        e->value_length = fields.list[i].value.len;
        e->owned = 0;
    }
    return table;
}

static void entry_fill(pTHX_ entry *e, const char *name, size_t length, const char *value, size_t value_length)
{
    Newx(e->name, length + value_length + 2, char);
    Copy(name, e->name, length, char);
    e->name[length] = 0;
    e->value = e->name + length + 1;
    Copy(value, e->value, value_length, char);
    e->value[value_length] = 0;
    e->name_length = length;
    e->value_length = value_length;
    e->owned = 1;
}

static void entry_clear(pTHX_ entry *e)
{
    if (e->owned)
        Safefree(e->name);
}

/* Copies what is borrowed: the lender is about to go. */
static void own(pTHX_ hp_table *table)
{
    size_t i;
    for (i = 0; i < table->count; i++) {
        entry *e = &table->entries[i];
        if (!e->owned)
            entry_fill(aTHX_ e, e->name, e->name_length, e->value, e->value_length);
    }
}

void hp_table_own(pTHX_ hp_table *table)
{
    if (table && table->users > 1)
        own(aTHX_ table);
}

static void drop(pTHX_ hp_table *table)
{
    if (--table->users)
        return;
    hp_table_clear(aTHX_ table);
    Safefree(table->entries);
    Safefree(table->fields);
    Safefree(table);
}

void hp_table_free(pTHX_ hp_table *table)
{
    if (!table)
        return;
    if (table->users > 1)
        own(aTHX_ table);
    drop(aTHX_ table);
}

static int same_name(const entry *e, const char *name, size_t length)
{
    return e->name_length == length && strncasecmp(e->name, name, length) == 0;
}

/* Index of the first entry of this name at or after `from`; `count` if there is none. */
static size_t find(const hp_table *table, const char *name, size_t length, size_t from)
{
    while (from < table->count && !same_name(&table->entries[from], name, length))
        from++;
    return from;
}

const char *hp_table_get(const hp_table *table, const char *name, size_t length, size_t *value_length)
{
    size_t i = find(table, name, length, 0);
    if (i == table->count)
        return NULL;
    if (value_length)
        *value_length = table->entries[i].value_length;
    return table->entries[i].value;
}

void hp_table_add(pTHX_ hp_table *table, const char *name, size_t length, const char *value, size_t value_length)
{
    if (table->count == table->room) {
        table->room *= 2;
        Renew(table->entries, table->room, entry);
    }
    entry_fill(aTHX_ & table->entries[table->count++], name, length, value, value_length);
    table->changed = 1;
}

static void remove_at(pTHX_ hp_table *table, size_t i)
{
    entry_clear(aTHX_ & table->entries[i]);
    table->count--;
    Move(&table->entries[i + 1], &table->entries[i], table->count - i, entry);
    table->changed = 1;
}

static void remove_from(pTHX_ hp_table *table, const char *name, size_t length, size_t from)
{
    size_t i;
    while ((i = find(table, name, length, from)) < table->count)
        remove_at(aTHX_ table, i);
}

void hp_table_set(pTHX_ hp_table *table, const char *name, size_t length, const char *value, size_t value_length)
{
    size_t i = find(table, name, length, 0);
    entry fresh;
    if (i == table->count) {
        hp_table_add(aTHX_ table, name, length, value, value_length);
        return;
    }
    /* The name stays as it was first written, as in apr_table_set(). The value may be the entry's own. */
    entry_fill(aTHX_ & fresh, table->entries[i].name, length, value, value_length);
    entry_clear(aTHX_ & table->entries[i]);
    table->entries[i] = fresh;
    table->changed = 1;
    remove_from(aTHX_ table, fresh.name, length, i + 1);
}

void hp_table_merge(pTHX_ hp_table *table, const char *name, size_t length, const char *value, size_t value_length)
{
    size_t i = find(table, name, length, 0);
    entry fresh, *e;
    if (i == table->count) {
        hp_table_add(aTHX_ table, name, length, value, value_length);
        return;
    }
    e = &table->entries[i];
    Newx(fresh.name, length + e->value_length + value_length + 4, char);
    Copy(e->name, fresh.name, length, char);
    fresh.name[length] = 0;
    fresh.value = fresh.name + length + 1;
    Copy(e->value, fresh.value, e->value_length, char);
    Copy(", ", fresh.value + e->value_length, 2, char);
    Copy(value, fresh.value + e->value_length + 2, value_length, char);
    fresh.name_length = length;
    fresh.value_length = e->value_length + 2 + value_length;
    fresh.value[fresh.value_length] = 0;
    fresh.owned = 1;
    entry_clear(aTHX_ e);
    *e = fresh;
    table->changed = 1;
}

void hp_table_unset(pTHX_ hp_table *table, const char *name, size_t length)
{
    char *copy = savepvn(name, length); /* it may be an entry's own */
    remove_from(aTHX_ table, copy, length, 0);
    Safefree(copy);
}

void hp_table_clear(pTHX_ hp_table *table)
{
    size_t i;
    for (i = 0; i < table->count; i++)
        entry_clear(aTHX_ & table->entries[i]);
    if (table->count)
        table->changed = 1;
    table->count = 0;
    table->cursor = 0;
}

size_t hp_table_count(const hp_table *table)
{
    return table->count;
}

void hp_table_is_followed(hp_table *table)
{
    table->is_followed = 1;
}

void hp_table_unchanged(hp_table *table)
{
    table->changed = 0;
}

int hp_table_changed(const hp_table *table)
{
    return table && table->changed;
}

hp_fields hp_table_fields(pTHX_ hp_table *table)
{
    hp_fields answer = {NULL, 0};
    size_t i;
    if (!table || !table->count)
        return answer;
    Renew(table->fields, table->count, hp_field);
    for (i = 0; i < table->count; i++) {
        table->fields[i].name.ptr = table->entries[i].name;
        table->fields[i].name.len = table->entries[i].name_length;
        table->fields[i].value.ptr = table->entries[i].value;
        table->fields[i].value.len = table->entries[i].value_length;
    }
    answer.list = table->fields;
    answer.count = table->count;
    return answer;
}

void hp_table_copy_into(pTHX_ const hp_table *from, hp_table *to)
{
    size_t i;
    for (i = 0; i < from->count; i++)
        hp_table_add(aTHX_ to, from->entries[i].name, from->entries[i].name_length, from->entries[i].value,
                     from->entries[i].value_length);
}

/* apr_table_compress(): several values of a name become one, the last (`merge` == 0) or all with commas. */
void hp_table_compress(pTHX_ hp_table *table, int merge)
{
    size_t i, j;
    for (i = 0; i < table->count; i++) {
        while ((j = find(table, table->entries[i].name, table->entries[i].name_length, i + 1)) < table->count) {
            entry *e = &table->entries[i], *other = &table->entries[j], fresh;
            if (merge) {
                hp_table_merge(aTHX_ table, e->name, e->name_length, other->value, other->value_length);
            } else {
                entry_fill(aTHX_ & fresh, e->name, e->name_length, other->value, other->value_length);
                entry_clear(aTHX_ e);
                *e = fresh;
            }
            remove_at(aTHX_ table, j);
        }
    }
}

/* The entry at an index, for iteration; 0: past the end. */
int hp_table_at(const hp_table *table, size_t i, hp_field *field)
{
    if (i >= table->count)
        return 0;
    field->name.ptr = table->entries[i].name;
    field->name.len = table->entries[i].name_length;
    field->value.ptr = table->entries[i].value;
    field->value.len = table->entries[i].value_length;
    return 1;
}

size_t hp_table_cursor(hp_table *table, size_t place)
{
    return table->cursor = place;
}

size_t hp_table_cursor_at(const hp_table *table)
{
    return table->cursor;
}

/* ---- Perl's view: a blessed hash tied to an inner object that has the table as magic ---- */

static int free_table_magic(pTHX_ SV *sv, MAGIC *mg)
{
    PERL_UNUSED_ARG(sv);
    if (mg->mg_ptr) {
        drop(aTHX_(hp_table *) mg->mg_ptr);
        mg->mg_ptr = NULL;
    }
    return 0;
}

static MGVTBL table_magic = {.svt_free = free_table_magic};

SV *hp_table_sv(pTHX_ hp_table *table, SV *owner)
{
    HV *stash = hp_settings.generation == 1 ? gv_stashpvs("Apache::Table", GV_ADD) : gv_stashpvs("APR::Table", GV_ADD);
    HV *hash = newHV();
    SV *inner = newSV_type(SVt_PVMG), *tie;
    MAGIC *mg = sv_magicext(inner, NULL, PERL_MAGIC_ext, &table_magic, NULL, 0);
    mg->mg_ptr = (char *)table;
    if (owner)
        mg->mg_obj = SvREFCNT_inc(owner), mg->mg_flags |= MGf_REFCOUNTED;
    table->users++;
    tie = sv_bless(newRV_noinc(inner), stash);
    hv_magic(hash, (GV *)tie, PERL_MAGIC_tied);
    SvREFCNT_dec(tie);
    return sv_bless(newRV_noinc((SV *)hash), stash);
}

hp_table *hp_table_of(pTHX_ SV *object)
{
    SV *sv;
    MAGIC *mg;
    hp_table *table;
    if (!SvROK(object))
        return NULL;
    sv = SvRV(object);
    if (SvTYPE(sv) == SVt_PVHV) {
        if (!SvMAGICAL(sv) || !(mg = mg_find(sv, PERL_MAGIC_tied)) || !mg->mg_obj || !SvROK(mg->mg_obj))
            return NULL;
        sv = SvRV(mg->mg_obj);
    }
    if (SvTYPE(sv) < SVt_PVMG || !(mg = mg_findext(sv, PERL_MAGIC_ext, &table_magic)))
        return NULL;
    table = (hp_table *)mg->mg_ptr;
    if (table && table->is_followed)
        hp_env_follow(aTHX_ table);
    return table;
}
