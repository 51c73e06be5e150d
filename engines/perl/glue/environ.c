/* The hash that is %ENV during a request.
 *
 * Making thirty variables for each request would cost more than a light program does. So the hash is kept, with the
 * sequence of variables that it was made from: the next request of the same shape only writes the values that differ.
 * It is kept only while it is exactly as it was made, but for values: a program that adds, removes, ties or keeps
 * anything of it gets its way, and the next request a new hash. */
#include "api.h"

typedef struct {
    char *name;
    size_t length;
    SV *value; /* held; NULL: a later variable of the sequence has the same name */
    char *given;
    size_t given_length;
} variable;

static HV *kept;
static variable *sequence;
static size_t count, room, distinct;

static HV *saved;    /* %ENV outside of the request; NULL: no request has it */
static size_t given; /* variables that the request began with */
static size_t position;
static enum { DIRECT, REPLAY, RECORD } mode;

static void forget(pTHX)
{
    size_t i;
    for (i = 0; i < count; i++) {
        Safefree(sequence[i].name);
        Safefree(sequence[i].given);
        SvREFCNT_dec(sequence[i].value);
    }
    count = distinct = 0;
    SvREFCNT_dec((SV *)kept);
    kept = NULL;
}

static void store(pTHX_ HV *env, const char *name, size_t length, hp_str value)
{
    SV *sv = newSVpvn(value.ptr, value.len);
    SvTAINTED_on(sv);
    if (!hv_store(env, name, (I32)length, sv, 0))
        SvREFCNT_dec(sv);
}

static void record(pTHX_ const char *name, size_t length, hp_str value)
{
    variable *v;
    if (count == room) {
        room = room ? 2 * room : 64;
        Renew(sequence, room, variable);
    }
    v = &sequence[count++];
    v->name = savepvn(name, length);
    v->length = length;
    v->value = NULL;
    v->given = savepvn(value.ptr, value.len);
    v->given_length = value.len;
    store(aTHX_ kept, name, length, value);
}

/* A plain string that nobody else refers to. */
static int is_plain(const SV *sv)
{
    return SvREFCNT(sv) == 2 && SvTYPE(sv) <= SVt_PVMG && SvPOK(sv) && !SvROK(sv) && !SvMAGICAL(sv) &&
           !(SvFLAGS(sv) & (SVf_UTF8 | SVf_READONLY | SVf_PROTECT)) && !SvOBJECT(sv);
}

/* Whether the next variable of the sequence is this one, and now has the value. */
static int replay(pTHX_ const char *name, size_t length, hp_str value)
{
    variable *v = &sequence[position];
    if (position >= count || v->length != length || memcmp(v->name, name, length) != 0)
        return 0;
    position++;
    if (!v->value)
        return 1;
    if (!is_plain(v->value))
        return 0;
    if (SvNIOKp(v->value) || SvCUR(v->value) != value.len || memcmp(SvPVX(v->value), value.ptr, value.len) != 0)
        sv_setpvn(v->value, value.ptr, value.len);
    if (v->given_length != value.len || memcmp(v->given, value.ptr, value.len) != 0) {
        Safefree(v->given);
        v->given = savepvn(value.ptr, value.len);
        v->given_length = value.len;
    }
    return 1;
}

static void put_base(pTHX);

static void begin_record(pTHX)
{
    forget(aTHX);
    kept = newHV();
    mode = RECORD;
    position = 0;
    put_base(aTHX);
}

/* What %ENV has outside of requests comes first. */
static void put_base(pTHX)
{
    HE *each;
    hv_iterinit(saved);
    while ((each = hv_iternext(saved))) {
        STRLEN length, name_length;
        const char *name = HePV(each, name_length);
        hp_str value;
        value.ptr = SvPV(hv_iterval(saved, each), length);
        value.len = length;
        hp_environ_put(aTHX_ name, name_length, value);
    }
}

/* Exactly the variables it was made with. */
static int is_intact(pTHX)
{
    return kept && SvREFCNT((SV *)kept) == 1 && !SvMAGICAL((SV *)kept) && !SvOBJECT((SV *)kept) &&
           HvUSEDKEYS(kept) == distinct;
}

void hp_environ_begin(pTHX)
{
    HV *env = GvHVn(PL_envgv);
    if (saved) { /* a second time in one request: add to what is there */
        mode = DIRECT;
        return;
    }
    saved = env;
    position = 0;
    mode = REPLAY;
    if (is_intact(aTHX))
        put_base(aTHX);
    else
        begin_record(aTHX);
}

void hp_environ_put(pTHX_ const char *name, size_t length, hp_str value)
{
    if (mode == REPLAY) {
        if (!replay(aTHX_ name, length, value))
            position = (size_t)-1; /* every further one fails, and hp_environ_end() asks for all again */
    } else if (mode == RECORD)
        record(aTHX_ name, length, value);
    else
        store(aTHX_ GvHVn(PL_envgv), name, length, value);
}

/* Holds each value once, by the last of the variables that share it. */
static void hold(pTHX)
{
    size_t i = count;
    distinct = HvUSEDKEYS(kept);
    while (i-- > 0) {
        variable *v = &sequence[i];
        SV **slot = hv_fetch(kept, v->name, (I32)v->length, 0);
        if (slot && SvREFCNT(*slot) == 1)
            v->value = SvREFCNT_inc(*slot);
    }
}

int hp_environ_end(pTHX)
{
    if (mode == REPLAY && position != count) {
        begin_record(aTHX);
        return 0;
    }
    if (mode == RECORD)
        hold(aTHX);
    if (mode != DIRECT) {
        if (SvOOK(kept) && HvRITER_get(kept) != -1)
            hv_iterinit(kept);
        GvHV(PL_envgv) = (HV *)SvREFCNT_inc((SV *)kept);
    }
    mode = DIRECT;
    given = HvUSEDKEYS(GvHVn(PL_envgv));
    return 1;
}

/* What a magical %ENV had before a request's variables were put into it. */
static HV *before;
static int inside; /* a request within the one that has done that */

void hp_environ_into_real(pTHX)
{
    if (!saved && !before && !inside)
        before = newHVhv(GvHVn(PL_envgv));
    mode = DIRECT;
}

/* Also what programs inherit that are started later: the magic sees to it. */
static void take_out(pTHX)
{
    HV *env = GvHVn(PL_envgv);
    HE *each;
    hv_clear(env);
    hv_iterinit(before);
    while ((each = hv_iternext(before))) {
        SV *value = newSVsv(HeVAL(each));
        if (!hv_store_ent(env, HeSVKEY_force(each), value, 0))
            SvREFCNT_dec(value);
        else
            SvSETMAGIC(value);
    }
    SvREFCNT_dec((SV *)before);
    before = NULL;
}

/* `local $ENV{NAME}` puts another scalar in the place of the one that was held. */
static int is_as_given(const variable *v, const SV *now)
{
    return now == v->value && SvPOK(now) && SvCUR(now) == v->given_length &&
           memcmp(SvPVX_const(now), v->given, v->given_length) == 0;
}

static int has_new_value(pTHX_ HV *env)
{
    size_t i;
    for (i = 0; i < count; i++) {
        SV **slot = sequence[i].value ? hv_fetch(env, sequence[i].name, (I32)sequence[i].length, 0) : NULL;
        if (slot && !is_as_given(&sequence[i], *slot))
            return 1;
    }
    return 0;
}

HV *hp_environ_changed(pTHX)
{
    HV *env = GvHVn(PL_envgv);
    return saved && (HvUSEDKEYS(env) != given || has_new_value(aTHX_ env)) ? env : NULL;
}

HV *hp_environ_of_request(pTHX)
{
    return saved ? GvHVn(PL_envgv) : NULL;
}

HV *hp_environ_given(pTHX)
{
    HV *all = newHV();
    size_t i;
    for (i = 0; saved && i < count; i++) {
        SV *value = newSVpvn(sequence[i].given, sequence[i].given_length);
        if (!hv_store(all, sequence[i].name, (I32)sequence[i].length, value, 0))
            SvREFCNT_dec(value);
    }
    return all;
}

void hp_environ_restore(pTHX)
{
    if (saved) {
        HV *env = GvHV(PL_envgv);
        GvHV(PL_envgv) = saved;
        saved = NULL;
        SvREFCNT_dec((SV *)env);
    }
    if (before && !inside) /* it is the real one's, which is back by now */
        take_out(aTHX);
}

HV *hp_environ_put_aside(pTHX)
{
    HV *env = NULL;
    inside++;
    if (saved) {
        env = GvHV(PL_envgv);
        GvHV(PL_envgv) = saved;
        saved = NULL;
    }
    return env;
}

void hp_environ_take_back(pTHX_ HV *env)
{
    hp_environ_restore(aTHX);
    inside--;
    if (!env)
        return;
    saved = GvHV(PL_envgv);
    GvHV(PL_envgv) = env;
}
