/* A request's phases in order, and what they come to: its answer, its outcome. Trips and their ends are in trips.c.
 *
 * Rules of stacked handlers are mod_perl's. In generation 2 a phase either runs all of its handlers until one returns
 * something else than OK and DECLINED, or goes to the first that does not decline. In generation 1 all phases run all. */
#include "registry.h"
#include "trip.h"

/* A directory's handlers, found once; kept in hp_directory.cache. */
typedef struct {
    hp_handler **stack[HP_PHASES];
} plan;

static plan *plan_of(pTHX_ hp_directory *directory)
{
    plan *p = directory->cache;
    int phase;
    size_t i;
    if (p)
        return p;
    Newxz(p, 1, plan);
    for (phase = 0; phase < HP_PHASES; phase++) {
        Newxz(p->stack[phase], directory->handler_count[phase] + 1, hp_handler *);
        for (i = 0; i < directory->handler_count[phase]; i++) {
            const hp_str *word = &directory->handlers[phase][i];
            p->stack[phase][i] = hp_handler_named(aTHX_ word->ptr, word->len);
        }
    }
    directory->cache = p;
    return p;
}

/* The handler at an index of a phase; looked up anew each time, because handlers push others while they run. */
static hp_handler *handler_at(pTHX_ hp_request *r, int phase, size_t index)
{
    AV *pushed = r->pushed[phase];
    if (pushed) {
        SV **given = av_fetch(pushed, (SSize_t)index, 0);
        return given && SvOK(*given) ? hp_handler_of(aTHX_ * given) : NULL;
    }
    return index < r->directory->handler_count[phase] ? plan_of(aTHX_ r->directory)->stack[phase][index] : NULL;
}

int hp_has_handlers(pTHX_ const hp_request *r, int phase)
{
    return r->pushed[phase] ? av_len(r->pushed[phase]) >= 0 : r->directory->handler_count[phase] > 0;
}

void hp_report_error(pTHX_ hp_request *r)
{
    STRLEN length, shown;
    const char *text = SvPV(ERRSV, length);
    hp_str uri = hp_request_text(aTHX_ r->uri, r->in->uri);
    shown = length;
    while (shown && text[shown - 1] == '\n')
        shown--;
    hp_log(3, 1, text, shown);
    hp_table_merge(aTHX_ HP_TABLE(r, notes), "error-notes", 11, text, length);
    /* $@{uri}: the hash of the same name. */
    (void)hv_store(GvHVn(PL_errgv), uri.ptr, (I32)uri.len, newSVpvn(text, length), 0);
}

static int runs_all(int phase)
{
    switch (phase) {
    case HP_TRANS:
    case HP_MAP_TO_STORAGE:
    case HP_AUTHEN:
    case HP_AUTHZ:
    case HP_TYPE:
    case HP_RESPONSE: return hp_settings.generation == 1;
    default: return 1;
    }
}

/* The request's object, for as long as the trip takes. */
static SV **self_of(pTHX_ hp_trip *t)
{
    if (!t->self)
        t->self = hp_request_sv(aTHX_ t->r);
    return &t->self;
}

int hp_run_phase(pTHX_ hp_trip *t, int phase)
{
    hp_request *r = t->r;
    int answer = HP_DECLINED, all = runs_all(phase);
    size_t i;
    hp_handler *handler;
    r->phase = phase;
    for (i = 0; (handler = handler_at(aTHX_ r, phase, i)); i++) {
        int status = hp_handler_call(aTHX_ handler, self_of(aTHX_ t), 1);
        if (UNLIKELY(status == 500 && SvTRUE(ERRSV))) {
            hp_report_error(aTHX_ r);
            sv_setpvs(ERRSV, "");
            t->died = 1;
        }
        if (status == HP_DECLINED)
            continue;
        answer = status;
        if (!all || status != HP_OK)
            break;
    }
    return answer;
}

/* What is neither a status nor one of Apache's own answers is the program's error. */
/* Redirects that no specification names: Apache has no line for them, and sends an error. */
static int is_unknown(const hp_request *r, int status)
{
    return status > 308 && status < 400 && !r->status_line;
}

static int valid(pTHX_ const hp_request *r, int status, const char *format, hp_str handler)
{
    SV *text;
    if (is_unknown(r, status))
        return 500;
    if (status == HP_OK || status == HP_DECLINED || status == HP_DONE_STATUS || (status >= 100 && status < 600))
        return status;
    text = sv_2mortal(newSVpvf(format, (int)handler.len, handler.ptr, status));
    hp_log(3, 1, SvPVX(text), SvCUR(text));
    return 500;
}

static void decide(hp_trip *t, int kind, int status)
{
    t->decided = 1;
    t->outcome.kind = kind;
    t->outcome.status = (uint16_t)status;
}

/* ---- before the response ---- */

static int is_error(int status)
{
    return status != HP_OK && status != HP_DECLINED;
}

/* A handler answered the request itself, in a phase before the response's: DONE, or a status. */
static void stop_early(pTHX_ hp_trip *t, int status)
{
    hp_request *r = t->r;
    if (status == HP_DONE_STATUS) {
        hp_request_flush(aTHX_ r);
        decide(t, HP_DONE, 0);
    } else if (hp_request_forget_output(r))
        decide(t, HP_STATUS, status);
    else
        decide(t, t->died ? HP_BROKEN : HP_DONE, 0);
}

/* Authentication and authorisation in the middle of a trip have nobody after them: who declines grants nothing. */
static int fail_closed(pTHX_ hp_request *r, int phase, uint32_t later)
{
    static const char text[] = "configuration error: all Perl handlers declined to check the user or the access";
    if ((phase != HP_AUTHEN && phase != HP_AUTHZ) || !later)
        return HP_DECLINED;
    if (!hp_has_handlers(aTHX_ r, phase))
        return HP_DECLINED;
    hp_log(3, 1, text, sizeof text - 1);
    return 500;
}

static void before_response(pTHX_ hp_trip *t)
{
    hp_request *r = t->r;
    uint32_t phases = r->in->phases;
    int phase, status = HP_DECLINED, refused = 0;
    if (phases & BEFORE_RESPONSE)
        hp_env_configured(aTHX_ r);
    for (phase = 0; phase < HP_RESPONSE && !t->decided; phase++) {
        if (!(phases & 1u << phase))
            continue;
        status = hp_run_phase(aTHX_ t, phase);
        if (phase == HP_ACCESS && r->directory->satisfy_any && phases & (1u << HP_AUTHEN | 1u << HP_AUTHZ)) {
            /* Satisfy any: either the address or the user will do. */
            if (status == HP_OK)
                phases &= ~(1u << HP_AUTHEN | 1u << HP_AUTHZ);
            refused = is_error(status) && !t->died;
            if (refused)
                continue;
        }
        if (status == HP_DECLINED)
            status = fail_closed(aTHX_ r, phase, phases >> (phase + 1) & ((2u << HP_RESPONSE) - 1) >> (phase + 1));
        if (is_error(status))
            stop_early(aTHX_ t, valid(aTHX_ t->r, status, "%.*sInvalid response status %d", hp_literal("")));
        else if (r->is_configured_anew && phases >> (phase + 1)) {
            /* What has been added may forbid what comes next. */
            t->stopped = phase;
            break;
        }
    }
    /* Of a trip that ends before the response: what its last phase said. */
    if (!t->decided)
        t->outcome.kind = status == HP_OK && !(phases & 1u << HP_RESPONSE) ? HP_DONE : HP_DECLINED_REQUEST;
}

/* ---- the response ---- */

static int kind_of(hp_str name)
{
    if (name.len == 7 && memcmp(name.ptr, "modperl", 7) == 0)
        return MODPERL;
    if (name.len == 11 && memcmp(name.ptr, "perl-script", 11) == 0)
        return PERL_SCRIPT;
    if (name.len == 4 && memcmp(name.ptr, "psgi", 4) == 0)
        return PSGI;
    if (name.len == 8 && memcmp(name.ptr, "cgi-fork", 8) == 0)
        return CGI_SCRIPT;
    if ((name.len == 18 && memcmp(name.ptr, "perl-output-filter", 18) == 0) ||
        (name.len == 17 && memcmp(name.ptr, "perl-input-filter", 17) == 0))
        return FILTER;
    return NO_HANDLER;
}

int hp_handler_kind(pTHX_ hp_request *r)
{
    return kind_of(hp_request_text(aTHX_ r->handler, r->in->handler));
}

/* A function of the engine's own that answers. */
static int call_own(pTHX_ hp_trip *t, hp_handler **serve, const char *word)
{
    int status;
    if (!*serve)
        *serve = hp_handler_named(aTHX_ word, strlen(word));
    status = hp_handler_call(aTHX_ * serve, self_of(aTHX_ t), 1);
    if (status == 500 && SvTRUE(ERRSV)) {
        hp_report_error(aTHX_ t->r);
        sv_setpvs(ERRSV, "");
        t->died = 1;
    }
    return status;
}

static int call_psgi(pTHX_ hp_trip *t)
{
    static hp_handler *serve;
    return call_own(aTHX_ t, &serve, "Hostler::PSGI::serve");
}

/* What somebody else has made, or a client has sent, goes through the request's filters. */
static int call_filters(pTHX_ hp_trip *t)
{
    static hp_handler *output, *input;
    int is_output = hp_request_text(aTHX_ t->r->handler, t->r->in->handler).len == 18;
    t->r->parse_headers = 0;
    hp_env_configured(aTHX_ t->r);
    return is_output ? call_own(aTHX_ t, &output, "Hostler::Filter::serve_output")
                     : call_own(aTHX_ t, &input, "Hostler::Filter::serve_input");
}

static int respond(pTHX_ hp_trip *t, int kind)
{
    hp_request *r = t->r;
    uint32_t flags = r->directory->flags;
    hp_str name = hp_request_text(aTHX_ r->handler, r->in->handler);
    r->phase = HP_RESPONSE;
    r->is_filtered = kind == PSGI || kind == PERL_SCRIPT || kind == MODPERL;
    if (kind == FILTER)
        return call_filters(aTHX_ t);
    if (kind == PSGI)
        return call_psgi(aTHX_ t);
    if (kind == CGI_SCRIPT)
        return hp_script_respond(aTHX_ r);
    if (flags & HP_SETUP_ENV || (kind == PERL_SCRIPT && !(flags & HP_SETUP_ENV_SET)))
        hp_env_fill(aTHX_ r);
    else if (!(r->in->phases & BEFORE_RESPONSE))
        hp_env_configured(aTHX_ r);
    if (kind == PERL_SCRIPT)
        hp_tie(aTHX);
    hp_request_begin_filters(aTHX_ r);
    return valid(aTHX_ r, hp_run_phase(aTHX_ t, HP_RESPONSE), "Handler for %.*s returned invalid result code %d", name);
}

static void set_redirect(pTHX_ hp_trip *t)
{
    STRLEN length;
    const char *target = SvPV(t->r->redirect, length);
    char *copy = malloc(length + 1);
    if (!copy)
        return;
    memcpy(copy, target, length);
    decide(t, HP_REDIRECT, 0);
    t->outcome.text.ptr = copy;
    t->outcome.text.len = length;
}

static void broken(hp_trip *t, const char *why)
{
    decide(t, HP_BROKEN, 0);
    t->outcome.text.ptr = strdup(why);
    t->outcome.text.len = t->outcome.text.ptr ? strlen(why) : 0;
}

/* The program has set this status itself and then printed: that is the status's page, whatever Registry makes of it. */
static int is_own_page(const hp_trip *t, int status)
{
    const hp_request *r = t->r;
    return !t->died && r->head_state == HP_HEAD_UNSENT && status > 0 && status == r->own_status &&
           hp_request_has_output(r);
}

/* Another request has answered in the place of this one (internal_redirect): whatever its handlers said of it. */
static void was_redirected(hp_trip *t)
{
    if (t->outcome.kind == HP_STATUS)
        t->r->status = t->outcome.status;
    hp_free((void *)t->outcome.text.ptr);
    t->outcome.text.ptr = NULL;
    t->outcome.text.len = 0;
    decide(t, HP_DONE, 0);
}

/* What the handler's status and what it has sent come to. */
static void conclude(pTHX_ hp_trip *t, int status)
{
    hp_request *r = t->r;
    int unsent;
    hp_drain(aTHX);
    hp_env_of_program(aTHX_ r);
    unsent = r->head_state == HP_HEAD_UNSENT;
    if (is_own_page(t, status)) {
        r->status = status;
        status = HP_OK;
    }
    /* Quirk: mod_perl adds the page of a status like 200 to what was printed. Here what was printed is the whole answer. */
    if (status >= 200 && status < 300 && !t->died && unsent && hp_request_has_output(r))
        status = HP_OK;
    if (unsent && r->redirect && !t->died)
        set_redirect(aTHX_ t);
    else if (status == HP_OK || status == HP_DONE_STATUS) {
        hp_request_flush(aTHX_ r);
        if (r->redirect && r->head_state == HP_HEAD_UNSENT)
            set_redirect(aTHX_ t);
        else if (r->answer_status && r->head_state == HP_HEAD_UNSENT)
            decide(t, HP_STATUS, r->answer_status);
        else if (r->filter_failed)
            broken(t, "a filter in Perl has failed");
        else
            decide(t, HP_DONE, 0);
    } else if (unsent) {
        (void)hp_request_forget_output(r);
        if (status == HP_DECLINED)
            decide(t, HP_DECLINED_REQUEST, 0);
        else
            decide(t, HP_STATUS, status);
    } else if (t->died)
        broken(t, "the program died after the head of its answer was sent");
    else {
        hp_request_flush(aTHX_ r);
        decide(t, HP_DONE, 0);
    }
}

/* Whether this trip has the response to make: it was asked for, or a fixup handler has just claimed it. */
static int is_ours(pTHX_ hp_request *r, int kind)
{
    uint32_t phases = r->in->phases;
    if (kind == NO_HANDLER)
        return 0;
    if (!(phases & 1u << HP_RESPONSE)) {
        /* Who only asks where a URL leads wants no answer; and who has known that it is ours will ask for it. */
        if (!(phases & (1u << HP_FIXUP | 1u << HP_TYPE)) || r->in->flags & HP_SUBREQUEST || !r->handler ||
            kind_of(r->in->handler) != NO_HANDLER)
            return 0;
    }
    if (kind == FILTER)
        return 1;
    return kind == PSGI ? r->directory->psgi_app.ptr != NULL || r->in->finfo.kind == 1
                        : hp_has_handlers(aTHX_ r, HP_RESPONSE);
}

void hp_run_trip(pTHX_ void *context)
{
    hp_trip *t = context;
    hp_request *r = t->r;
    int kind;
    ENTER;
    SAVETMPS;
    t->stopped = -1;
    if (r->in->provider.ptr)
        hp_ask_provider(aTHX_ t);
    else
        before_response(aTHX_ t);
    if (!t->decided && t->stopped < 0) {
        kind = hp_handler_kind(aTHX_ r);
        if (is_ours(aTHX_ r, kind))
            conclude(aTHX_ t, respond(aTHX_ t, kind));
    }
    if (t->decided && t->outcome.kind == HP_STATUS)
        hp_request_expire(aTHX_ r, 1);
    if (r->redirected)
        was_redirected(t);
    FREETMPS;
    LEAVE;
}

void hp_conclude_exit(pTHX_ void *context)
{
    hp_trip *t = context;
    if (t->decided)
        return;
    if (t->r->redirected)
        decide(t, HP_DONE, 0);
    else if (t->r->phase == HP_RESPONSE)
        conclude(aTHX_ t, HP_OK);
    else /* of a phase that decides whether there may be an answer */
        decide(t, HP_STATUS, 500);
}
