/* Tables with several values for a name, compared without case, in order: APR::Table and Apache::Table. */
#ifndef HOSTLER_TABLE_H
#define HOSTLER_TABLE_H

#include "hostler.h"

typedef struct hp_table hp_table;

hp_table *hp_table_new(pTHX_ size_t expected);
hp_table *hp_table_from(pTHX_ hp_fields fields);
void hp_table_free(pTHX_ hp_table *table);
/* What the front's strings are needed for no longer, as far as programs have the table: it is copied. */
void hp_table_own(pTHX_ hp_table *table);
/* NULL: not there. */
const char *hp_table_get(const hp_table *table, const char *name, size_t length, size_t *value_length);
void hp_table_set(pTHX_ hp_table *table, const char *name, size_t length, const char *value, size_t value_length);
void hp_table_add(pTHX_ hp_table *table, const char *name, size_t length, const char *value, size_t value_length);
void hp_table_merge(pTHX_ hp_table *table, const char *name, size_t length, const char *value, size_t value_length);
void hp_table_unset(pTHX_ hp_table *table, const char *name, size_t length);
void hp_table_clear(pTHX_ hp_table *table);
size_t hp_table_count(const hp_table *table);
/* Whether it was changed since it was made; NULL was not. */
int hp_table_changed(const hp_table *table);
/* As if it had just been made. */
void hp_table_unchanged(hp_table *table);
/* Appends all of `from`. */
void hp_table_copy_into(pTHX_ const hp_table *from, hp_table *to);
/* Several values of a name become one: the last, or (merge) all with commas between them. */
void hp_table_compress(pTHX_ hp_table *table, int merge);
/* The entry at an index; 0: there is none. */
int hp_table_at(const hp_table *table, size_t index, hp_field *field);
/* Where each() stands: 1 + the entry's index; 0: not begun. */
size_t hp_table_cursor(hp_table *table, size_t place);
size_t hp_table_cursor_at(const hp_table *table);
/* As fields for the front; valid until the table changes. */
hp_fields hp_table_fields(pTHX_ hp_table *table);
/* An APR::Table object (a hash tied to the table) that keeps `owner` alive; a new reference. */
SV *hp_table_sv(pTHX_ hp_table *table, SV *owner);
/* Before a program uses it, hp_env_follow() is called: it has what is done elsewhere. */
void hp_table_is_followed(hp_table *table);
void hp_env_follow(pTHX_ hp_table *table);
/* The table behind such an object, or NULL. */
hp_table *hp_table_of(pTHX_ SV *object);

#endif
