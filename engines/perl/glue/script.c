/* CGI scripts under `Isolation fork`: a program of its own in a process of its own, which was forked from the warm
 * interpreter and ends with it.
 *
 * So everything is real here: `exit` can't be caught, an uncaught error goes to standard error, END blocks run before
 * the answer is complete, programs that the script starts inherit %ENV and write to its output. */
#include "api.h"
#include "perl_glue.h"

#include <sys/mman.h>
#include <unistd.h>

/* hostler_wire::work::request_flag */
#define SUEXEC (1u << 9)

/* What programs write that the script starts: kept in memory, put in its place when the script itself writes again. */
static int side = -1;
static off_t side_sent;

static void catch_side_output(void)
{
    side = memfd_create("output", MFD_CLOEXEC);
    side_sent = 0;
    if (side >= 0)
        dup2(side, STDOUT_FILENO);
}

static void pass_side_output(pTHX_ hp_request *r)
{
    static char piece[8192];
    ssize_t count;
    while (side >= 0 && (count = pread(side, piece, sizeof piece, side_sent)) > 0) {
        side_sent += count;
        hp_request_write(aTHX_ r, piece, (STRLEN)count);
    }
}

static int is_nph(hp_str filename)
{
    const char *slash = filename.ptr ? memrchr(filename.ptr, '/', filename.len) : NULL;
    const char *end = filename.ptr + filename.len;
    return slash && end - slash > 5 && memcmp(slash + 1, "nph-", 4) == 0;
}

/* Called when the script has been compiled and begins: from here on it is not something that is being required, so
 * what dies is the program, with its own words only. */
XS_INTERNAL(begin)
{
    dXSARGS;
    PERL_UNUSED_VAR(items);
    PL_in_eval = EVAL_NULL;
    /* What modules had of these before the fork has had its time. */
    if (PL_checkav)
        call_list(PL_scopestack_ix, PL_checkav);
    if (PL_initav)
        call_list(PL_scopestack_ix, PL_initav);
    XSRETURN_EMPTY;
}

/* A descriptor becomes descriptor 0 as well. */
XS_INTERNAL(as_input)
{
    dXSARGS;
    if (items != 1 || dup2((int)SvIV(ST(0)), STDIN_FILENO) < 0)
        croak("descriptor 0: %s", Strerror(errno));
    XSRETURN_EMPTY;
}

void hp_script_boot(pTHX)
{
    newXS("Hostler::Script::as_input", as_input, __FILE__);
    newXS("Hostler::Script::begin", begin, __FILE__);
}

/* Without an eval around it: $^S is what it is in a script, and what dies ends it. */
static void run_script(pTHX_ void *context)
{
    hp_request *r = context;
    dSP;
    ENTER;
    SAVETMPS;
    PUSHMARK(SP);
    mXPUSHs(hp_request_sv(aTHX_ r));
    mXPUSHs(newSVuv(r->in->flags & SUEXEC));
    PUTBACK;
    call_pv("Hostler::Script::run", G_VOID | G_DISCARD);
    FREETMPS;
    LEAVE;
}

/* Objects in variables of the script's own end before its answer is complete, as they do when an interpreter ends. */
static void end_objects(pTHX_ void *context)
{
    dSP;
    PERL_UNUSED_ARG(context);
    PUSHMARK(SP);
    call_pv("Hostler::Script::end_objects", G_VOID | G_DISCARD);
}

static void load(pTHX_ void *context)
{
    PERL_UNUSED_ARG(context);
    load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Hostler::Script"), NULL);
}

/* Not even the beginning of a header was printed. */
static int is_silent(const hp_request *r)
{
    return r->parse_headers && !r->header_text && r->head_state == HP_HEAD_UNSENT && !hp_request_has_output(r);
}

static int no_header(pTHX_ hp_request *r)
{
    hp_str name = hp_request_text(aTHX_ r->filename, r->in->filename);
    hp_log_text(aTHX_ 3, 1, sv_2mortal(newSVpvf("End of script output before headers: %.*s", (int)name.len, name.ptr)));
    return 500;
}

int hp_script_respond(pTHX_ hp_request *r)
{
    if (hp_guarded(aTHX_ load, NULL))
        return 500;
    r->assbackwards = is_nph(hp_request_text(aTHX_ r->filename, r->in->filename));
    r->parse_headers = !r->assbackwards;
    hp_exit_for_real();
    hp_tie(aTHX_ r);
    if (PL_checkav)
        av_clear(PL_checkav);
    if (PL_initav)
        av_clear(PL_initav);
    catch_side_output();
    hp_before_output = pass_side_output;
    (void)hp_guarded(aTHX_ run_script, r);
    (void)hp_guarded(aTHX_ hp_run_end_blocks, NULL);
    (void)hp_guarded(aTHX_ end_objects, NULL);
    if (hp_is_forked_away())
        hp_leave_fork(aTHX_ STATUS_EXIT);
    PerlIO_flush(NULL);
    pass_side_output(aTHX_ r);
    hp_before_output = NULL;
    return is_silent(r) ? no_header(aTHX_ r) : HP_OK;
}
