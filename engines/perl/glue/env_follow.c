/* What a program changes of %ENV is in subprocess_env, too: at once, for whoever looks at the table, and at the end of the
 * request for the server. Only of %ENV as a CGI program has it; under modperl it is the process's.
 *
 * mod_perl has magic on the hash and on each value, so that each assignment sets the table. Here both are compared when
 * the table is used, and only the deletion of what is in the table alone needs magic: then there is nothing to compare. */
#include "api.h"

static hp_request *filled; /* whose %ENV it is; NULL: nobody's */
static HV *last;           /* what of it the table has been told; NULL: nothing but what it began with */

void hp_follow_begin(pTHX_ hp_request *r)
{
    if (r != filled)
        hp_follow_end(aTHX);
    filled = r;
}

void hp_follow_end(pTHX)
{
    HV *env = filled ? hp_environ_of_request(aTHX) : NULL;
    if (env && SvMAGICAL((SV *)env))
        sv_unmagic((SV *)env, PERL_MAGIC_uvar);
    SvREFCNT_dec((SV *)last);
    last = NULL;
    filled = NULL;
}

hp_followed hp_follow_put_aside(void)
{
    hp_followed outer;
    outer.filled = filled;
    outer.last = last;
    filled = NULL;
    last = NULL;
    return outer;
}

void hp_follow_take_back(pTHX_ hp_followed outer)
{
    SvREFCNT_dec((SV *)last);
    filled = outer.filled;
    last = outer.last;
}

/* The engine's own. */
static int is_own(const char *name, I32 length)
{
    return length >= 8 && memcmp(name, "MOD_PERL", 8) == 0;
}

static void tell(pTHX_ hp_table *table, const char *name, I32 name_length, SV *value)
{
    STRLEN length;
    size_t old_length;
    const char *text = SvPV(value, length), *old = hp_table_get(table, name, (size_t)name_length, &old_length);
    if (!old || old_length != length || memcmp(old, text, length) != 0)
        hp_table_set(aTHX_ table, name, (size_t)name_length, text, length);
}

static void tell_new(pTHX_ hp_table *table, HV *env)
{
    HE *each;
    hv_iterinit(env);
    while ((each = hv_iternext(env))) {
        I32 length;
        const char *name = hv_iterkey(each, &length);
        SV *value = hv_iterval(env, each), **known = hv_fetch(last, name, length, 0), *copy;
        if (!SvOK(value) || is_own(name, length) || (known && sv_eq(*known, value)))
            continue;
        tell(aTHX_ table, name, length, value);
        copy = newSVsv(value);
        if (!hv_store(last, name, length, copy, 0))
            SvREFCNT_dec(copy);
    }
}

/* Where nothing is left of what there was, the hash was emptied, and with it the table. */
static void tell_deleted(pTHX_ hp_table *table, HV *env)
{
    STRLEN known = HvUSEDKEYS(last), deleted = 0;
    HE *each;
    hv_iterinit(last);
    while ((each = hv_iternext(last))) {
        I32 length;
        const char *name = hv_iterkey(each, &length);
        if (hv_exists(env, name, length))
            continue;
        deleted++;
        hp_table_unset(aTHX_ table, name, (size_t)length);
        (void)hv_delete(last, name, length, G_DISCARD);
    }
    if (known && deleted == known)
        hp_table_clear(aTHX_ table);
}

void hp_env_of_program(pTHX_ hp_request *r)
{
    HV *env = r == filled && (last || hp_environ_changed(aTHX)) ? hp_environ_of_request(aTHX) : NULL;
    if (!env)
        return;
    if (r->env_wanted)
        hp_env_common(aTHX_ r);
    if (!last)
        last = hp_environ_given(aTHX);
    (void)HP_TABLE(r, subprocess_env);
    tell_deleted(aTHX_ r->subprocess_env, env);
    tell_new(aTHX_ r->subprocess_env, env);
}

void hp_env_follow(pTHX_ hp_table *table)
{
    if (filled && filled->subprocess_env == table)
        hp_env_of_program(aTHX_ filled);
}

/* Something is done with a name of the hash. */
static I32 used(pTHX_ IV action, SV *hash)
{
    MAGIC *mg = mg_find(hash, PERL_MAGIC_uvar);
    if (!(action & HV_DELETE) || !filled || hash != (SV *)hp_environ_of_request(aTHX))
        return 0;
    if (filled->subprocess_env && mg && mg->mg_obj && SvPOK(mg->mg_obj)) {
        STRLEN length;
        const char *name = SvPV(mg->mg_obj, length);
        hp_table_unset(aTHX_ filled->subprocess_env, name, length);
    }
    return 0;
}

void hp_env_watch(pTHX_ hp_request *r)
{
    HV *env = r == filled ? hp_environ_of_request(aTHX) : NULL;
    hp_table_is_followed(r->subprocess_env);
    if (env && !mg_find((SV *)env, PERL_MAGIC_uvar)) {
        struct ufuncs call = {used, NULL, 0};
        sv_magic((SV *)env, NULL, PERL_MAGIC_uvar, (char *)&call, sizeof call);
    }
}
