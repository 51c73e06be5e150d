/* @INC: the modules that are part of the program come first, so that `use Apache2::RequestRec` finds Hostler's and
 * not one that was compiled for another server. */
#include "perl_glue.h"

/* Programs that run under both generations ask which modules can be loaded. */
static int is_generation_1(const char *path)
{
    return strEQ(path, "Apache.pm") || strnEQ(path, "Apache/", 7);
}

/* Called by `require` as the hook in @INC: (hook, "Apache2/RequestRec.pm"). */
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
    if (hp_settings.generation == 2 && is_generation_1(path))
        XSRETURN_EMPTY;
    text = hp_embedded(path, &length);
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
    CV *hook = newXS("Hostler::find_embedded", find_embedded, __FILE__);
    AV *inc = GvAVn(PL_incgv);
    av_unshift(inc, 1);
    av_store(inc, 0, newRV_inc((SV *)hook));
    if (server_root.len)
        add_server_root(aTHX_ server_root);
}
