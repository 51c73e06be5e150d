/* Programs that Perl starts: what Apache2::SubProcess does of it, and taint checks of backticks, system, exec and pipes.
 *
 * Perl looks then whether %ENV is the process's own, by the hash's magic; a request's is another hash, and has none: its
 * values go to no program that is started. So it has such magic, without effect, while one of these operations runs; what is
 * insecure in it (PATH and its kin) is told as under mod_perl. */
#include "api.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

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

/* The strings of an array, as exec wants them; they are the array's, and live as long as that does. */
static char **strings(pTHX_ SV *list)
{
    AV *array = SvROK(list) && SvTYPE(SvRV(list)) == SVt_PVAV ? (AV *)SvRV(list) : NULL;
    SSize_t count = array ? av_len(array) + 1 : 0, i;
    char **all;
    Newxz(all, count + 1, char *);
    SAVEFREEPV(all);
    for (i = 0; i < count; i++) {
        SV **one = av_fetch(array, i, 0);
        all[i] = one ? SvPV_nolen(*one) : "";
    }
    return all;
}

/* In the child. Only what may be called between fork and exec is. */
static void become(const char *path, char **arguments, char **env, const int *streams)
{
    int stream, nothing = open("/dev/null", O_RDWR);
    sigset_t none;
    /* Out of the way first: an end of a pipe may have one of the three numbers. */
    int ends[3];
    for (stream = 0; stream < 3; stream++)
        ends[stream] = fcntl(streams[stream] < 0 ? nothing : streams[stream], F_DUPFD_CLOEXEC, 3);
    for (stream = 0; stream < 3; stream++)
        if (ends[stream] < 0 || dup2(ends[stream], stream) < 0)
            _exit(127);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execve(path, arguments, env);
    _exit(127);
}

/* start(path, arguments with the name, environment, descriptors of input, output and errors; -1: none): its process. Nothing is
 * looked for in PATH, and taint is not asked about, as where the server starts it. */
XS(hp_start_program)
{
    dXSARGS;
    const char *path;
    char **arguments, **env;
    int streams[3], i;
    pid_t child;
    if (items < 6)
        croak("Usage: Hostler::start(path, arguments, environment, input, output, errors)");
    ENTER;
    path = SvPV_nolen(ST(0));
    arguments = strings(aTHX_ ST(1));
    env = strings(aTHX_ ST(2));
    for (i = 0; i < 3; i++)
        streams[i] = (int)SvIV(ST(3 + i));
    child = fork();
    if (child == 0)
        become(path, arguments, env, streams);
    LEAVE;
    HP_ANSWER(newSViv(child));
}

void hp_boot_programs(pTHX)
{
    static const hp_xsub list[] = {
        {"Hostler::start", hp_start_program, 0},
    };
    HP_REGISTER(list);
    backtick = PL_ppaddr[OP_BACKTICK];
    PL_ppaddr[OP_BACKTICK] = backtick_checked;
    run_system = PL_ppaddr[OP_SYSTEM];
    PL_ppaddr[OP_SYSTEM] = system_checked;
    run_exec = PL_ppaddr[OP_EXEC];
    PL_ppaddr[OP_EXEC] = exec_checked;
    open_file = PL_ppaddr[OP_OPEN];
    PL_ppaddr[OP_OPEN] = open_checked;
}
