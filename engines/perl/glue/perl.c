/* The interpreter's life: it is made in the parent, loads what is shared, is forked with the workers, and ends.
 *
 * Whatever programs do at load time, `exit` included, comes back as an error message, never as the process's end. */
#include "api.h"
#include "perl_glue.h"
#include "registry.h"

static PerlInterpreter *my_perl;

EXTERN_C void boot_DynaLoader(pTHX_ CV *cv);

const char *hp_perl_version(void)
{
    return "perl v" STRINGIFY(PERL_REVISION) "." STRINGIFY(PERL_VERSION) "." STRINGIFY(PERL_SUBVERSION);
}

void hp_free(void *memory)
{
    free(memory);
}

/* ---- boot ---- */

static void xs_init(pTHX)
{
    const hp_module *module;
    newXS("DynaLoader::boot_DynaLoader", boot_DynaLoader, __FILE__);
    hp_inc_boot(aTHX_ hp_settings.server_root);
    hp_loaded_boot(aTHX);
    hp_exit_boot(aTHX);
    hp_script_boot(aTHX);
    if (hp_settings.one_shot)
        hp_exported_boot(aTHX);
    hp_boot_api(aTHX);
    for (module = hp_modules; module->name; module++) {
        dSP;
        CV *boot = newXS(SvPV_nolen(sv_2mortal(newSVpvf("%s::bootstrap", module->name))), module->boot, __FILE__);
        PUSHMARK(SP);
        mXPUSHp(module->name, strlen(module->name));
        PUTBACK;
        call_sv((SV *)boot, G_VOID | G_DISCARD);
    }
}

static char *copy_of(hp_str text)
{
    char *copy = malloc(text.len + 1);
    if (!copy)
        abort();
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    return copy;
}

static void set_variable(hp_str name, hp_str value)
{
    char *copied_name = copy_of(name), *copied_value = copy_of(value);
    setenv(copied_name, copied_value, 1);
    free(copied_name);
    free(copied_value);
}

static hp_str word(const char *text)
{
    hp_str answer = {text, strlen(text)};
    return answer;
}

/* Before perl_parse(), so that %ENV has them and programs started from Perl inherit them. */
static void prepare_environment(const hp_setup *setup)
{
    size_t i;
    int old = setup->generation == 1;
    for (i = 0; i < setup->env.count; i++)
        set_variable(setup->env.list[i].name, setup->env.list[i].value);
    set_variable(word("MOD_PERL"), word(old ? "mod_perl/1.31" : "mod_perl/2.0.12"));
    if (old) {
        set_variable(word("GATEWAY_INTERFACE"), word("CGI-Perl/1.1"));
        unsetenv("MOD_PERL_API_VERSION");
    } else
        set_variable(word("MOD_PERL_API_VERSION"), word("2"));
}

/* perl's command line: the switches, and a program that does nothing. Kept for ever: perl refers to it. */
static char **command_line(const hp_setup *setup, int *count)
{
    char **line = calloc(setup->switch_count + 4, sizeof *line);
    size_t i;
    if (!line)
        abort();
    *count = 0;
    line[(*count)++] = copy_of(word("hostler-perl"));
    for (i = 0; i < setup->switch_count; i++)
        line[(*count)++] = copy_of(setup->switches[i]);
    line[(*count)++] = copy_of(word("-e"));
    line[(*count)++] = copy_of(word("0"));
    return line;
}

char *hp_message_of(pTHX_ SV *sv)
{
    STRLEN length;
    const char *text = SvPV(sv, length);
    hp_str whole = {text, length};
    while (whole.len && text[whole.len - 1] == '\n')
        whole.len--;
    return copy_of(whole);
}

static int load_own(pTHX_ const char *file, char **error)
{
    size_t length;
    if (!hp_embedded(file, &length))
        return 0;
    eval_sv(sv_2mortal(newSVpvf("require '%s'; 1", file)), G_SCALAR | G_DISCARD);
    if (!SvTRUE(ERRSV))
        return 0;
    *error = hp_message_of(aTHX_ ERRSV);
    return -1;
}

/* $^X and $0: this program's file, as the server's program is for mod_perl. FindBin dies where there is none; after an
 * upgrade under the running server another one stands there. $0 without room for it: programs that assign to it must not
 * rename the process, nor pay for it. */
static void name_program(pTHX)
{
    static const char gone[] = " (deleted)"; /* as the kernel tells that */
    SV *own = get_sv("\030", GV_ADD), *program = get_sv("0", GV_ADD);
    STRLEN length, much = sizeof gone - 1;
    const char *text = SvPV(own, length);
    if (length > much && memcmp(text + length - much, gone, much) == 0)
        sv_setsv(own, sv_2mortal(newSVpvn(text, length - much)));
    PL_origalen = 1;
    sv_unmagic(program, PERL_MAGIC_sv);
    sv_setsv(program, own);
}

int hp_perl_boot(const hp_setup *setup, char **error)
{
    int count;
    char **line = command_line(setup, &count);
    extern char **environ;
    prepare_environment(setup);
    PERL_SYS_INIT3(&count, &line, &environ);
    my_perl = perl_alloc();
    if (!my_perl) {
        *error = copy_of(word("perl can't be made: out of memory"));
        return -1;
    }
    perl_construct(my_perl);
    hp_keep_setup(setup);
    PL_perl_destruct_level = 0;
    PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
    if (perl_parse(my_perl, xs_init, count, line, NULL) != 0) {
        *error = copy_of(word("perl does not start with these PerlSwitches; its reason is in the ErrorLog"));
        return -1;
    }
    if (hp_settings.generation != 1) { /* as mod_perl tells whether taint is checked */
        SV *taint = get_sv("Apache2::__T", GV_ADD);
        sv_setiv(taint, TAINTING_get ? 1 : 0);
        SvREADONLY_on(taint);
    }
    name_program(aTHX);
    hp_cwd_home(aTHX_ setup->server_root.ptr, setup->server_root.len);
    /* What every request of such a worker needs is shared by all of them. */
    if (setup->one_shot && load_own(aTHX_ "Hostler/Script.pm", error))
        return -1;
    /* Programs look at $mod_perl::VERSION unasked. */
    if (load_own(aTHX_ setup->generation == 1 ? "mod_perl.pm" : "mod_perl2.pm", error))
        return -1;
    return load_own(aTHX_ setup->generation == 1 ? "Apache.pm" : "APR/Error.pm", error);
}

/* ---- loading ---- */

typedef struct {
    int kind;
    hp_str text, origin;
    int configured;
    SV *why; /* NULL: all is well */
} loading;

enum { LOAD_MODULE, LOAD_FILE, LOAD_LATE_FILE, LOAD_LATE_CALL, LOAD_CODE };

static const char *const directives[] = {"PerlModule ", "PerlRequire ", "PerlPostConfigRequire ",
                                         "PerlPostConfigHandler ", "<Perl>"};

static int is_module_name(hp_str text)
{
    size_t i;
    for (i = 0; i < text.len; i++)
        if (!isWORDCHAR_A(text.ptr[i]) && text.ptr[i] != ':')
            return 0;
    return text.len > 0;
}

/* `package`, so that variables of sections stay together; the line, so that messages name the configuration's, whose file is
 * $0 as well. */
static SV *section_code(pTHX_ const loading *l)
{
    const char *colon = l->origin.ptr ? (const char *)memrchr(l->origin.ptr, ':', l->origin.len) : NULL;
    SV *code = newSVpvs("");
    if (hp_settings.generation == 2) /* sections ask it which server they are for */
        sv_catpvs(code, "require Apache2::PerlSections; ");
    sv_catpvs(code, "package Apache2::ReadConfig; no strict;");
    if (colon) {
        sv_catpvs(code, "local $0 = q");
        sv_catpvn(code, "\0", 1);
        sv_catpvn(code, l->origin.ptr, colon - l->origin.ptr);
        sv_catpvn(code, "\0", 1);
        sv_catpvs(code, ";");
    }
    sv_catpvs(code, "\n");
    if (colon)
        sv_catpvf(code, "#line %.*s \"%.*s\"\n", (int)(l->origin.ptr + l->origin.len - colon - 1), colon + 1,
                  (int)(colon - l->origin.ptr), l->origin.ptr);
    /* A section's lines begin below the directive; `Perl code` is one line. */
    if (l->text.len && l->text.ptr[l->text.len - 1] == '\n')
        sv_catpvs(code, "\n");
    sv_catpvn(code, l->text.ptr, l->text.len);
    return sv_2mortal(code);
}

static SV *object_of(pTHX_ const char *class, const char *constructor)
{
    dSP;
    SV *object;
    if (!gv_fetchmethod_autoload(gv_stashpv(class, GV_ADD), constructor, FALSE))
        return &PL_sv_undef;
    ENTER;
    PUSHMARK(SP);
    mXPUSHp(class, strlen(class));
    PUTBACK;
    object = call_method(constructor, G_SCALAR | G_EVAL) == 1 ? (SPAGAIN, newSVsv(POPs)) : newSV(0);
    PUTBACK;
    LEAVE;
    return sv_2mortal(object);
}

static SV *main_server(pTHX)
{
    return hp_settings.server_count ? sv_2mortal(hp_server_sv(aTHX_ & hp_settings.servers[0])) : &PL_sv_undef;
}

/* PerlPostConfigHandler: (configuration's pool, log's pool, temporary pool, server). */
static void call_late(pTHX_ loading *l)
{
    SV *pool = object_of(aTHX_ "APR::Pool", "new");
    SV *arguments[] = {pool, pool, pool, main_server(aTHX)};
    int status = hp_handler_call(aTHX_ hp_handler_named(aTHX_ l->text.ptr, l->text.len), arguments, 4);
    if (SvTRUE(ERRSV))
        l->why = newSVsv(ERRSV);
    else if (status != HP_OK && status != HP_DECLINED)
        l->why = newSVpvf("it returned %d", status);
}

static void load_one(pTHX_ void *context)
{
    loading *l = context;
    SV *code = NULL;
    ENTER;
    SAVETMPS;
    /* $s->add_config and the like have had their effect when the configuration was read. */
    save_item(get_sv("Hostler::configured", GV_ADD));
    sv_setiv(get_sv("Hostler::configured", GV_ADD), l->configured);
    switch (l->kind) {
    case LOAD_MODULE:
        if (is_module_name(l->text))
            code = sv_2mortal(newSVpvf("require %.*s; 1", (int)l->text.len, l->text.ptr));
        else
            l->why = newSVpvs("this is not the name of a module");
        break;
    case LOAD_LATE_CALL: call_late(aTHX_ l); break;
    case LOAD_CODE: code = section_code(aTHX_ l); break;
    default:
        code = sv_2mortal(newSVpvs("require q"));
        sv_catpvn(code, "\0", 1);
        sv_catpvn(code, l->text.ptr, l->text.len);
        sv_catpvn(code, "\0", 1);
    }
    if (code) {
        size_t before = hp_configuration_built(aTHX);
        eval_sv(code, G_SCALAR | G_DISCARD);
        if (SvTRUE(ERRSV))
            l->why = newSVsv(ERRSV);
        else if (l->kind == LOAD_CODE && !l->configured && !hp_configuring && hp_configuration_built(aTHX) != before)
            l->why = newSVpvs("it builds configuration, which its text does not show, so that it was not run while the "
                              "configuration was read: write $PerlConfig .= ''; into it");
    }
    FREETMPS;
    LEAVE;
}

int hp_perl_preload(int kind, hp_str text, hp_str origin, int configured, char **error)
{
    loading l = {kind, text, origin, configured, NULL};
    SV *whole;
    if (hp_guarded(aTHX_ load_one, &l))
        l.why = newSVpvs("it called exit");
    if (!l.why)
        return 0;
    whole = newSVpvf("%.*s: %s%.*s: %" SVf, (int)origin.len, origin.ptr, directives[kind],
                     kind >= LOAD_CODE ? 0 : (int)text.len, text.ptr, SVfARG(l.why));
    *error = hp_message_of(aTHX_ whole);
    SvREFCNT_dec(whole);
    SvREFCNT_dec(l.why);
    sv_setpvs(ERRSV, "");
    return -1;
}

void hp_perl_loaded(void)
{
    hp_loaded_end(aTHX);
}

/* ---- workers ---- */

typedef struct {
    const hp_str *functions;
    size_t count;
    SV *why;
    const char *registered; /* what programs have added with $s->push_handlers: the directive */
} calls;

/* PerlChildInitHandler, PerlChildExitHandler: (child's pool, server). */
static int call_one(pTHX_ calls *c, hp_handler *handler)
{
    SV *arguments[] = {object_of(aTHX_ "APR::Pool", "new"), main_server(aTHX)};
    (void)hp_handler_call(aTHX_ handler, arguments, 2);
    if (SvTRUE(ERRSV))
        c->why = newSVsv(ERRSV);
    return c->why == NULL;
}

static AV *registered(pTHX_ const char *directive)
{
    HV *all = get_hv("Apache2::ServerRec::handlers", 0);
    SV **list = all ? hv_fetch(all, directive, (I32)strlen(directive), 0) : NULL;
    return list && SvROK(*list) && SvTYPE(SvRV(*list)) == SVt_PVAV ? (AV *)SvRV(*list) : NULL;
}

static void call_all(pTHX_ void *context)
{
    calls *c = context;
    AV *more = registered(aTHX_ c->registered);
    SV **given;
    size_t i;
    ENTER;
    SAVETMPS;
    for (i = 0; i < c->count; i++)
        if (!call_one(aTHX_ c, hp_handler_named(aTHX_ c->functions[i].ptr, c->functions[i].len)))
            break;
    for (i = 0; more && !c->why && (given = av_fetch(more, (SSize_t)i, 0)) && SvOK(*given); i++)
        call_one(aTHX_ c, hp_handler_of(aTHX_ * given));
    FREETMPS;
    LEAVE;
}

int hp_perl_child_init(const hp_str *functions, size_t count, char **error)
{
    calls c = {functions, count, NULL, "PerlChildInitHandler"};
    /* Otherwise all workers would draw the same numbers. */
    PL_srand_called = FALSE;
    hp_first_room();
    if (!count && !registered(aTHX_ c.registered))
        return 0;
    if (hp_guarded(aTHX_ call_all, &c))
        c.why = newSVpvs("a child init handler called exit");
    if (!c.why)
        return 0;
    *error = hp_message_of(aTHX_ c.why);
    SvREFCNT_dec(c.why);
    return -1;
}

void hp_perl_end(const hp_str *functions, size_t count, int quick)
{
    calls c = {functions, count, NULL, "PerlChildExitHandler"};
    hp_cwd_settle(aTHX);
    if (count || registered(aTHX_ c.registered))
        (void)hp_guarded(aTHX_ call_all, &c);
    if (c.why)
        PerlIO_printf(PerlIO_stderr(), "%" SVf, SVfARG(c.why));
    if (quick) {
        PL_exit_flags &= (U8)~PERL_EXIT_DESTRUCT_END;
        (void)hp_guarded(aTHX_ hp_run_end_blocks, NULL);
        PerlIO_flush(NULL);
        return;
    }
    perl_destruct(my_perl);
    perl_free(my_perl);
    my_perl = NULL;
}

/* ---- what Rust leaves to Perl while it waits ---- */

ptrdiff_t hp_in_body(char *bytes, size_t length)
{
    for (;;) {
        ptrdiff_t count = hp_ring_read(bytes, length);
        if (count != -2)
            return count;
        /* $SIG{ALRM} and so on; what dies there leaves from here. */
        PERL_ASYNC_CHECK();
    }
}
