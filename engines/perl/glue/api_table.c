/* APR::Table's methods, and its face as a hash. */
#include "api.h"

#define TABLE_METHOD(least)                                                                                            \
    dXSARGS;                                                                                                           \
    hp_table *table;                                                                                                   \
    if (items < (least))                                                                                               \
        croak("APR::Table::%s: too few arguments", GvNAME(CvGV(cv)));                                                  \
    table = hp_table_of(aTHX_ ST(0));                                                                                  \
    if (!table)                                                                                                        \
    croak("argument is not an APR::Table object")

/* APR's strings end at a NUL: what stands behind one never was in a table. */
static const char *text_of(pTHX_ SV *sv, STRLEN *length)
{
    const char *text = SvPV(sv, *length), *end = (const char *)memchr(text, '\0', *length);
    if (end)
        *length = (STRLEN)(end - text);
    return text;
}

#define KEY(sv)                                                                                                        \
    STRLEN length;                                                                                                     \
    const char *key = text_of(aTHX_ sv, &length)

/* new(class, size), make(pool, size) */
XS(hp_table_make)
{
    dXSARGS;
    hp_table *table = hp_table_new(aTHX_ items > 1 && SvIV(ST(1)) > 0 && SvIV(ST(1)) < 10000 ? SvIV(ST(1)) : 8);
    SV *answer = hp_table_sv(aTHX_ table, NULL);
    hp_table_free(aTHX_ table);
    HP_ANSWER(answer);
}

/* get(key): the first value; all of them in list context. */
XS(hp_table_get_all)
{
    TABLE_METHOD(2);
    KEY(ST(1));
    hp_field field;
    size_t i, found_length;
    if (GIMME_V != G_LIST) {
        const char *found = hp_table_get(table, key, length, &found_length);
        HP_ANSWER(found ? newSVpvn(found, found_length) : newSV(0));
    }
    SP -= items;
    for (i = 0; hp_table_at(table, i, &field); i++)
        if (field.name.len == length && foldEQ(field.name.ptr, key, length))
            mXPUSHs(newSVpvn(field.value.ptr, field.value.len));
    PUTBACK;
}

/* values() asks for the values after it has asked for all keys, with the very keys it was given: each carries its
 * entry's number where programs do not see it. */
static SV *numbered_key(pTHX_ hp_str name, size_t at)
{
    SV *key = newSVpvn(name.ptr, name.len);
    (void)SvUPGRADE(key, SVt_PVIV);
    SvIV_set(key, (IV)at + 1);
    SvFLAGS(key) |= SVp_IOK;
    return key;
}

static size_t number_of_key(const SV *key)
{
    return SvTYPE(key) >= SVt_PVIV && SvPOK(key) && (SvFLAGS(key) & (SVf_IOK | SVp_IOK)) == SVp_IOK ? (size_t)SvIVX(key)
                                                                                                    : 0;
}

/* FETCH(key): while each() stands at an entry of this name, that entry's value. */
XS(hp_table_fetch)
{
    TABLE_METHOD(2);
    KEY(ST(1));
    size_t found_length, at = number_of_key(ST(1));
    hp_field field;
    const char *found;
    if (!at)
        at = hp_table_cursor_at(table);
    if (at && hp_table_at(table, at - 1, &field) && field.name.len == length && foldEQ(field.name.ptr, key, length))
        HP_ANSWER(newSVpvn(field.value.ptr, field.value.len));
    found = hp_table_get(table, key, length, &found_length);
    HP_ANSWER(found ? newSVpvn(found, found_length) : newSV(0));
}

/* number 0: set, STORE; 1: add; 2: merge */
XS(hp_table_put)
{
    TABLE_METHOD(3);
    KEY(ST(1));
    STRLEN value_length;
    const char *value = text_of(aTHX_ ST(2), &value_length);
    switch (XSANY.any_i32) {
    case 0: hp_table_set(aTHX_ table, key, length, value, value_length); break;
    case 1: hp_table_add(aTHX_ table, key, length, value, value_length); break;
    default: hp_table_merge(aTHX_ table, key, length, value, value_length);
    }
    XSRETURN_EMPTY;
}

XS(hp_table_delete)
{
    TABLE_METHOD(2);
    KEY(ST(1));
    size_t found_length;
    const char *found = hp_table_get(table, key, length, &found_length);
    SV *answer = found && XSANY.any_i32 ? newSVpvn(found, found_length) : NULL;
    hp_table_unset(aTHX_ table, key, length);
    if (!answer)
        XSRETURN_EMPTY;
    HP_ANSWER(answer);
}

XS(hp_table_exists)
{
    TABLE_METHOD(2);
    KEY(ST(1));
    HP_ANSWER(newSViv(hp_table_get(table, key, length, NULL) != NULL));
}

XS(hp_table_empty)
{
    TABLE_METHOD(1);
    hp_table_clear(aTHX_ table);
    XSRETURN_EMPTY;
}

/* number 0: FIRSTKEY, 1: NEXTKEY */
XS(hp_table_key)
{
    TABLE_METHOD(1);
    hp_field field;
    size_t at = XSANY.any_i32 ? hp_table_cursor_at(table) : 0;
    if (!hp_table_at(table, at, &field)) {
        hp_table_cursor(table, 0);
        XSRETURN_UNDEF;
    }
    hp_table_cursor(table, at + 1);
    HP_ANSWER(numbered_key(aTHX_ field.name, at));
}

XS(hp_table_scalar)
{
    TABLE_METHOD(1);
    HP_ANSWER(newSVuv(hp_table_count(table)));
}

XS(hp_table_copy)
{
    TABLE_METHOD(1);
    hp_table *copy = hp_table_new(aTHX_ hp_table_count(table) + 4);
    SV *answer = hp_table_sv(aTHX_ copy, NULL);
    hp_table_copy_into(aTHX_ table, copy);
    hp_table_free(aTHX_ copy);
    HP_ANSWER(answer);
}

static hp_table *second_table(pTHX_ SV *sv)
{
    hp_table *table = hp_table_of(aTHX_ sv);
    if (!table)
        croak("argument is not an APR::Table object");
    return table;
}

/* overlay(base, over, pool): a new table, `over` first. */
XS(hp_table_overlay)
{
    TABLE_METHOD(2);
    hp_table *over = second_table(aTHX_ ST(1)), *both = hp_table_new(aTHX_ 16);
    SV *answer = hp_table_sv(aTHX_ both, NULL);
    hp_table_copy_into(aTHX_ over, both);
    hp_table_copy_into(aTHX_ table, both);
    hp_table_free(aTHX_ both);
    HP_ANSWER(answer);
}

/* overlap(table, other, flags): 0 OVERLAP_TABLES_SET, 1 OVERLAP_TABLES_MERGE */
XS(hp_table_overlap)
{
    TABLE_METHOD(3);
    hp_table_copy_into(aTHX_ second_table(aTHX_ ST(1)), table);
    hp_table_compress(aTHX_ table, SvIV(ST(2)) == 1);
    XSRETURN_EMPTY;
}

XS(hp_table_compress_values)
{
    TABLE_METHOD(2);
    hp_table_compress(aTHX_ table, SvIV(ST(1)) == 1);
    XSRETURN_EMPTY;
}

/* Whether the filter list at `from` is empty or has this name. */
static int asked_for(pTHX_ SV **filter, I32 count, hp_str name)
{
    I32 i;
    if (!count)
        return 1;
    for (i = 0; i < count; i++) {
        STRLEN length;
        const char *one = SvPV(filter[i], length);
        if (length == name.len && memcmp(one, name.ptr, length) == 0) /* quirk: with case, unlike all else */
            return 1;
    }
    return 0;
}

static int call_back(pTHX_ SV *code, const hp_field *field)
{
    dSP;
    int go_on = 0;
    ENTER;
    SAVETMPS;
    PUSHMARK(SP);
    mXPUSHs(newSVpvn(field->name.ptr, field->name.len));
    mXPUSHs(newSVpvn(field->value.ptr, field->value.len));
    PUTBACK;
    if (call_sv(code, G_SCALAR) == 1) {
        SPAGAIN;
        go_on = SvTRUE(TOPs);
        SP--;
        PUTBACK;
    }
    FREETMPS;
    LEAVE;
    return go_on;
}

/* do(sub, names...): calls sub(name, value) until it answers false. */
XS(hp_table_do)
{
    TABLE_METHOD(2);
    SV *code = ST(1);
    AV *filter = (AV *)sv_2mortal((SV *)av_make(items - 2, items > 2 ? &ST(2) : NULL));
    hp_field field;
    size_t i;
    int all = 1;
    for (i = 0; all && hp_table_at(table, i, &field); i++)
        if (asked_for(aTHX_ AvARRAY(filter), av_len(filter) + 1, field.name))
            all = call_back(aTHX_ code, &field);
    HP_ANSWER(newSViv(all));
}

#define T "APR::Table::"

void hp_boot_table(pTHX)
{
    static const hp_xsub list[] = {
        {T "new", hp_table_make, 0},        {T "make", hp_table_make, 0},
        {T "get", hp_table_get_all, 0},     {T "FETCH", hp_table_fetch, 0},
        {T "set", hp_table_put, 0},         {T "STORE", hp_table_put, 0},
        {T "add", hp_table_put, 1},         {T "merge", hp_table_put, 2},
        {T "unset", hp_table_delete, 0},    {T "DELETE", hp_table_delete, 1},
        {T "EXISTS", hp_table_exists, 0},   {T "clear", hp_table_empty, 0},
        {T "CLEAR", hp_table_empty, 0},     {T "FIRSTKEY", hp_table_key, 0},
        {T "NEXTKEY", hp_table_key, 1},     {T "SCALAR", hp_table_scalar, 0},
        {T "copy", hp_table_copy, 0},       {T "overlay", hp_table_overlay, 0},
        {T "overlap", hp_table_overlap, 0}, {T "compress", hp_table_compress_values, 0},
        {T "do", hp_table_do, 0},
    };
    HP_REGISTER(list);
}
