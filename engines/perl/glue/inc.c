/* The modules that are part of the program are found before those of @INC, so that `use Apache2::RequestRec` finds
 * Hostler's and not one that was compiled for another server. Programs that look at @INC see folders, as they do under
 * mod_perl: the hook is there while such a module is looked for, and no longer. */
#include "perl_glue.h"

/* Programs that run under both generations ask which modules can be loaded. */
static int is_generation_1(const char *path)
{
    return strEQ(path, "Apache.pm") || strnEQ(path, "Apache/", 7);
}

/* The text of a module that is part of the program, by its path ("Apache2/RequestRec.pm"). */
static const char *embedded(pTHX_ const char *path, size_t *length)
{
    if (hp_settings.generation == 2 && is_generation_1(path))
        return NULL;
    return hp_embedded(path, length);
}

/* The hook, (hook, "Apache2/RequestRec.pm"), which is in @INC for the one search that it answers. */
XS_INTERNAL(find_embedded)
{
    dXSARGS;
    const char *path, *text;
    STRLEN path_length;
    size_t length = 0;
    SV *source;
    if (items < 2)
        XSRETURN_EMPTY;
    path = SvPV(ST(1), path_length);
    SvREFCNT_dec(av_shift(GvAVn(PL_incgv))); /* one of several: who searches still looks at it */
    text = embedded(aTHX_ path, &length);
    if (!text)
        XSRETURN_EMPTY;
    /* What programs find in %INC: a file that is there and does not change (Apache2::Reload looks). Messages name
     * the module by the line below. */
    (void)hv_store(GvHVn(PL_incgv), path, (I32)path_length, newSVpvs("/proc/self/exe"), 0);
    source = newSVpvf("#line 1 \"hostler/%s\"\n", path);
    sv_catpvn(source, text, length);
    ST(0) = sv_2mortal(newRV_noinc(source));
    XSRETURN(1);
}

static SV *hook;
static SV
    *first; /* the folder that was first in @INC: what is put before it (use lib) counts more than the modules here */
static OP *(*perl_require)(pTHX);
static OP *(*perl_dofile)(pTHX);

/* Whether a folder that a program has put before the others has such a file; of what is no folder (a hook) too, as nobody
 * can know. */
static int is_overridden(pTHX_ const char *path)
{
    AV *inc = GvAVn(PL_incgv);
    SSize_t i;
    for (i = 0; i <= av_top_index(inc); i++) {
        SV **folder = av_fetch(inc, i, 0);
        SV *file;
        Stat_t facts;
        if (!folder || (first && !SvROK(*folder) && sv_eq(*folder, first)))
            return 0;
        if (SvROK(*folder))
            return 1;
        file = sv_2mortal(newSVpvf("%" SVf "/%s", SVfARG(*folder), path));
        if (PerlLIO_stat(SvPV_nolen(file), &facts) == 0 && !S_ISDIR(facts.st_mode))
            return 1;
    }
    return 0;
}

/* Puts the hook where it answers the search that is about to begin. */
static void offer(pTHX_ SV *name, int once)
{
    AV *inc = GvAVn(PL_incgv);
    STRLEN length;
    const char *path;
    size_t found;
    if (!SvPOK(name))
        return;
    path = SvPV(name, length);
    if (!embedded(aTHX_ path, &found) || (once && hv_exists(GvHVn(PL_incgv), path, (I32)length)))
        return;
    if (is_overridden(aTHX_ path))
        return;
    av_unshift(inc, 1);
    av_store(inc, 0, SvREFCNT_inc_simple_NN(hook));
}

static OP *require_op(pTHX)
{
    dSP;
    offer(aTHX_ TOPs, 1);
    return perl_require(aTHX);
}

static OP *dofile_op(pTHX)
{
    dSP;
    offer(aTHX_ TOPs, 0);
    return perl_dofile(aTHX);
}

/* As mod_perl: ServerRoot, and lib/perl below it where there is one. */
static void add_server_root(pTHX_ hp_str root)
{
    AV *inc = GvAVn(PL_incgv);
    SV *library = newSVpvn(root.ptr, root.len);
    Stat_t facts;
    av_push(inc, newSVpvn(root.ptr, root.len));
    sv_catpvs(library, "/lib/perl");
    if (PerlLIO_stat(SvPV_nolen(library), &facts) == 0 && S_ISDIR(facts.st_mode))
        av_push(inc, library);
    else
        SvREFCNT_dec(library);
}

void hp_inc_boot(pTHX_ hp_str server_root)
{
    AV *inc = GvAVn(PL_incgv);
    SV **folder = av_fetch(inc, 0, 0);
    hook = newRV_inc((SV *)newXS("Hostler::find_embedded", find_embedded, __FILE__));
    first = folder ? newSVsv(*folder) : NULL;
    perl_require = PL_ppaddr[OP_REQUIRE];
    perl_dofile = PL_ppaddr[OP_DOFILE];
    PL_ppaddr[OP_REQUIRE] = require_op;
    PL_ppaddr[OP_DOFILE] = dofile_op;
    if (server_root.len)
        add_server_root(aTHX_ server_root);
}
