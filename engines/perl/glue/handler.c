/* Handlers by the words of the configuration: found once, then called by a look into their package.
 *
 *   Pkg            Pkg's function `handler` (inherited ones too); the module is loaded if it is not there
 *   Pkg::name      a function; `Pkg->name` and `$object->name`: a method
 *   sub { ... }    code
 *   +Pkg, -Pkg     as Pkg (loaded at start; not to be loaded)
 *
 * What is kept is package and name, not the code itself: a module that is loaded again is called in its new form. */
#include "perl_glue.h"
#include "registry.h"

struct hp_handler {
    SV *word;     /* as it was given; NULL for code of a program's own */
    HV *package;  /* where the function is looked up; NULL: not resolved, or `code` */
    SV *code;     /* a code reference */
    SV *invocant; /* of a method: the object, or the class's name */
    char *name;   /* the function's */
    STRLEN length;
    int is_method; /* said so by the word itself */
    int loads;     /* the module may be loaded */
};

static HV *known;

static int has_function(pTHX_ HV *package, const char *name, STRLEN length)
{
    GV *found = package ? gv_fetchmeth_pvn(package, name, length, 0, 0) : NULL;
    return found && GvCV(found) != NULL;
}

static void settle(pTHX_ hp_handler *h, HV *package, const char *name, STRLEN length)
{
    h->package = (HV *)SvREFCNT_inc((SV *)package);
    h->name = savepvn(name, length);
    h->length = length;
}

/* Loads a module. 1: done, 0: there is none, -1: it is broken ($@). */
static int load(pTHX_ const char *module, STRLEN length)
{
    SV *path = sv_2mortal(newSVpvn(module, length)), *code;
    const char *message, *named;
    STRLEN i, path_length;
    char *text = SvPV(path, path_length);
    SV *file = sv_2mortal(newSVpvs(""));
    for (i = 0; i < path_length; i++) {
        if (text[i] == ':' && i + 1 < path_length && text[i + 1] == ':') {
            sv_catpvs(file, "/");
            i++;
        } else if (isWORDCHAR_A(text[i]))
            sv_catpvn(file, text + i, 1);
        else
            return 0;
    }
    sv_catpvs(file, ".pm");
    code = sv_2mortal(newSVpvf("require '%" SVf "'; 1", SVfARG(file)));
    TAINT_NOT; /* what the last program has read says nothing about the configuration's names */
    eval_sv(code, G_SCALAR | G_DISCARD | G_EVAL);
    if (!SvTRUE(ERRSV))
        return 1;
    message = SvPV_nolen(ERRSV);
    named = SvPV_nolen(sv_2mortal(newSVpvf("Can't locate %" SVf " in @INC", SVfARG(file))));
    return strnEQ(message, named, strlen(named)) ? 0 : -1;
}

/* `Pkg->name`, `$object->name` */
static int resolve_method(pTHX_ hp_handler *h, const char *word, STRLEN length, const char *arrow)
{
    STRLEN class_length = (STRLEN)(arrow - word);
    const char *name = arrow + 2;
    HV *package;
    h->is_method = 1;
    if (*word == '$') {
        SV *object = get_sv(SvPV_nolen(sv_2mortal(newSVpvn(word + 1, class_length - 1))), 0);
        if (!object || !SvROK(object) || !SvOBJECT(SvRV(object)))
            return 0;
        h->invocant = SvREFCNT_inc(object);
        settle(aTHX_ h, SvSTASH(SvRV(object)), name, length - class_length - 2);
        return 1;
    }
    if (!gv_stashpvn(word, class_length, 0) && h->loads && load(aTHX_ word, class_length) <= 0)
        return 0;
    package = gv_stashpvn(word, class_length, 0);
    if (!has_function(aTHX_ package, name, length - class_length - 2) && h->loads)
        (void)load(aTHX_ word, class_length);
    package = gv_stashpvn(word, class_length, GV_ADD);
    h->invocant = newSVpvn(word, class_length);
    settle(aTHX_ h, package, name, length - class_length - 2);
    return 1;
}

static int resolve_function(pTHX_ hp_handler *h, const char *word, STRLEN length)
{
    const char *last = NULL, *at;
    HV *package;
    for (at = word; at + 1 < word + length; at++)
        if (at[0] == ':' && at[1] == ':')
            last = at;
    if (!last) {
        settle(aTHX_ h, PL_defstash, word, length);
        return has_function(aTHX_ PL_defstash, word, length);
    }
    package = gv_stashpvn(word, (STRLEN)(last - word), 0);
    if (!has_function(aTHX_ package, last + 2, length - (STRLEN)(last - word) - 2))
        return 0;
    settle(aTHX_ h, package, last + 2, length - (STRLEN)(last - word) - 2);
    h->invocant = newSVpvn(word, (STRLEN)(last - word));
    return 1;
}

static int resolve_package(pTHX_ hp_handler *h, const char *word, STRLEN length)
{
    HV *package = gv_stashpvn(word, length, 0);
    if (!has_function(aTHX_ package, "handler", 7))
        return 0;
    settle(aTHX_ h, package, "handler", 7);
    h->invocant = newSVpvn(word, length);
    return 1;
}

/* A word that is neither loaded: first the module of that name, then the one that such a function would be in. */
static int resolve_by_loading(pTHX_ hp_handler *h, const char *word, STRLEN length)
{
    const char *last = NULL, *at;
    int loaded = load(aTHX_ word, length);
    if (loaded < 0)
        return 0;
    if (loaded && (resolve_package(aTHX_ h, word, length) || resolve_function(aTHX_ h, word, length)))
        return 1;
    for (at = word; at + 1 < word + length; at++)
        if (at[0] == ':' && at[1] == ':')
            last = at;
    if (!last || loaded)
        return 0;
    {
        SV *first = sv_2mortal(newSVsv(ERRSV));
        loaded = load(aTHX_ word, (STRLEN)(last - word));
        if (loaded > 0 && resolve_function(aTHX_ h, word, length))
            return 1;
        if (loaded >= 0)
            sv_setsv(ERRSV, first);
    }
    return 0;
}

static int resolve_code(pTHX_ hp_handler *h)
{
    SV *code = eval_pv(SvPV_nolen(h->word), 0);
    if (SvTRUE(ERRSV) || !SvROK(code) || SvTYPE(SvRV(code)) != SVt_PVCV)
        return 0;
    h->code = newSVsv(code);
    return 1;
}

static int is_code(const char *word, STRLEN length)
{
    return length > 4 && memcmp(word, "sub", 3) == 0 && !isWORDCHAR_A(word[3]) && word[3] != ':';
}

static int resolve(pTHX_ hp_handler *h)
{
    STRLEN length;
    const char *word = SvPV(h->word, length), *arrow;
    if (is_code(word, length))
        return resolve_code(aTHX_ h);
    h->loads = *word != '-';
    if (*word == '+' || *word == '-')
        word++, length--;
    arrow = ninstr(word, word + length, "->", "->" + 2);
    if (arrow)
        return resolve_method(aTHX_ h, word, length, arrow);
    if (resolve_function(aTHX_ h, word, length) || resolve_package(aTHX_ h, word, length))
        return 1;
    return h->loads && resolve_by_loading(aTHX_ h, word, length);
}

hp_handler *hp_handler_named(pTHX_ const char *word, size_t length)
{
    SV **slot;
    hp_handler *h;
    if (!known)
        known = newHV();
    slot = hv_fetch(known, word, (I32)length, 1);
    if (SvIOK(*slot))
        return INT2PTR(hp_handler *, SvIV(*slot));
    Newxz(h, 1, hp_handler);
    h->word = newSVpvn(word, length);
    sv_setiv(*slot, PTR2IV(h));
    return h;
}

hp_handler *hp_handler_of(pTHX_ SV *given)
{
    STRLEN length;
    const char *word;
    if (SvROK(given) && SvTYPE(SvRV(given)) == SVt_PVCV) {
        hp_handler *h;
        SV *room = sv_2mortal(newSV(sizeof(hp_handler)));
        h = (hp_handler *)SvPVX(room);
        Zero(h, 1, hp_handler);
        h->code = given;
        return h;
    }
    word = SvPV(given, length);
    return hp_handler_named(aTHX_ word, length);
}

/* The function as it is now; NULL: there is none ($@ says why). */
static CV *function_of(pTHX_ hp_handler *h)
{
    GV *found;
    if (h->code)
        return (CV *)SvRV(h->code);
    if (!h->package && !resolve(aTHX_ h)) {
        SvREFCNT_dec((SV *)h->package);
        h->package = NULL;
        return h->code ? (CV *)SvRV(h->code) : NULL;
    }
    if (h->code)
        return (CV *)SvRV(h->code);
    found = gv_fetchmeth_pvn(h->package, h->name, h->length, 0, 0);
    if (!found)
        found = gv_fetchmethod_autoload(h->package, h->name, TRUE);
    return found ? GvCV(found) : NULL;
}

/* Methods are functions with the attribute `method` or the prototype ($$), or were called so by the word. */
static int is_method(const hp_handler *h, CV *code)
{
    const char *prototype = SvPOK(code) ? SvPVX_const((SV *)code) : NULL;
    int two = prototype && strEQ(prototype, "$$");
    return h->invocant && (h->is_method || CvMETHOD(code) || two);
}

static int status_of(pTHX_ SV *answer)
{
    IV status = SvOK(answer) ? SvIV(answer) : 0;
    /* mod_perl 1 takes 200 for OK, and a program's last value where it cannot be a status. In generation 2 a status of HTTP's,
     * 200 too, is an error: a handler that decides whether there may be a response does not permit it by HTTP_OK. */
    if (hp_settings.generation == 1 && (status == 200 || status == 1 || status > 600))
        return HP_OK;
    return (int)status;
}

/* $@ says what is wrong with the word, and why if there is a reason. */
static void unresolved(pTHX_ const hp_handler *h)
{
    SV *text = newSVpvf("failed to resolve handler `%" SVf "'", SVfARG(h->word));
    if (SvTRUE(ERRSV))
        sv_catpvf(text, ": %" SVf, SVfARG(ERRSV));
    sv_setsv(ERRSV, text);
    SvREFCNT_dec(text);
}

/* Calls it; false if it has died ($@) or there is none. What it returns goes through `status`. */
static int call(pTHX_ hp_handler *h, SV **arguments, int count, int (*meaning)(pTHX_ SV *), int *status)
{
    dSP;
    int i;
    CV *code = function_of(aTHX_ h);
    if (!code) {
        unresolved(aTHX_ h);
        return 0;
    }
    hp_cwd_before(aTHX_ code);
    SPAGAIN; /* the handler's module may just have been loaded */
    ENTER;
    SAVETMPS;
    PUSHMARK(SP);
    EXTEND(SP, count + 1);
    if (is_method(h, code))
        PUSHs(h->invocant);
    for (i = 0; i < count; i++)
        PUSHs(arguments[i]);
    PUTBACK;
    if (call_sv((SV *)code, G_SCALAR | G_EVAL) == 1) {
        SPAGAIN;
        *status = meaning(aTHX_ POPs);
        PUTBACK;
    }
    FREETMPS;
    LEAVE;
    return LIKELY(!SvTRUE_NN(ERRSV));
}

int hp_handler_call(pTHX_ hp_handler *h, SV **arguments, int count)
{
    int status = 500;
    if (LIKELY(call(aTHX_ h, arguments, count, status_of, &status)))
        return status;
    if (!hp_is_exit(aTHX_ ERRSV))
        return 500;
    sv_setpvs(ERRSV, "");
    return HP_OK;
}

static int number_of(pTHX_ SV *answer)
{
    return SvOK(answer) ? (int)SvIV(answer) : 0;
}

int hp_handler_number(pTHX_ hp_handler *h, SV **arguments, int count)
{
    int number = -1;
    return call(aTHX_ h, arguments, count, number_of, &number) ? number : -1;
}
