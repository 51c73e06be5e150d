/* CGI scripts under `Isolation fork`: a program of its own in a process of its own, which was forked from the warm
 * interpreter and ends with it.
 *
 * So everything is real here: `exit` can't be caught, an uncaught error goes to standard error, END blocks run before
 * the answer is complete, programs that the script starts inherit %ENV and write to its output. */
#include "api.h"
#include "perl_glue.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* hostler_wire::work::request_flag */
#define SUEXEC (1u << 9)
#define BODY   (1u << 4)

/* What the grammar calls GRAMPROG. */
#define WHOLE_PROGRAM 258

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
}

/* ---- the file ---- */

static void refuse(pTHX_ const char *file, const char *why)
{
    croak("%s: %s\n", file, why);
}

/* As suexec: nothing that others could have put here or changed. Judged is the very file that is read, and the
 * directory that the script runs in. */
static void check(pTHX_ const char *file, int descriptor)
{
    struct stat facts;
    if (fstat(descriptor, &facts))
        refuse(aTHX_ file, Strerror(errno));
    if (facts.st_uid && facts.st_uid != geteuid())
        croak("%s is not run: it belongs to uid %u, not to the site's uid %u or root: chown it\n", file,
              (unsigned)facts.st_uid, (unsigned)geteuid());
    if (facts.st_mode & 022)
        croak("%s is not run: it is writable by group or others (mode %04o): chmod go-w it\n", file,
              (unsigned)facts.st_mode & 07777);
    if ((facts.st_mode & S_ISUID && facts.st_uid != geteuid()) ||
        (facts.st_mode & S_ISGID && facts.st_gid != getegid()))
        croak("%s is not run: it is set-user-id or set-group-id (mode %04o): chmod ug-s it\n", file,
              (unsigned)facts.st_mode & 07777);
    if (stat(".", &facts))
        refuse(aTHX_ file, Strerror(errno));
    if (facts.st_mode & 022)
        croak("%s is not run: its directory is writable by group or others (mode %04o): chmod go-w the directory\n",
              file, (unsigned)facts.st_mode & 07777);
}

static void enter_folder(pTHX_ char *file)
{
    char *slash = strrchr(file, '/');
    int failed;
    if (!slash)
        refuse(aTHX_ file, "it is in no directory");
    *slash = 0;
    failed = chdir(*file ? file : "/");
    *slash = '/';
    if (failed)
        croak("chdir to the directory of %s: %s\n", file, Strerror(errno));
}

/* One word of switches. Scripts with others than these are started anew, by the front. */
static void obey(pTHX_ const char *word, size_t length)
{
    if (memchr(word, 'T', length) && !TAINTING_get)
        croak("\"-T\" is on the first line, but the pool has no taint checks: add PerlTaintCheck On, or use Isolation "
              "exec\n");
    if (memchr(word, 'w', length))
        PL_dowarn |= G_WARN_ON;
    if (memchr(word, 'l', length) && !PL_ors_sv) /* $\ */
        PL_ors_sv = newSVpvs("\n");
}

/* The lines of the program that perl is not given: the first, which says how to start it. Its switches -w and -l hold;
 * without the checks that -T asks for it is not run, as perl itself would not. */
static line_t skip_shebang(pTHX_ PerlIO *text)
{
    SV *line = sv_2mortal(newSVpvs(""));
    const char *first, *at;
    if (!sv_gets(line, text, 0))
        return 0;
    first = SvPVX(line);
    if (strnNE(first, "#!", 2)) {
        PerlIO_rewind(text);
        return 0;
    }
    at = ninstr(first, SvEND(line), "perl", "perl" + 4);
    at = at ? at + 4 : SvEND(line);
    for (at += strspn(at, " \t"); *at == '-'; at += strspn(at, " \t")) {
        size_t length = strcspn(++at, " \t\r\n");
        obey(aTHX_ at, length);
        at += length;
    }
    return 1;
}

static PerlIO *opened(pTHX_ hp_request *r, char *file, line_t *skipped)
{
    int descriptor = open(file, O_RDONLY | O_CLOEXEC);
    PerlIO *text;
    if (descriptor < 0)
        refuse(aTHX_ file, Strerror(errno));
    enter_folder(aTHX_ file);
    if (r->in->flags & SUEXEC)
        check(aTHX_ file, descriptor);
    text = PerlIO_fdopen(descriptor, "r");
    if (!text)
        refuse(aTHX_ file, Strerror(errno));
    *skipped = skip_shebang(aTHX_ text);
    return text;
}

/* ---- the program ---- */

/* As the interpreter does with the file that it was started for; a public name for it there is not. What fails has been
 * written to standard error. */
static void compile(pTHX_ char *file, PerlIO *text, line_t skipped)
{
    ENTER;
    PL_origfilename = file;
    PL_main_root = PL_main_start = NULL;
    PL_main_cv = PL_compcv = MUTABLE_CV(newSV_type(SVt_PVCV));
    CvUNIQUE_on(PL_compcv);
    CvPADLIST_set(PL_compcv, Perl_pad_new(aTHX_ 0));
    PL_hints = 0;
    PL_curcop = &PL_compiling;
    lex_start(NULL, text, 0);
    CopFILE_set(&PL_compiling, file);
    CopLINE_set(&PL_compiling, skipped);
    CopSTASH_set(&PL_compiling, PL_defstash);
    if (Perl_yyparse(aTHX_ WHOLE_PROGRAM) || PL_parser->error_count)
        croak(PL_minus_c ? "%s had compilation errors.\n" : "Execution of %s aborted due to compilation errors.\n",
              file);
    CopLINE_set(&PL_compiling, 0);
    LEAVE;
}

/* Without an eval around it: $^S is what it is in a script, and what dies ends it. */
static void run(pTHX)
{
    if (PL_unitcheckav)
        call_list(PL_scopestack_ix, PL_unitcheckav);
    if (PL_checkav)
        call_list(PL_scopestack_ix, PL_checkav);
    if (PL_initav)
        call_list(PL_scopestack_ix, PL_initav);
    PL_phase = PERL_PHASE_RUN;
    CATCH_SET(TRUE);
    PL_op = PL_main_start;
    if (PL_op)
        CALLRUNOPS(aTHX);
}

/* ---- exec ---- */

static Perl_ppaddr_t real_exec;
static int replaced;

/* exec's program answers in the script's place. It is a child here, so that the worker is still there to send what it
 * writes; nothing of the script runs any more, neither END blocks nor destructors. */
static OP *exec_beside(pTHX)
{
    int status = 0;
    pid_t child;
    if (hp_is_forked_away())
        return real_exec(aTHX);
    PERL_FLUSHALL_FOR_CHILD;
    child = PerlProc_fork();
    if (child <= 0) /* the child; or no process can be had: exec can't work either, and says so */
        return real_exec(aTHX);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    replaced = 1;
    my_exit(WIFEXITED(status) ? (U32)WEXITSTATUS(status) : 255);
    return NULL;
}

/* CGI.pm looks for its surroundings when it is loaded, which the parent may have done; others look for the version. */
static void forget_mod_perl(pTHX)
{
    SV *version = get_sv("CGI::MOD_PERL", 0);
    if (version && SvTRUE(version))
        sv_setiv(version, 0);
    sv_setsv(get_sv("mod_perl::VERSION", GV_ADD), &PL_sv_undef);
    sv_setsv(get_sv("mod_perl2::VERSION", GV_ADD), &PL_sv_undef);
}

/* What is rare is written in Perl. */
static void call_helper(pTHX_ const char *name, hp_request *r)
{
    dSP;
    ENTER;
    SAVETMPS;
    PUSHMARK(SP);
    mXPUSHs(hp_request_sv(aTHX_ r));
    PUTBACK;
    call_pv(name, G_VOID | G_DISCARD);
    FREETMPS;
    LEAVE;
}

static int has_body(const hp_request *r)
{
    return r->in->flags & BODY;
}

static void run_script(pTHX_ void *context)
{
    hp_request *r = context;
    hp_str name = hp_request_text(aTHX_ r->filename, r->in->filename);
    hp_str args = hp_request_text(aTHX_ r->args, r->in->args);
    char *file = savepvn(name.ptr, name.len);
    line_t skipped = 0;
    PerlIO *text = opened(aTHX_ r, file, &skipped);
    hp_env_export(aTHX_ r);
    forget_mod_perl(aTHX);
    av_clear(GvAVn(PL_argvgv));
    sv_setpvn(get_sv("0", GV_ADD), name.ptr, name.len);
    if (args.len && !memchr(args.ptr, '=', args.len))
        call_helper(aTHX_ "Hostler::Script::set_arguments", r);
    if (has_body(r))
        call_helper(aTHX_ "Hostler::Script::offer_input", r);
    compile(aTHX_ file, text, skipped);
    run(aTHX);
}

/* As long as its objects are there. */
static void end_pool(pTHX_ void *context)
{
    hp_request_run_cleanups(aTHX_ context);
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

static void end_script(pTHX_ hp_request *r)
{
    PL_phase = PERL_PHASE_END;
    (void)hp_guarded(aTHX_ hp_run_end_blocks, NULL);
    PerlIO_flush(NULL);
    (void)hp_guarded(aTHX_ end_pool, r);
    (void)hp_guarded(aTHX_ hp_objects_end, NULL);
}

int hp_script_respond(pTHX_ hp_request *r)
{
    r->assbackwards = is_nph(hp_request_text(aTHX_ r->filename, r->in->filename));
    r->parse_headers = !r->assbackwards;
    hp_exit_for_real();
    hp_tie(aTHX);
    /* What modules had of these before the fork has had its time. */
    if (PL_checkav)
        av_clear(PL_checkav);
    if (PL_initav)
        av_clear(PL_initav);
    catch_side_output();
    hp_before_output = pass_side_output;
    (void)time(&PL_basetime); /* $^T: the script begins now */
    real_exec = PL_ppaddr[OP_EXEC];
    PL_ppaddr[OP_EXEC] = exec_beside;
    (void)hp_guarded(aTHX_ run_script, r);
    if (!replaced)
        end_script(aTHX_ r);
    PL_phase = PERL_PHASE_RUN;
    if (hp_is_forked_away())
        hp_leave_fork(aTHX_ STATUS_EXIT);
    PerlIO_flush(NULL);
    pass_side_output(aTHX_ r);
    hp_before_output = NULL;
    return is_silent(r) ? no_header(aTHX_ r) : HP_OK;
}
