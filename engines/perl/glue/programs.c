/* Programs that Perl starts under taint checks: backticks, system, exec and pipes.
 *
 * Perl looks then whether %ENV is the process's own, by the hash's magic; a request's is another hash, and has none: its
 * values go to no program that is started. So it has such magic, without effect, while one of these operations runs; what is
 * insecure in it (PATH and its kin) is told as under mod_perl. */
#include "api.h"

static OP *(*backtick)(pTHX), *(*run_system)(pTHX), *(*run_exec)(pTHX), *(*open_file)(pTHX);

static MGVTBL without_effect;

static void take_magic(pTHX_ void *env)
{
    sv_unmagicext((SV *)env, PERL_MAGIC_env, &without_effect);
    SvREFCNT_dec((SV *)env);
}

/* Perl looks for magic at the value of PATH without asking whether it can have some: values of %ENV always have. */
static void let_have_magic(pTHX_ HV *env)
{
    SV **path = env ? hv_fetchs(env, "PATH", FALSE) : NULL;
    if (path && *path && SvTYPE(*path) < SVt_PVMG)
        sv_upgrade(*path, SVt_PVMG);
}

static OP *with_magic(pTHX_ OP *(*operation)(pTHX))
{
    HV *env = GvHV(PL_envgv);
    OP *next;
    if (TAINTING_get)
        let_have_magic(aTHX_ env);
    if (!TAINTING_get || !env || (SvRMAGICAL((SV *)env) && mg_find((SV *)env, PERL_MAGIC_env)))
        return operation(aTHX);
    ENTER;
    SvREFCNT_inc_simple_void_NN((SV *)env);
    (void)sv_magicext((SV *)env, NULL, PERL_MAGIC_env, &without_effect, NULL, 0);
    SvRMAGICAL_on((SV *)env);
    SAVEDESTRUCTOR_X(take_magic, env);
    next = operation(aTHX);
    LEAVE;
    return next;
}

static OP *backtick_checked(pTHX)
{
    return with_magic(aTHX_ backtick);
}

static OP *system_checked(pTHX)
{
    return with_magic(aTHX_ run_system);
}

static OP *exec_checked(pTHX)
{
    return with_magic(aTHX_ run_exec);
}

static OP *open_checked(pTHX)
{
    return with_magic(aTHX_ open_file);
}

void hp_boot_programs(pTHX)
{
    PERL_UNUSED_CONTEXT;
    backtick = PL_ppaddr[OP_BACKTICK];
    PL_ppaddr[OP_BACKTICK] = backtick_checked;
    run_system = PL_ppaddr[OP_SYSTEM];
    PL_ppaddr[OP_SYSTEM] = system_checked;
    run_exec = PL_ppaddr[OP_EXEC];
    PL_ppaddr[OP_EXEC] = exec_checked;
    open_file = PL_ppaddr[OP_OPEN];
    PL_ppaddr[OP_OPEN] = open_checked;
}
