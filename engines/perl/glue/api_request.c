/* What the Perl half of the interface (lib/Hostler and the Apache2 modules) is built on: the parts of a request
 * that need the front, the configuration or the record. Programs do not call Hostler::Request themselves. */
#include "api.h"

static const hp_str *vars_get(const hp_fields *vars, const char *key, STRLEN length)
{
    size_t i;
    for (i = 0; i < vars->count; i++)
        if (vars->list[i].name.len == length && foldEQ(vars->list[i].name.ptr, key, length))
            return &vars->list[i].value;
    return NULL;
}

static hp_table *dir_config(pTHX_ hp_request *r)
{
    hp_fields none = {NULL, 0};
    if (!r->dir_config)
        r->dir_config = hp_table_from(aTHX_ r->directory ? r->directory->vars : none);
    return r->dir_config;
}

/* dir_config(): the table; (name): its first value; (name, value): set, undef: unset. */
XS(hp_dir_config)
{
    HP_METHOD(1);
    if (items == 2 && !r->dir_config) {
        STRLEN length;
        const char *key = SvPV(ST(1), length);
        const hp_str *value = r->directory ? vars_get(&r->directory->vars, key, length) : NULL;
        HP_ANSWER(value ? newSVpvn(value->ptr, value->len) : newSV(0));
    }
    if (items > 1)
        HP_ANSWER(hp_table_access(aTHX_ dir_config(aTHX_ r), ST(1), items > 2 ? ST(2) : NULL));
    HP_ANSWER(hp_table_sv(aTHX_ dir_config(aTHX_ r), NULL));
}

/* handlers(r, directive's name): a phase's list, as programs have left it or a copy of the configuration's; undef for an
 * unknown name. (r, name, list): replaces it. Text or code. */
XS(hp_handlers)
{
    HP_METHOD(2);
    STRLEN length;
    const char *name = SvPV(ST(1), length);
    int phase = hp_phase_of(name, length);
    AV *copy;
    size_t i;
    if (phase < 0)
        XSRETURN_UNDEF;
    if (items > 2 && SvROK(ST(2)) && SvTYPE(SvRV(ST(2))) == SVt_PVAV) {
        SvREFCNT_dec((SV *)r->pushed[phase]);
        r->pushed[phase] = (AV *)SvREFCNT_inc(SvRV(ST(2)));
    }
    if (r->pushed[phase])
        HP_ANSWER(newRV_inc((SV *)r->pushed[phase]));
    copy = newAV();
    for (i = 0; r->directory && i < r->directory->handler_count[phase]; i++)
        av_push(copy, hp_sv(aTHX_ r->directory->handlers[phase][i]));
    HP_ANSWER(newRV_noinc((SV *)copy));
}

/* From now on this is the request's configuration. */
static void configured(pTHX_ hp_request *r, hp_directory *directory)
{
    r->directory = directory;
    r->is_configured_anew = 1;
    hp_table_free(aTHX_ r->dir_config);
    r->dir_config = NULL;
    if (r->head_state == HP_HEAD_UNSENT && !r->header_text)
        r->parse_headers = (directory->flags & HP_PARSE_HEADERS) != 0;
}

/* configure(r, lines, what they may contain): adds configuration for this request; undef, or why it could not be. */
XS(hp_configure)
{
    HP_METHOD(3);
    STRLEN length;
    const char *text = SvPV(ST(1), length);
    hp_directory *directory;
    hp_told told;
    if (r != hp_current)
        HP_ANSWER(newSVpvs("configuration can be added for the request that is being served, and no other"));
    if (r->phase >= HP_LOG)
        HP_ANSWER(newSVpvs("the request has been answered"));
    hp_ask_configure(text, length, (uint32_t)SvUV(ST(2)), r->phase < 0 ? HP_RESPONSE : r->phase);
    hp_serve_until_told(aTHX_ & told);
    if (told.kind == HP_TOLD_CONFIGURED && told.text.ptr)
        HP_ANSWER(hp_sv(aTHX_ told.text));
    directory = told.kind == HP_TOLD_CONFIGURED ? hp_directory_of(told.id) : NULL;
    if (!directory)
        HP_ANSWER(newSVpvs("the server has not answered"));
    configured(aTHX_ r, directory);
    XSRETURN_UNDEF;
}

enum { LOCATION, AUTH_NAME, AUTH_TYPE, SIGNATURE, DEFAULT_CHARSET, LAYERS, SERVER_NAME, LOG_ID, PATH_TRANSLATED };

/* Texts of the configuration and of the front that programs cannot set. */
XS(hp_fixed_text)
{
    HP_METHOD(1);
    const hp_directory *d = r->directory;
    hp_str none = {NULL, 0};
    switch (XSANY.any_i32) {
    case LOCATION: HP_ANSWER(hp_sv(aTHX_ d ? d->location : none));
    case AUTH_NAME: HP_ANSWER(hp_sv(aTHX_ d ? d->auth_name : none));
    case AUTH_TYPE: HP_ANSWER(hp_sv(aTHX_ d ? d->auth_type : none));
    case SIGNATURE: HP_ANSWER(hp_sv(aTHX_ d ? d->signature : none));
    case DEFAULT_CHARSET: HP_ANSWER(hp_sv(aTHX_ d ? d->default_charset : none));
    case LAYERS: HP_ANSWER(hp_sv(aTHX_ d ? d->layers : none));
    case SERVER_NAME: HP_ANSWER(hp_sv(aTHX_ r->in->server_name));
    case LOG_ID: HP_ANSWER(hp_sv(aTHX_ r->in->log_id));
    default: HP_ANSWER(hp_sv(aTHX_ r->in->path_translated));
    }
}

enum {
    ALLOW_OPTIONS,
    ALLOW_OVERRIDES,
    ALLOW_OVERRIDE_OPTS,
    SATISFY_ANY,
    LIMIT_BODY,
    FLAGS,
    SERVER_PORT,
    PHASE,
    REDIRECTED
};

XS(hp_fixed_number)
{
    HP_METHOD(1);
    const hp_directory *d = r->directory;
    switch (XSANY.any_i32) {
    case ALLOW_OPTIONS: HP_ANSWER(newSVuv(d ? d->allow_options : 0));
    case ALLOW_OVERRIDES: HP_ANSWER(newSVuv(d ? d->overrides : 0));
    case ALLOW_OVERRIDE_OPTS: HP_ANSWER(newSVuv(d ? d->override_options : 0));
    case SATISFY_ANY: HP_ANSWER(newSViv(d && d->satisfy_any));
    case LIMIT_BODY: HP_ANSWER(newSVuv(d ? d->limit_request_body : 0));
    case FLAGS: HP_ANSWER(newSVuv(d ? d->flags : 0));
    case SERVER_PORT: HP_ANSWER(newSViv(r->in->server_port));
    case PHASE: HP_ANSWER(newSViv(r->phase));
    default: HP_ANSWER(newSViv((r->in->flags & HP_REDIRECTED) != 0));
    }
}

XS(hp_requires)
{
    HP_METHOD(1);
    AV *lines = newAV();
    size_t i;
    for (i = 0; r->directory && i < r->directory->require_count; i++)
        av_push(lines, hp_sv(aTHX_ r->directory->requires[i]));
    HP_ANSWER(newRV_noinc((SV *)lines));
}

/* finfo(r): kind, mode, uid, gid, size, dev, ino, nlink, mtime, ctime, atime as the front found them; nothing when
 * the filename was changed since. */
XS(hp_finfo_facts)
{
    HP_METHOD(1);
    const hp_finfo *f = &r->in->finfo;
    UV facts[] = {f->kind, f->mode, f->uid, f->gid, f->size, f->dev, f->ino, f->nlink, f->mtime, f->ctime, f->atime};
    size_t i;
    if (r->stat_again)
        XSRETURN_EMPTY;
    SP -= items;
    EXTEND(SP, (SSize_t)(sizeof facts / sizeof *facts));
    for (i = 0; i < sizeof facts / sizeof *facts; i++)
        mPUSHu(facts[i]);
    PUTBACK;
}

XS(hp_stash)
{
    HP_METHOD(1);
    if (!r->stash)
        r->stash = newHV();
    HP_ANSWER(newRV_inc((SV *)r->stash));
}

XS(hp_custom_responses)
{
    HP_METHOD(1);
    if (!r->custom_responses)
        r->custom_responses = newHV();
    r->changed |= HP_CHANGED_REQUEST;
    HP_ANSWER(newRV_inc((SV *)r->custom_responses));
}

/* redirect(r, target): when the handler has returned, the request goes on as one for this local URL; nothing more is
 * sent. */
XS(hp_redirect)
{
    HP_METHOD(2);
    r = hp_request_printing(r);
    SvREFCNT_dec(r->redirect);
    r->redirect = newSVsv(ST(1));
    (void)hp_request_forget_output(r);
    XSRETURN_EMPTY;
}

/* The request that has gone on in the place of r, as it was answered. */
static void link_next(pTHX_ hp_request *r, const hp_told *told)
{
    hp_request *next = hp_request_inside(aTHX_ told);
    if (next == r || next->prev == next)
        return;
    next->prev = r;
    next->main = r->main;
    if (!r->next) {
        r->next = next;
        r->borrows_next = 1;
    }
}

/* go_on(r, target, it keeps the type): internal_redirect. The other request is served here and now, by this worker if it
 * is Perl's. */
XS(hp_go_on)
{
    HP_METHOD(3);
    STRLEN length;
    const char *target = SvPV(ST(1), length);
    hp_told told;
    r = hp_request_printing(r);
    if (!length || *target != '/') { /* as Apache, which parses it as a request's */
        r->answer_status = 400;
        XSRETURN_EMPTY;
    }
    if (r->head_state == HP_HEAD_SENT && hp_request_has_filters(aTHX_ r))
        croak("internal_redirect: what another request answers cannot go through this one's filters in Perl");
    (void)hp_request_forget_output(r);
    hp_request_tell_changes(aTHX_ r);
    r->redirected = 1;
    hp_ask_redirect(target, length, SvTRUE(ST(2)));
    hp_serve_until_told(aTHX_ & told);
    if (told.kind == HP_TOLD_ANSWER)
        link_next(aTHX_ r, &told);
    XSRETURN_EMPTY;
}

/* look_up(r, method, target, its URL where the target is a path): the sub-request, or undef. */
XS(hp_look_up_target)
{
    HP_METHOD(4);
    STRLEN method_length, length;
    const char *method = SvPV(ST(1), method_length), *target = SvPV(ST(2), length);
    hp_request *sub;
    hp_told told;
    hp_ask_look_up(method, method_length, target, length, SvOK(ST(3)));
    hp_serve_until_told(aTHX_ & told);
    if (told.kind != HP_TOLD_ANSWER)
        XSRETURN_UNDEF;
    sub = hp_request_inside(aTHX_ & told);
    sub->main = r;
    SvREFCNT_dec(sub->target);
    sub->target = newSVsv(ST(2));
    SvREFCNT_dec(sub->unparsed_uri);
    sub->unparsed_uri = newSVsv(SvOK(ST(3)) ? ST(3) : ST(2));
    if (SvOK(ST(3))) { /* not changed: the front need not hear of it */
        SvREFCNT_dec(sub->uri);
        sub->uri = newSVsv(ST(3));
    }
    HP_ANSWER(hp_request_sv(aTHX_ sub));
}

/* What the front is asked to run, if it has forgotten what it looked up. */
static SV *url_of(pTHX_ const hp_request *r)
{
    SV *text;
    if (!r->in->uri.ptr)
        return r->target;
    text = sv_2mortal(newSVpvn(r->in->uri.ptr, r->in->uri.len));
    if (r->in->args.ptr)
        sv_catpvf(text, "?%.*s", (int)r->in->args.len, r->in->args.ptr);
    return text;
}

/* run(sub): sends the sub-request's answer as part of the main one's; its status. */
XS(hp_run_target)
{
    HP_METHOD(1);
    STRLEN length;
    const char *target;
    hp_field room[64];
    hp_changes changes;
    hp_told told;
    if (!r->main || !r->target)
        croak("run: not a sub-request");
    target = SvPV(url_of(aTHX_ r), length);
    if (!hp_request_let_by(aTHX_ hp_request_printing(r))) /* what was printed before comes before */
        croak("run: a filter of this request's in Perl has failed");
    hp_ask_run(target, length, r->id, hp_request_changes(aTHX_ r, &changes, room) ? &changes : NULL);
    hp_serve_until_told(aTHX_ & told);
    /* What its handler returns: OK. */
    HP_ANSWER(newSViv(told.kind == HP_TOLD_RAN && told.status == 200 ? 0
                      : told.kind == HP_TOLD_RAN                     ? told.status
                                                                     : 500));
}

/* transmit(r, bytes): what has been through all filters. Without bytes: what there is is on its way. */
XS(hp_transmit)
{
    HP_METHOD(1);
    STRLEN length;
    if (items > 1) {
        const char *bytes = SvPV(ST(1), length);
        hp_request_transmit(aTHX_ hp_request_printing(r), bytes, length);
    } else
        hp_out_publish();
    XSRETURN_EMPTY;
}

/* pass_gathered(r): what was printed goes on before what comes another way. */
XS(hp_pass_gathered)
{
    HP_METHOD(1);
    hp_request_pass_gathered(aTHX_ hp_request_printing(r));
    XSRETURN_EMPTY;
}

XS(hp_headers_text)
{
    HP_METHOD(2);
    STRLEN length;
    const char *text = SvPV(ST(1), length);
    r = hp_request_printing(r);
    hp_request_take_headers(aTHX_ r, text, length);
    XSRETURN_EMPTY;
}

/* send_http_header: from now on only bytes. */
XS(hp_send_head)
{
    HP_METHOD(1);
    hp_request *main = hp_request_printing(r);
    main->parse_headers = 0;
    main->header_said = 1;
    if (items > 1 && SvOK(ST(1))) {
        SvREFCNT_dec(main->content_type);
        main->content_type = newSVsv(ST(1));
    }
    XSRETURN_EMPTY;
}

XS(hp_forget_output)
{
    HP_METHOD(1);
    HP_ANSWER(newSViv(hp_request_forget_output(r)));
}

/* log(severity, of the virtual host, text) */
XS(hp_log_line)
{
    dXSARGS;
    if (items < 3)
        croak("Usage: Hostler::log(severity, virtual_host, text)");
    hp_log_text(aTHX_(int) SvIV(ST(0)), SvTRUE(ST(1)), ST(2));
    XSRETURN_EMPTY;
}

/* taint(variable): what came from outside. */
XS(hp_taint)
{
    dXSARGS;
    if (items)
        SvTAINTED_on(ST(0));
    XSRETURN_EMPTY;
}

XS(hp_exit_after)
{
    dXSARGS;
    PERL_UNUSED_VAR(items);
    hp_exit_after_request();
    XSRETURN_EMPTY;
}

/* The request that is being served. */
XS(hp_current_request)
{
    dXSARGS;
    PERL_UNUSED_VAR(items);
    if (!hp_current)
        XSRETURN_UNDEF;
    HP_ANSWER(hp_request_sv(aTHX_ hp_current));
}

/* Whether something is a live request object. */
XS(hp_is_request)
{
    dXSARGS;
    HP_ANSWER(newSViv(items && hp_request_maybe(aTHX_ ST(0)) != NULL));
}

XS(hp_settings_of)
{
    dXSARGS;
    HV *answer = newHV();
    PERL_UNUSED_VAR(items);
    (void)hv_stores(answer, "generation", newSViv(hp_settings.generation));
    (void)hv_stores(answer, "server_root", hp_sv(aTHX_ hp_settings.server_root));
    (void)hv_stores(answer, "one_shot", newSViv(hp_settings.one_shot));
    if (hp_settings.server_count)
        (void)hv_stores(answer, "software", hp_sv(aTHX_ hp_settings.servers[0].software));
    HP_ANSWER(newRV_noinc((SV *)answer));
}

/* The lines of the configuration, as hostler_perl_frames::Setup::tree has them. */
XS(hp_configuration)
{
    dXSARGS;
    PERL_UNUSED_VAR(items);
    HP_ANSWER(hp_sv(aTHX_ hp_settings.tree));
}

XS(hp_document_root)
{
    HP_METHOD(1);
    const hp_server *server = hp_server_of_request(r);
    SV *answer = r->document_root ? newSVsv(r->document_root) : server ? hp_sv(aTHX_ server->document_root) : newSV(0);
    if (items > 1) {
        SvREFCNT_dec(r->document_root);
        r->document_root = newSVsv(ST(1));
    }
    HP_ANSWER(answer);
}

#define REC "Apache2::RequestRec::"
#define OWN "Hostler::Request::"

void hp_boot_request(pTHX)
{
    static const hp_xsub list[] = {
        {REC "dir_config", hp_dir_config, 0},
        {OWN "location", hp_fixed_text, LOCATION},
        {REC "get_server_name", hp_fixed_text, SERVER_NAME},
        {REC "get_server_port", hp_fixed_number, SERVER_PORT},
        {REC "log_id", hp_fixed_text, LOG_ID},
        {REC "document_root", hp_document_root, 0},
        {REC "allow_options", hp_fixed_number, ALLOW_OPTIONS},
        {REC "allow_overrides", hp_fixed_number, ALLOW_OVERRIDES},
        {REC "allow_override_opts", hp_fixed_number, ALLOW_OVERRIDE_OPTS},
        {REC "get_limit_req_body", hp_fixed_number, LIMIT_BODY},
        {OWN "handlers", hp_handlers, 0},
        {OWN "configure", hp_configure, 0},
        {OWN "auth_name", hp_fixed_text, AUTH_NAME},
        {OWN "auth_type", hp_fixed_text, AUTH_TYPE},
        {OWN "signature", hp_fixed_text, SIGNATURE},
        {OWN "default_charset", hp_fixed_text, DEFAULT_CHARSET},
        {OWN "layers", hp_fixed_text, LAYERS},
        {OWN "path_translated", hp_fixed_text, PATH_TRANSLATED},
        {OWN "satisfy_any", hp_fixed_number, SATISFY_ANY},
        {OWN "flags", hp_fixed_number, FLAGS},
        {OWN "phase", hp_fixed_number, PHASE},
        {OWN "redirected", hp_fixed_number, REDIRECTED},
        {OWN "requires", hp_requires, 0},
        {OWN "finfo", hp_finfo_facts, 0},
        {OWN "stash", hp_stash, 0},
        {OWN "custom_responses", hp_custom_responses, 0},
        {OWN "redirect", hp_redirect, 0},
        {OWN "go_on", hp_go_on, 0},
        {OWN "look_up", hp_look_up_target, 0},
        {OWN "run", hp_run_target, 0},
        {OWN "headers_text", hp_headers_text, 0},
        {OWN "transmit", hp_transmit, 0},
        {OWN "pass_gathered", hp_pass_gathered, 0},
        {OWN "send_head", hp_send_head, 0},
        {OWN "forget_output", hp_forget_output, 0},
        {OWN "current", hp_current_request, 0},
        {OWN "is", hp_is_request, 0},
        {"Hostler::log", hp_log_line, 0},
        {"Hostler::exit_after_request", hp_exit_after, 0},
        {"Hostler::taint", hp_taint, 0},
        {"Hostler::settings", hp_settings_of, 0},
        {"Hostler::configuration", hp_configuration, 0},
    };
    HP_REGISTER(list);
}
