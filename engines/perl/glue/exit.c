/* `exit` in programs that live on: it ends the program, not the worker.
 *
 * For mod_perl 2 it throws an APR::Error that equals ModPerl::EXIT, so an eval around it catches it, as it does
 * there. Outside of a request it is the real one. A process that a program has forked from a worker really ends. */
#include "perl_glue.h"

#include <pthread.h>
#include <unistd.h>

/* ModPerl::EXIT: APR_OS_START_USERERR. */
#define MODPERL_EXIT 120000

/* What JMPENV_PUSH says after my_exit. */
#define EXITED 2

static int forked_away, for_real;

static void note_fork(void)
{
    if (hp_current)
        forked_away = 1;
}

int hp_is_forked_away(void)
{
    return forked_away;
}

void hp_exit_for_real(void)
{
    for_real = 1;
}

void hp_run_end_blocks(pTHX_ void *context)
{
    PERL_UNUSED_ARG(context);
    if (PL_endav)
        call_list(PL_scopestack_ix, PL_endav);
}

void hp_leave_fork(pTHX_ int status)
{
    PerlIO_flush(NULL);
    _exit(status);
}

static void throw_exit(pTHX)
{
    HV *error = newHV();
    (void)hv_stores(error, "rc", newSViv(MODPERL_EXIT));
    (void)hv_stores(error, "func", newSVpvs("ModPerl::Util::exit"));
    (void)hv_stores(error, "file", newSVpv(CopFILE(PL_curcop) ? CopFILE(PL_curcop) : "", 0));
    (void)hv_stores(error, "line", newSViv((IV)CopLINE(PL_curcop)));
    /* $SIG{__DIE__} is for what dies (CGI::Carp sends an error page from it); it is back when this has been caught. */
    ENTER;
    SAVESPTR(PL_diehook);
    PL_diehook = NULL;
    croak_sv(sv_2mortal(sv_bless(newRV_noinc((SV *)error), gv_stashpvs("APR::Error", GV_ADD))));
}

XS_INTERNAL(exit_program)
{
    dXSARGS;
    int status = items > 0 ? (int)SvIV(ST(0)) : 0;
    if (forked_away)
        hp_leave_fork(aTHX_ status);
    if (!hp_current || for_real)
        my_exit((U32)status);
    throw_exit(aTHX);
    XSRETURN_EMPTY;
}

int hp_is_exit(pTHX_ SV *error)
{
    SV **code;
    const char *class;
    if (!SvROK(error) || !SvOBJECT(SvRV(error)) || SvTYPE(SvRV(error)) != SVt_PVHV)
        return 0;
    class = HvNAME_get(SvSTASH(SvRV(error)));
    if (!class || strNE(class, "APR::Error"))
        return 0;
    code = hv_fetchs((HV *)SvRV(error), "rc", 0);
    return code && SvIV(*code) == MODPERL_EXIT;
}

void hp_exit_boot(pTHX)
{
    static const char *const names[] = {"ModPerl::Util::exit", "Apache::exit"};
    GV *override = gv_fetchpvs("CORE::GLOBAL::exit", GV_ADDMULTI, SVt_PVCV);
    CV *code = newXS("Hostler::exit", exit_program, __FILE__);
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        newXS(names[i], exit_program, __FILE__);
    SvREFCNT_dec((SV *)GvCV(override));
    GvCV_set(override, (CV *)SvREFCNT_inc((SV *)code));
    GvIMPORTED_CV_on(override);
    mro_method_changed_in(GvSTASH(override));
    pthread_atfork(NULL, NULL, note_fork);
}

int hp_guarded(pTHX_ void (*work)(pTHX_ void *), void *context)
{
    dJMPENV;
    int jumped;
    I32 scopes = PL_scopestack_ix;
    SSize_t stack = PL_stack_sp - PL_stack_base, marks = PL_markstack_ptr - PL_markstack;
    JMPENV_PUSH(jumped);
    if (jumped == 0)
        work(aTHX_ context);
    else if (jumped == EXITED && hp_current && !for_real && STATUS_EXIT)
        _exit(STATUS_EXIT); /* the interpreter gives up (out of memory), or CORE::exit: the answer is not complete */
    else {
        while (PL_scopestack_ix > scopes)
            LEAVE;
        FREETMPS;
        PL_stack_sp = PL_stack_base + stack;
        PL_markstack_ptr = PL_markstack + marks;
    }
    JMPENV_POP;
    return jumped != 0;
}
