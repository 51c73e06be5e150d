/* Requests inside of the one that is served: what a program has looked up, or runs as part of its answer. They are served
 * on top of it, in the middle of its call, as in Apache: the same interpreter, the same globals, `main` within reach.
 *
 * What the outer one has of the process (handles, %ENV, gathered output) is put aside and given back, however the inner one
 * is left: by its end, by an error, by an exit that is none of its own. $@ is what the inner one has died of, or empty. */
#include "trip.h"

typedef struct {
    hp_trip trip;
    hp_request *outer;
    int told; /* the front knows what became of it */
    HV *env;
    hp_followed followed;
    hp_handles *handles;
    hp_gathered gathered;
} inside;

static hp_request *numbered(hp_request *root, uint32_t id)
{
    hp_request *sub = root->subs;
    if (!id)
        return root;
    while (sub && sub->id != id)
        sub = sub->next_sub;
    return sub;
}

hp_request *hp_request_inside(pTHX_ const hp_told *told)
{
    hp_request *root = hp_request_base(hp_current), *r = numbered(root, told->id);
    hp_directory *directory = hp_directory_of(told->request->directory);
    if (r && r != root) {
        hp_request_renew(aTHX_ r, told->request, directory);
        return r;
    }
    r = hp_request_copy(aTHX_ told->request, directory);
    r->id = told->id;
    if (told->prev)
        r->prev = numbered(root, told->prev - 1);
    /* What goes on in the place of the outermost one is no part of it. */
    r->main = r->prev ? r->prev->main : numbered(root, told->main);
    if (!r->main && !r->prev)
        r->main = root;
    r->body_ended = 1;
    r->next_sub = root->subs;
    root->subs = r;
    return r;
}

/* Gives everything back. */
static void leave(pTHX_ void *context)
{
    inside *i = context;
    i->trip.r->is_served = 0;
    hp_handles_take_back(aTHX_ i->handles);
    hp_environ_take_back(aTHX_ i->env);
    hp_follow_take_back(aTHX_ i->followed);
    if (!i->told) {
        hp_outcome broken = {HP_BROKEN, 0, {NULL, 0}};
        hp_out_finished(&broken);
    }
    hp_current = i->outer;
    hp_output_take_back(aTHX_ & i->gathered);
    SvREFCNT_dec(i->trip.self);
    Safefree(i);
}

/* The text is where hp_report_error() has put it. */
static void set_error(pTHX_ hp_request *r)
{
    size_t length;
    const char *text = hp_table_get(HP_TABLE(r, notes), "error-notes", 11, &length);
    if (text)
        sv_setpvn(ERRSV, text, length);
}

void hp_serve_inside(pTHX_ const hp_told *told)
{
    inside *i;
    Newxz(i, 1, inside);
    i->trip.r = hp_request_inside(aTHX_ told);
    i->trip.outcome.kind = HP_DECLINED_REQUEST;
    i->outer = hp_current;
    i->env = hp_environ_put_aside(aTHX);
    i->followed = hp_follow_put_aside();
    i->handles = hp_handles_put_aside(aTHX);
    hp_output_put_aside(aTHX_ & i->gathered);
    i->trip.r->is_served = 1;
    hp_current = i->trip.r;
    ENTER;
    SAVESPTR(PL_last_in_gv); /* $. is the outer program's */
    SAVEDESTRUCTOR_X(leave, i);
    hp_run_trip(aTHX_ & i->trip);
    hp_untie(aTHX);
    i->told = 1;
    hp_finish_trip(aTHX_ & i->trip);
    if (i->trip.died)
        set_error(aTHX_ i->trip.r);
    LEAVE;
}

void hp_serve_until_told(pTHX_ hp_told *told)
{
    for (;;) {
        hp_await_told(told);
        if (told->kind != HP_TOLD_NESTED)
            return;
        hp_serve_inside(aTHX_ told);
    }
}
