/* What all of the interface needs: how its XSUBs are registered, errors and log lines, and what becomes of a call that
 * is not there. */
#include "api.h"

void hp_log_text(pTHX_ int severity, int virtual_host, SV *text)
{
    STRLEN length;
    const char *bytes = SvPV(text, length);
    while (length && bytes[length - 1] == '\n')
        length--;
    hp_log(severity, virtual_host, bytes, length);
}

void hp_throw(pTHX_ int error, const char *function)
{
    dSP;
    require_pv("APR/Error.pm");
    SPAGAIN;
    PUSHMARK(SP);
    mXPUSHi(error);
    mXPUSHp(function, strlen(function));
    PUTBACK;
    call_pv("APR::Error::throw", G_VOID | G_DISCARD);
    croak("%s: error %d", function, error);
}

/* A call that a class does not have: Hostler::Calls knows whether a module has it, or why not. The name and the class
 * are in the CV, as perl leaves them for an AUTOLOAD that is an XSUB. */
XS(hp_autoload)
{
    dXSARGS;
    SV *name = sv_2mortal(newSVpvn(SvPVX((SV *)cv), SvCUR((SV *)cv))), *code = NULL;
    SV *class = sv_2mortal(newSVpv(HvNAME(CvSTASH(cv)), 0));
    int context = GIMME_V;
    ENTER;
    require_pv("Hostler/Calls.pm");
    SPAGAIN;
    PUSHMARK(SP);
    XPUSHs(items && sv_isobject(ST(0)) ? sv_2mortal(newSVpv(sv_reftype(SvRV(ST(0)), TRUE), 0)) : class);
    XPUSHs(name);
    PUTBACK;
    if (call_pv("Hostler::Calls::find", G_SCALAR) == 1) {
        SPAGAIN;
        code = sv_2mortal(newSVsv(POPs));
        PUTBACK;
    }
    LEAVE;
    PL_stack_sp = PL_stack_base + ax + items - 1;
    PUSHMARK(PL_stack_base + ax - 1);
    call_sv(code, context);
}

void hp_register(pTHX_ const hp_xsub *list, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        CV *cv = newXS(list[i].name, list[i].function, __FILE__);
        CvXSUBANY(cv).any_i32 = list[i].number;
    }
}

XS(hp_nothing)
{
    dXSARGS;
    PERL_UNUSED_VAR(items);
    XSRETURN_EMPTY;
}

static void boot_autoload(pTHX)
{
    static const char *const classes[] = {"Apache2::RequestRec", "Apache2::Connection", "Apache2::ServerRec"};
    size_t i;
    for (i = 0; i < sizeof classes / sizeof *classes; i++) {
        newXS(form("%s::AUTOLOAD", classes[i]), hp_autoload, __FILE__);
        newXS(form("%s::DESTROY", classes[i]), hp_nothing, __FILE__); /* else AUTOLOAD would be called for it */
    }
}

void hp_boot_api(pTHX)
{
    boot_autoload(aTHX);
    av_push(get_av("Apache2::SubRequest::ISA", GV_ADD), newSVpvs("Apache2::RequestRec"));
    hp_boot_record(aTHX);
    hp_boot_io(aTHX);
    hp_boot_handles(aTHX);
    hp_boot_errors(aTHX);
    hp_boot_programs(aTHX);
    hp_boot_table(aTHX);
    hp_boot_request(aTHX);
    hp_boot_server(aTHX);
}
