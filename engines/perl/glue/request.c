/* The life of a request in the interpreter: its record, its Perl object, its end.
 *
 * The Perl object is a blessed scalar with the record as magic. When the request ends the magic is cleared, so that
 * an object that a program kept says so instead of reaching into freed memory. */
#include "api.h"

hp_request *hp_current;
hp_setup hp_settings;

static MGVTBL request_magic;

hp_str hp_literal(const char *text)
{
    hp_str answer = {text, text ? strlen(text) : 0};
    return answer;
}

SV *hp_sv(pTHX_ hp_str text)
{
    return text.ptr ? newSVpvn(text.ptr, text.len) : newSV(0);
}

hp_str hp_text(pTHX_ SV *sv)
{
    hp_str answer = {NULL, 0};
    STRLEN length;
    if (sv && SvOK(sv)) {
        answer.ptr = SvPV(sv, length);
        answer.len = length;
    }
    return answer;
}

hp_str hp_request_text(pTHX_ SV *changed, hp_str original)
{
    return changed ? hp_text(aTHX_ changed) : original;
}

SV *hp_object(pTHX_ const char *class, const MGVTBL *kind, void *pointer)
{
    SV *inner = newSV_type(SVt_PVMG), *object;
    MAGIC *mg = sv_magicext(inner, NULL, PERL_MAGIC_ext, kind, NULL, 0);
    mg->mg_ptr = (char *)pointer;
    sv_setiv(inner, PTR2IV(pointer)); /* $$r identifies the request, as it does in mod_perl */
    object = sv_bless(newRV_noinc(inner), gv_stashpv(class, GV_ADD));
    SvREADONLY_on(inner); /* only now: what is read-only can't be blessed */
    return object;
}

void *hp_object_of(pTHX_ SV *object, const MGVTBL *kind)
{
    MAGIC *mg;
    SV *sv;
    if (!SvROK(object))
        return NULL;
    sv = SvRV(object);
    if (SvTYPE(sv) != SVt_PVMG)
        return NULL;
    mg = SvMAGIC(sv);
    if (!mg || mg->mg_virtual != kind)
        mg = mg_findext(sv, PERL_MAGIC_ext, kind);
    return mg ? mg->mg_ptr : NULL;
}

/* The scalar behind an object: itself, or what a hash-based subclass keeps as `r` or `_r`. */
static SV *base_of(pTHX_ SV *object)
{
    int depth;
    for (depth = 0; depth < 4 && SvROK(object) && SvTYPE(SvRV(object)) == SVt_PVHV; depth++) {
        HV *hash = (HV *)SvRV(object);
        SV **slot = hv_fetchs(hash, "r", 0);
        if (!slot)
            slot = hv_fetchs(hash, "_r", 0);
        if (!slot)
            break;
        object = *slot;
    }
    return object;
}

hp_request *hp_request_maybe(pTHX_ SV *object)
{
    return (hp_request *)hp_object_of(aTHX_ base_of(aTHX_ object), &request_magic);
}

/* What is no request says so in mod_perl's words: programs look for them. */
static void refuse_object(pTHX_ SV *object, SV *base, const char *method)
{
    SV *inner = SvROK(base) ? SvRV(base) : NULL;
    if (inner && SvTYPE(inner) == SVt_PVMG && mg_findext(inner, PERL_MAGIC_ext, &request_magic))
        croak(
            "This request object is used after its request has ended: it was kept in a global or closed-over variable");
    if (!SvROK(object))
        croak("argument is not a blessed reference (expecting an Apache2::RequestRec derived object)");
    if (inner && SvTYPE(inner) == SVt_PVHV)
        croak("method `%s' invoked by a `%s' object with no `r' key!", method,
              SvOBJECT(inner) ? HvNAME(SvSTASH(inner)) : "unknown");
    croak("unsupported request_rec type of the object that `%s' is invoked by", method);
}

hp_request *hp_request_for(pTHX_ SV *object, const char *method)
{
    hp_request *r = (hp_request *)hp_object_of(aTHX_ object, &request_magic);
    SV *base;
    if (r)
        return r;
    if (!SvROK(object) && hp_current) /* Apache2::RequestRec->uri: the current one's */
        return hp_current;
    base = base_of(aTHX_ object);
    r = (hp_request *)hp_object_of(aTHX_ base, &request_magic);
    if (!r)
        refuse_object(aTHX_ object, base, method);
    return r;
}

hp_request *hp_request_of(pTHX_ SV *object)
{
    return hp_request_for(aTHX_ object, "a method");
}

static void init(hp_request *r, const hp_request_in *in, hp_directory *directory)
{
    Zero(r, 1, hp_request);
    r->in = in;
    r->directory = directory;
    r->status = in->status ? in->status : 200;
    r->phase = -1;
    r->bytes_sent = in->bytes_sent;
    if (directory && directory->flags & HP_PARSE_HEADERS)
        r->parse_headers = 1;
    if (in->flags & HP_NO_CACHE)
        r->no_local_copy = 1;
}

hp_request *hp_request_new(pTHX_ const hp_request_in *in, hp_directory *directory)
{
    hp_request *r;
    Newx(r, 1, hp_request);
    init(r, in, directory);
    return r;
}

/* The tables that the front sends, and is told of when they change. */
static void each_table(pTHX_ hp_request *r, void (*act)(pTHX_ hp_table *))
{
    act(aTHX_ r->headers_in);
    act(aTHX_ r->headers_out);
    act(aTHX_ r->err_headers_out);
    act(aTHX_ r->subprocess_env);
    act(aTHX_ r->notes);
}

void hp_request_stay(pTHX_ hp_request *r)
{
    each_table(aTHX_ r, hp_table_own);
}

static void free_texts(pTHX_ SV **texts, size_t count)
{
    while (count-- > 0)
        SvREFCNT_dec(texts[count]);
}

/* What lasts for one trip: the front has been told of it, or it was made for that trip alone. */
static void free_trip(pTHX_ hp_request *r)
{
    SV *texts[] = {r->method,       r->uri,     r->args,         r->filename,    r->path_info, r->user,
                   r->ap_auth_type, r->handler, r->content_type, r->header_text, r->redirect};
    free_texts(aTHX_ texts, sizeof texts / sizeof *texts);
    each_table(aTHX_ r, hp_table_free);
    SvREFCNT_dec((SV *)r->custom_responses);
}

void hp_request_again(pTHX_ hp_request *r, const hp_request_in *in, hp_directory *directory)
{
    hp_request kept = *r;
    free_trip(aTHX_ r);
    init(r, in, directory);
    if (kept.directory == directory)
        r->dir_config = kept.dir_config; /* what a program has set there is for the whole request */
    else
        hp_table_free(aTHX_ kept.dir_config);
    r->self = kept.self;
    r->unparsed_uri = kept.unparsed_uri;
    r->the_request = kept.the_request;
    r->hostname = kept.hostname;
    r->content_encoding = kept.content_encoding;
    r->status_line = kept.status_line;
    r->languages = kept.languages;
    r->pnotes = kept.pnotes;
    r->cleanups = kept.cleanups;
    Copy(kept.pushed, r->pushed, HP_PHASES, AV *);
    r->subs = kept.subs;
    r->prev = kept.prev;
    r->no_cache = kept.no_cache;
    r->no_local_copy |= kept.no_local_copy;
    r->mtime = kept.mtime;
    r->pool = kept.pool;
    r->connection = kept.connection;
    r->connection_pnotes = kept.connection_pnotes;
    r->client_ip = kept.client_ip;
    r->local_ip = kept.local_ip;
    r->useragent_ip = kept.useragent_ip;
    r->env_called = kept.env_called;
    r->env_kept = kept.env_kept;
    r->connection_notes = kept.connection_notes;
    r->proxyreq = kept.proxyreq;
    r->proxyreq_set = kept.proxyreq_set;
    r->document_root = kept.document_root;
    r->allowed = kept.allowed;
    r->stash = kept.stash;
    r->main = kept.main;
    r->owns_main = kept.owns_main;
    r->owns_prev = kept.owns_prev;
    r->next = kept.next;
    r->borrows_next = kept.borrows_next;
}

void hp_request_renew(pTHX_ hp_request *r, const hp_request_in *in, hp_directory *directory)
{
    hp_request *copy = hp_request_copy(aTHX_ in, directory), kept = *r;
    hp_request_again(aTHX_ r, copy->in, directory);
    r->arena = copy->arena;
    r->next_sub = kept.next_sub;
    r->target = kept.target;
    r->id = kept.id;
    r->is_served = kept.is_served;
    Safefree(kept.arena);
    Safefree(copy);
}

hp_request *hp_request_printing(hp_request *r)
{
    while (r->main && !r->is_served)
        r = r->main;
    return r;
}

hp_request *hp_request_base(hp_request *r)
{
    while (r->arena && (r->main || r->prev))
        r = r->main ? r->main : r->prev;
    return r;
}

SV *hp_request_sv(pTHX_ hp_request *r)
{
    if (!r->self) {
        const char *class = r->arena && r->main ? "Apache2::SubRequest" : "Apache2::RequestRec";
        if (hp_settings.generation == 1)
            class = r->arena && r->main ? "Apache::SubRequest" : "Apache";
        r->self = hp_object(aTHX_ class, &request_magic, r);
    }
    return newRV_inc(SvRV(r->self));
}

SV *hp_connection_sv(pTHX_ hp_request *r)
{
    while (r->main)
        r = r->main;
    r = hp_request_base(r);
    if (!r->connection)
        r->connection = hp_object(aTHX_ hp_settings.generation == 1 ? "Apache::Connection" : "Apache2::Connection",
                                  &request_magic, r);
    return newRV_inc(SvRV(r->connection));
}

static void forget_object(pTHX_ SV *object)
{
    MAGIC *mg;
    if (!object)
        return;
    mg = SvROK(object) ? mg_findext(SvRV(object), PERL_MAGIC_ext, &request_magic) : NULL;
    if (mg)
        mg->mg_ptr = NULL;
    SvREFCNT_dec(object);
}

void hp_request_run_cleanups(pTHX_ hp_request *r)
{
    dSP;
    SV *pool = r->pool;
    if (!pool)
        return;
    r->pool = NULL;
    ENTER;
    SAVETMPS;
    PUSHMARK(SP);
    XPUSHs(sv_2mortal(pool));
    PUTBACK;
    call_pv("APR::Pool::end_of_request", G_VOID | G_DISCARD | G_EVAL);
    if (SvTRUE(ERRSV))
        hp_log_text(aTHX_ 3, 1, ERRSV);
    FREETMPS;
    LEAVE;
}

/* What lasts for all trips and has no say in its end. */
static void free_kept(pTHX_ hp_request *r)
{
    SV *texts[] = {r->unparsed_uri,  r->status_line, r->hostname, r->the_request, r->content_encoding,
                   r->document_root, r->client_ip,   r->local_ip, r->useragent_ip};
    free_texts(aTHX_ texts, sizeof texts / sizeof *texts);
    hp_table_free(aTHX_ r->connection_notes);
    hp_table_free(aTHX_ r->dir_config);
    SvREFCNT_dec((SV *)r->cleanups);
    SvREFCNT_dec((SV *)r->languages);
}

void hp_request_free(pTHX_ hp_request *r)
{
    int phase;
    hp_request_run_cleanups(aTHX_ r);
    /* What programs keep in the request may have destructors that look at it: it goes while the object still works. */
    SvREFCNT_dec((SV *)r->pnotes);
    SvREFCNT_dec((SV *)r->connection_pnotes);
    SvREFCNT_dec((SV *)r->env_kept);
    SvREFCNT_dec((SV *)r->stash);
    for (phase = 0; phase < HP_PHASES; phase++)
        SvREFCNT_dec((SV *)r->pushed[phase]);
    while (r->subs) {
        hp_request *sub = r->subs;
        r->subs = sub->next_sub;
        hp_request_free(aTHX_ sub);
    }
    if (r->owns_prev)
        hp_request_free(aTHX_ r->prev);
    if (r->owns_main)
        hp_request_free(aTHX_ r->main);
    if (r->next && !r->borrows_next)
        hp_request_free(aTHX_ r->next);
    forget_object(aTHX_ r->self);
    forget_object(aTHX_ r->connection);
    free_trip(aTHX_ r);
    free_kept(aTHX_ r);
    SvREFCNT_dec(r->target);
    if (!r->arena) {
        hp_request_forget_output(r);
        hp_request_unread();
    }
    Safefree(r->arena);
    Safefree(r);
}

static hp_fields changed_fields(pTHX_ hp_table *table, hp_fields original)
{
    return table ? hp_table_fields(aTHX_ table) : original;
}

static int nothing_changed(const hp_request *r)
{
    if (r->changed & HP_CHANGED_REQUEST || hp_table_changed(r->headers_in) || hp_table_changed(r->notes) ||
        hp_table_changed(r->subprocess_env))
        return 0;
    if (r->head_state == HP_HEAD_SENT)
        return 1;
    return !(r->changed || hp_table_changed(r->headers_out) || hp_table_changed(r->err_headers_out));
}

static hp_fields custom_responses(pTHX_ HV *hash, hp_field *room, size_t most)
{
    hp_fields answer = {room, 0};
    HE *each;
    if (!hash)
        return answer;
    hv_iterinit(hash);
    while (answer.count < most && (each = hv_iternext(hash))) {
        I32 length;
        room[answer.count].name.ptr = hv_iterkey(each, &length);
        room[answer.count].name.len = length;
        room[answer.count++].value = hp_text(aTHX_ HeVAL(each));
    }
    return answer;
}

int hp_request_changes(pTHX_ hp_request *r, hp_changes *c, hp_field *room)
{
    const hp_request_in *in = r->in;
    if (nothing_changed(r))
        return 0;
    c->status = r->head_state == HP_HEAD_SENT ? 0 : r->status >= 200 && r->status <= 999 ? (uint16_t)r->status : 500;
    c->method = hp_request_text(aTHX_ r->method, in->method);
    c->uri = hp_request_text(aTHX_ r->uri, in->uri);
    c->args = hp_request_text(aTHX_ r->args, in->args);
    c->filename = hp_request_text(aTHX_ r->filename, in->filename);
    c->path_info = hp_request_text(aTHX_ r->path_info, in->path_info);
    c->user = hp_request_text(aTHX_ r->user, in->user);
    c->ap_auth_type = hp_request_text(aTHX_ r->ap_auth_type, in->ap_auth_type);
    c->handler = hp_request_text(aTHX_ r->handler, in->handler);
    c->content_type = hp_request_text(aTHX_ r->content_type, in->content_type);
    c->custom_responses = custom_responses(aTHX_ r->custom_responses, room, 64);
    c->headers_in = changed_fields(aTHX_ r->headers_in, in->headers_in);
    c->headers_out = changed_fields(aTHX_ r->headers_out, in->headers_out);
    c->err_headers_out = changed_fields(aTHX_ r->err_headers_out, in->err_headers_out);
    c->subprocess_env = changed_fields(aTHX_ r->subprocess_env, in->subprocess_env);
    c->notes = changed_fields(aTHX_ r->notes, in->notes);
    return 1;
}

void hp_request_tell_changes(pTHX_ hp_request *r)
{
    hp_field room[64];
    hp_changes c;
    if (hp_request_changes(aTHX_ r, &c, room))
        hp_out_changes(&c);
}

static const char *const phase_names[HP_PHASES] = {"PostReadRequest", "Trans",       "MapToStorage", "HeaderParser",
                                                   "Access",          "Authen",      "Authz",        "Type",
                                                   "Fixup",           "Response",    "Log",          "Cleanup",
                                                   "InputFilter",     "OutputFilter"};

int hp_phase_of(const char *name, size_t length)
{
    int phase;
    if (length > 4 && memcmp(name, "Perl", 4) == 0)
        name += 4, length -= 4;
    if (length >= 7 && memcmp(name + length - 7, "Handler", 7) == 0)
        length -= 7;
    if (length == 0)
        return HP_RESPONSE; /* PerlHandler */
    if (length == 4 && memcmp(name, "Init", 4) == 0)
        return HP_HEADER_PARSER;
    for (phase = 0; phase < HP_PHASES; phase++)
        if (strlen(phase_names[phase]) == length && memcmp(phase_names[phase], name, length) == 0)
            return phase;
    return -1;
}
