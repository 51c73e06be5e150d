/* One trip of a request: its phases, what is told of them, and if it is the last its Log and Cleanup.
 *
 * A request that stays between two trips is kept here. */
#include "trip.h"

/* The front asks for Log and Cleanup in one trip of a request; what a handler has pushed runs in any case. */
static int wants(pTHX_ const hp_request *r, int phase)
{
    return ((r->in->phases & 1u << phase && !r->logs_later) || r->pushed[phase]) && hp_has_handlers(aTHX_ r, phase);
}

/* Somebody else answers: what is logged is not known yet. */
static int logs_later(const hp_trip *t)
{
    uint32_t phases = t->r->in->phases, after = 1u << HP_LOG | 1u << HP_CLEANUP;
    return phases & after && phases & 1u << HP_RESPONSE && t->outcome.kind != HP_DONE && t->outcome.kind != HP_BROKEN;
}

/* What the front has to come back for, unless the answer is made. */
static void tell_standing(pTHX_ const hp_trip *t)
{
    const hp_request *r = t->r;
    uint32_t pushed = 0;
    int phase;
    if (r->in->phases & 1u << HP_RESPONSE && t->outcome.kind == HP_DONE)
        return;
    for (phase = 0; phase < HP_PHASES; phase++)
        if (r->pushed[phase] && av_top_index(r->pushed[phase]) >= 0)
            pushed |= 1u << phase;
    if (pushed || t->stopped >= 0)
        hp_out_standing(pushed, t->stopped);
}

void hp_finish_trip(pTHX_ void *context)
{
    hp_trip *t = context;
    hp_request *r = t->r;
    hp_request_tell_changes(aTHX_ r);
    tell_standing(aTHX_ t);
    if (t->outcome.kind == HP_STATUS)
        r->status = t->outcome.status;
    hp_out_finished(&t->outcome);
    r->logs_later = logs_later(t);
    if (wants(aTHX_ r, HP_LOG) || wants(aTHX_ r, HP_CLEANUP) || r->pool || r->cleanups || r->owns_prev)
        hp_out_publish();
}

/* The field that the front has made of it, which Log handlers look for. */
static void add_type(pTHX_ hp_request *r)
{
    hp_str type = hp_request_text(aTHX_ r->content_type, r->in->content_type);
    if (r->head_state == HP_HEAD_SENT && type.len)
        hp_table_set(aTHX_ HP_TABLE(r, headers_out), "Content-Type", 12, type.ptr, type.len);
}

static void after(pTHX_ void *context)
{
    hp_trip *t = context;
    ENTER;
    SAVETMPS;
    if (wants(aTHX_ t->r, HP_LOG)) {
        add_type(aTHX_ t->r);
        (void)hp_run_phase(aTHX_ t, HP_LOG);
    }
    if (wants(aTHX_ t->r, HP_CLEANUP))
        (void)hp_run_phase(aTHX_ t, HP_CLEANUP);
    hp_request_run_cleanups(aTHX_ t->r);
    FREETMPS;
    LEAVE;
}

/* What the next program must not find. */
static void reset(pTHX)
{
    AV *arguments = PL_argvgv ? GvAV(PL_argvgv) : NULL;
    hp_errors_end();
    if (SvTRUE(ERRSV))
        sv_setpvs(ERRSV, "");
    if (GvHV(PL_errgv) && HvUSEDKEYS(GvHV(PL_errgv)))
        hv_clear(GvHV(PL_errgv));
    if (arguments && av_len(arguments) >= 0)
        av_clear(arguments);
    if (!SvPOK(PL_rs) || SvCUR(PL_rs) != 1 || *SvPVX(PL_rs) != '\n')
        sv_setpvs_mg(get_sv("/", GV_ADD), "\n");
    errno = 0;
}

/* The request that waits for its next trip. */
static hp_request *staying;

/* What the next one belongs to, by HP_ROLE_. */
static hp_request *related[3];

/* Log, Cleanup and what else is wanted at its end; first that of the requests in whose place it has gone on. */
static void conclude(pTHX_ hp_request *r)
{
    hp_trip t;
    if (r->owns_prev && r->prev->has_stayed)
        conclude(aTHX_ r->prev);
    Zero(&t, 1, hp_trip);
    t.r = hp_current = r;
    (void)hp_guarded(aTHX_ after, &t);
    SvREFCNT_dec(t.self);
}

/* One that the next request would have belonged to, had it come. */
static void forget(pTHX_ int place)
{
    hp_request *r = related[place];
    related[place] = NULL;
    if (!r)
        return;
    if (r->has_stayed)
        conclude(aTHX_ r);
    hp_request_free(aTHX_ r);
    hp_current = NULL;
}

/* The request that has stayed will be another's prev: what it keeps of the front's is its own from now on. */
static hp_request *stayed(pTHX_ const hp_request_in *request, hp_directory *directory)
{
    hp_request *r = staying;
    staying = NULL;
    if (!r)
        return hp_request_copy(aTHX_ request, directory);
    hp_request_renew(aTHX_ r, request, directory ? directory : r->directory);
    r->is_served = 0;
    r->has_stayed = 1;
    return r;
}

void hp_perl_related(const hp_request_in *request, hp_directory *directory, int role)
{
    dTHX;
    int place = role == HP_ROLE_STAYED ? HP_ROLE_PREV : role;
    forget(aTHX_ place);
    if (role == HP_ROLE_STAYED)
        related[place] = stayed(aTHX_ request, directory);
    else
        related[place] = hp_request_copy(aTHX_ request, directory);
}

static int are_related(void)
{
    return related[HP_ROLE_MAIN] || related[HP_ROLE_PREV] || related[HP_ROLE_NEXT];
}

/* Each goes where it belongs, unless it is known there from a trip before. */
static void relate(pTHX_ hp_request *r)
{
    hp_request **places[] = {&r->main, &r->prev, &r->next};
    int *owned[] = {&r->owns_main, &r->owns_prev, NULL};
    int role;
    for (role = 0; role < 3; role++) {
        hp_request *other = related[role];
        related[role] = NULL;
        if (!other)
            continue;
        if (!other->directory)
            other->directory = r->directory;
        if (*places[role]) {
            hp_request_free(aTHX_ other);
            continue;
        }
        *places[role] = other;
        if (owned[role])
            *owned[role] = 1;
    }
}

static void begin(pTHX_ hp_trip *t, const hp_request_in *request, hp_directory *directory)
{
    Zero(t, 1, hp_trip);
    if (staying) {
        hp_request_again(aTHX_ staying, request, directory);
        hp_env_put_back(aTHX_ staying);
    }
    t->r = staying ? staying : hp_request_new(aTHX_ request, directory);
    staying = NULL;
    t->r->is_served = 1;
    if (UNLIKELY(are_related()))
        relate(aTHX_ t->r);
    hp_current = t->r;
}

static void end(pTHX_ hp_request *r)
{
    conclude(aTHX_ r);
    hp_connection_end(aTHX_ r);
    hp_request_free(aTHX_ r);
    hp_current = NULL;
    reset(aTHX);
}

void hp_perl_release(void)
{
    dTHX;
    hp_request *r = staying;
    int place;
    for (place = 0; place < 3; place++)
        forget(aTHX_ place);
    staying = NULL;
    if (r)
        end(aTHX_ r);
}

/* Whether the request is kept for another trip. */
static int stays_on(const hp_trip *t, int stays)
{
    int is_status = t->outcome.kind == HP_STATUS;
    if (is_status && t->r->in->flags & HP_ERRORS_STAY && t->outcome.status >= 400)
        return 1;
    return stays || t->stopped >= 0 || (t->r->logs_later && is_status);
}

int hp_perl_serve(const hp_request_in *request, hp_directory *directory, int stays)
{
    dTHX;
    hp_trip t;
    int is_script;
    hp_errors_begin();
    begin(aTHX_ & t, request, directory);
    is_script = hp_handler_kind(aTHX_ t.r) == CGI_SCRIPT && !(request->phases & BEFORE_RESPONSE);
    if (!is_script) { /* what a parent has prepared for scripts */
        hp_mod_perl_show(aTHX);
        hp_untie(aTHX);
    }
    t.outcome.kind = HP_DECLINED_REQUEST;
    if (UNLIKELY(hp_guarded(aTHX_ hp_run_trip, &t))) {
        if (hp_is_forked_away())
            hp_leave_fork(aTHX_ STATUS_EXIT);
        (void)hp_guarded(aTHX_ hp_conclude_exit, &t);
    }
    if (!is_script) {
        hp_untie(aTHX);
        hp_env_keep(aTHX_ t.r);
        hp_env_restore(aTHX);
    }
    if (hp_is_forked_away())
        hp_leave_fork(aTHX_ 0);
    (void)hp_guarded(aTHX_ hp_finish_trip, &t);
    if (is_script) { /* it was the process's only request: nothing is put back in order */
        (void)hp_guarded(aTHX_ after, &t);
        hp_current = NULL;
        return 0;
    }
    if (!stays_on(&t, stays)) {
        SvREFCNT_dec(t.self);
        end(aTHX_ t.r);
        return 0;
    }
    hp_request_stay(aTHX_ t.r);
    staying = t.r;
    SvREFCNT_dec(t.self);
    hp_current = NULL;
    reset(aTHX);
    return 1;
}

static void serve_nested(pTHX_ void *context)
{
    hp_serve_inside(aTHX_ context);
}

void hp_perl_nested(const hp_told *told)
{
    dTHX;
    hp_current = staying;
    /* Whatever it is left by, what is inside has said what became of it. */
    (void)hp_guarded(aTHX_ serve_nested, (void *)told);
    hp_current = NULL;
}
