/* The way of a request to a Registry script that is compiled and unchanged, without Perl: found by the file's
 * identity as the front knows it (inotify there, no stat here), run, its status returned.
 *
 * Everything else (may it run, reading, compiling, errors) is ModPerl/RegistryCooker.pm's and Apache/Registry.pm's,
 * which tell a compiled script with remember(). Also here: END blocks of scripts and the working directory. */
#include "api.h"
#include "perl_glue.h"
#include "registry.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the working directory ---- */

static char *home;        /* ServerRoot */
static char *here;        /* where the process is, as far as known; NULL: unknown */
static int owed;          /* the way back to `home` was put off */
static OP *(*perl_chdir)(pTHX);

/* A program changes the directory itself: from now on it is unknown. */
static OP *note_chdir(pTHX) {
    here = NULL;
    owed = 0;
    return perl_chdir(aTHX);
}

static int go(const char *path) {
    if (here && (here == path || !strcmp(here, path)))
        return 0;
    if (chdir(path))
        return -1;
    here = (char *)path;
    return 0;
}

void hp_cwd_home(pTHX_ const char *path, size_t length) {
    Safefree(home);
    home = savepvn(path, length);
}

void hp_cwd_settle(pTHX) {
    if (!owed)
        return;
    owed = 0;
    if (home)
        (void)go(home);
}

/* ---- END blocks ---- */

static HV *ends;          /* by package: an array of code */
static SSize_t ends_seen = -1;

static AV *ends_of(pTHX_ SV *package, int make) {
    HE *entry = ends ? hv_fetch_ent(ends, package, 0, 0) : NULL;
    if (entry && SvROK(HeVAL(entry)))
        return (AV *)SvRV(HeVAL(entry));
    if (!make)
        return NULL;
    if (!ends)
        ends = newHV();
    AV *list = newAV();
    (void)hv_store_ent(ends, package, newRV_noinc((SV *)list), 0);
    return list;
}

/* Takes the END blocks of registered packages out of perl's own list: they run after each request, not at exit. */
static void ends_sort(pTHX) {
    SSize_t i, kept = 0, count = PL_endav ? AvFILLp(PL_endav) + 1 : 0;
    if (count == ends_seen)
        return;
    for (i = 0; ends && i < count; i++) {
        SV *code = AvARRAY(PL_endav)[i];
        HV *stash = code ? CvSTASH((CV *)code) : NULL;
        const char *name = stash ? HvNAME_get(stash) : NULL;
        SV **list = name ? hv_fetch(ends, name, HvNAMEUTF8(stash) ? -(I32)HvNAMELEN(stash) : (I32)HvNAMELEN(stash), 0)
                         : NULL;
        if (list && SvROK(*list))
            av_push((AV *)SvRV(*list), code);
        else
            AvARRAY(PL_endav)[kept++] = code;
    }
    if (ends && count) {
        AvFILLp(PL_endav) = kept - 1;
        count = kept;
    }
    ends_seen = count;
}

/* Runs a script's END blocks; false if one died (in $@). */
static int ends_call(pTHX_ AV *list) {
    SSize_t i;
    for (i = 0; i <= av_top_index(list); i++) {
        dSP;
        SV **code = av_fetch(list, i, 0);
        if (!code)
            continue;
        PUSHMARK(SP);
        call_sv(*code, G_EVAL | G_DISCARD | G_VOID);
        if (SvTRUE(ERRSV)) {
            if (!sv_isobject(ERRSV))
                sv_catpvs(ERRSV, "END failed--call queue aborted.\n");
            return 0;
        }
    }
    return 1;
}

/* ---- compiled scripts ---- */

enum { ONCE = 1, BY_URI = 2, FIRST = 4, EXEC_CHECKED = 8 };
#define OPT_EXECCGI 8

typedef struct script script;
struct script {
    script *next;
    SV *class, *filename, *uri, *package;
    CV *code;
    AV *ends;
    char *directory; /* NULL: the working directory stays */
    U32 server;
    int flags;
    hp_finfo facts;
};

#define SLOTS 256
static script *slots[SLOTS];

static int same_text(SV *have, const char *bytes, STRLEN length) {
    return SvCUR(have) == length && !memcmp(SvPVX(have), bytes, length);
}

/* The URI without its path info, which is what generation 1 names packages by. */
static hp_str script_uri(pTHX_ const hp_request *r) {
    hp_str uri = hp_request_text(aTHX_ r->uri, r->in->uri), info = hp_request_text(aTHX_ r->path_info, r->in->path_info);
    if (info.len && info.len <= uri.len && !memcmp(uri.ptr + uri.len - info.len, info.ptr, info.len))
        uri.len -= info.len;
    return uri;
}

static int same_file(const hp_finfo *a, const hp_finfo *b) {
    return a->ino == b->ino && a->mtime == b->mtime && a->mtime_nsec == b->mtime_nsec && a->size == b->size &&
           a->ctime == b->ctime && a->mode == b->mode && a->dev == b->dev && a->uid == b->uid && a->gid == b->gid;
}

static script *find(pTHX_ const hp_request *r, const char *class, STRLEN length) {
    const hp_finfo *facts = &r->in->finfo;
    hp_str filename = hp_request_text(aTHX_ r->filename, r->in->filename);
    script *s;
    if (facts->kind != 1 || r->stat_again)
        return NULL;
    for (s = slots[facts->ino % SLOTS]; s; s = s->next) {
        if (s->facts.ino != facts->ino || !same_text(s->class, class, length) ||
            !same_text(s->filename, filename.ptr, filename.len))
            continue;
        if (s->flags & BY_URI) {
            hp_str uri = script_uri(aTHX_ r);
            if (s->server != r->directory->server || !same_text(s->uri, uri.ptr, uri.len))
                continue;
        }
        return s;
    }
    return NULL;
}

/* Whether a remembered script may run for this request as it is. */
static int usable(const script *s, const hp_request *r) {
    if (!(s->flags & ONCE) && !same_file(&s->facts, &r->in->finfo))
        return 0;
    return !(s->flags & EXEC_CHECKED) || (r->directory->allow_options & OPT_EXECCGI);
}

/* Has the class log $@; the status that it makes of it. Not in an eval, which would clear $@. */
static IV failed(pTHX_ SV *class, SV *request) {
    dSP;
    IV status = 500;
    int count;
    ENTER;
    SAVETMPS;
    PUSHMARK(SP);
    XPUSHs(class);
    XPUSHs(request);
    PUTBACK;
    count = call_method("script_failed", G_SCALAR);
    SPAGAIN;
    if (count == 1) {
        SV *answer = POPs;
        if (SvOK(answer))
            status = SvIV(answer);
    }
    PUTBACK;
    FREETMPS;
    LEAVE;
    return status;
}

/* Where a script is called from, for caller() and stack traces: CGI::Carp tells by the file's name whether the eval
 * that it finds around a script's die is Registry's. */
static COP *call_site(pTHX_ int first) {
    static COP sites[2];
    static int made[2];
    first = !!first;
    if (!made[first]) {
        made[first] = 1;
        CopFILE_set(&sites[first], first ? "hostler/Apache/Registry.pm" : "hostler/ModPerl/RegistryCooker.pm");
        CopLINE_set(&sites[first], 1);
        CopSTASH_set(&sites[first], gv_stashpv(first ? "Apache::Registry" : "ModPerl::RegistryCooker", GV_ADD));
    }
    return &sites[first];
}

static IV run(pTHX_ script *s, hp_request *r, SV *request) {
    dSP;
    COP *from = PL_curcop;
    int before = r->status, after;
    IV rc = 0;
    U8 warn = PL_dowarn;
    SV *class = sv_2mortal(SvREFCNT_inc_simple_NN(s->class));
    SV *code = sv_2mortal(SvREFCNT_inc_simple_NN((SV *)s->code));
    AV *list = s->ends;
    int first = s->flags & FIRST;
    if (list)
        sv_2mortal(SvREFCNT_inc_simple_NN((SV *)list));
    if (s->directory && go(s->directory) && !first)
        croak("can't change to %s: %s", s->directory, Strerror(errno));
    if (s->directory)
        owed = 1;

    PUSHMARK(SP);
    XPUSHs(request);
    PUTBACK;
    PL_curcop = call_site(aTHX_ first);
    call_sv(code, G_EVAL | G_DISCARD | G_VOID);
    PL_curcop = from;
    if (UNLIKELY(SvTRUE_NN(ERRSV))) {
        if (hp_is_exit(aTHX_ ERRSV))
            sv_setpvs(ERRSV, "");
        else
            rc = failed(aTHX_ class, request);
    }

    if ((PL_endav ? AvFILLp(PL_endav) + 1 : 0) != ends_seen)
        ends_sort(aTHX);
    if (list && AvFILLp(list) >= 0) {
        SV *error = sv_mortalcopy(ERRSV);
        IV end = ends_call(aTHX_ list) ? 0 : failed(aTHX_ class, request);
        if (!rc)
            rc = end;
        sv_setsv(ERRSV, error);
    }
    if (s->directory && !owed) { /* the script went somewhere itself */
        owed = 1;
        here = NULL;
    }
    after = r->status;
    r->status = before;
    if (first) {
        PL_dowarn = warn;
        if (rc)
            return rc;
        return after == 200 || r->head_state == HP_HEAD_SENT ? 0 : after;
    }
    return !rc && before != after ? after : rc;
}

/* The class that install() was called for. */
static SV *own_class(CV *cv) {
    return (SV *)CvXSUBANY(cv).any_ptr;
}

/* handler($r) or Class->handler($r), of every Registry class. */
static XS(handler) {
    dXSARGS;
    SV *class, *request;
    hp_request *r;
    script *s;
    const char *name;
    STRLEN length;
    if (items < 1)
        croak("a Registry handler is called with the request");
    class = items >= 2 ? ST(0) : own_class(cv);
    request = items >= 2 ? ST(1) : ST(0);
    name = SvPV(class, length);
    r = hp_request_maybe(aTHX_ request);
    s = r && !SvROK(class) ? find(aTHX_ r, name, length) : NULL;
    if (s && usable(s, r)) {
        IV rc = run(aTHX_ s, r, request);
        ST(0) = sv_2mortal(newSViv(rc));
        XSRETURN(1);
    }
    hp_cwd_settle(aTHX);
    {
        int count;
        SV *answer;
        SP -= items;
        PUSHMARK(SP);
        EXTEND(SP, 2);
        PUSHs(class);
        PUSHs(request);
        PUTBACK;
        count = call_method("cook", G_SCALAR);
        SPAGAIN;
        answer = count == 1 ? POPs : &PL_sv_undef;
        PUTBACK;
        ST(0) = answer;
        XSRETURN(1);
    }
}

void hp_cwd_before(pTHX_ CV *code) {
    if (UNLIKELY(owed) && !(CvISXSUB(code) && CvXSUB(code) == handler))
        hp_cwd_settle(aTHX);
}

static void forget_matching(pTHX_ SV *package) {
    int i;
    for (i = 0; i < SLOTS; i++) {
        script **at = &slots[i];
        while (*at) {
            script *s = *at;
            if (!sv_eq(s->package, package)) {
                at = &s->next;
                continue;
            }
            *at = s->next;
            SvREFCNT_dec(s->class);
            SvREFCNT_dec(s->filename);
            SvREFCNT_dec(s->uri);
            SvREFCNT_dec(s->package);
            SvREFCNT_dec((SV *)s->code);
            SvREFCNT_dec((SV *)s->ends);
            if (here == s->directory)
                here = NULL;
            Safefree(s->directory);
            Safefree(s);
        }
    }
}

static SV *stamp(pTHX_ const hp_finfo *f) {
    return Perl_newSVpvf(aTHX_ "%" UVuf ":%" UVuf ":%" UVuf ".%09" UVuf ":%" UVuf, (UV)f->dev, (UV)f->ino,
                         (UV)f->mtime, (UV)f->mtime_nsec, (UV)f->size);
}

MODULE = Hostler::Registry  PACKAGE = Hostler::Registry

PROTOTYPES: DISABLE

# Whether this error is what exit() throws.
bool
exited(SV *error)
  CODE:
    RETVAL = hp_is_exit(aTHX_ error);
  OUTPUT:
    RETVAL

# Gives a class its handler().
void
install(SV *class)
  CODE:
    {
        SV *name = sv_2mortal(newSVpvf("%" SVf "::handler", SVfARG(class)));
        CV *code = newXS(SvPV_nolen(name), handler, __FILE__);
        CvXSUBANY(code).any_ptr = newSVsv(class);
        CvMETHOD_on(code);
    }

# A compiled script, to be found again by what the front says of its file.
void
remember(SV *class, SV *request, SV *code, SV *package, int flags, SV *directory)
  CODE:
    {
        hp_request *r = hp_request_maybe(aTHX_ request);
        if (r && r->in->finfo.kind == 1 && !r->stat_again && SvROK(code) && SvTYPE(SvRV(code)) == SVt_PVCV) {
            hp_str filename = hp_request_text(aTHX_ r->filename, r->in->filename), uri = script_uri(aTHX_ r);
            STRLEN length;
            const char *path;
            script *s, *old;
            forget_matching(aTHX_ package);
            Newxz(s, 1, script);
            s->class = newSVsv(class);
            s->package = newSVsv(package);
            s->filename = newSVpvn(filename.ptr, filename.len);
            s->uri = newSVpvn(uri.ptr, uri.len);
            s->code = (CV *)SvREFCNT_inc(SvRV(code));
            ends_sort(aTHX);
            s->ends = (AV *)SvREFCNT_inc((SV *)ends_of(aTHX_ package, 1));
            if (SvOK(directory)) {
                path = SvPV(directory, length);
                s->directory = savepvn(path, length);
            }
            s->server = r->directory->server;
            s->flags = flags;
            s->facts = r->in->finfo;
            old = slots[s->facts.ino % SLOTS];
            s->next = old;
            slots[s->facts.ino % SLOTS] = s;
        }
    }

# A package's script is no longer to be found.
void
forget(SV *package)
  CODE:
    forget_matching(aTHX_ package);

# What identifies the contents of the request's file, as the front knows it; undef if it does not.
SV *
stamp_of_request(SV *request)
  CODE:
    {
        hp_request *r = hp_request_maybe(aTHX_ request);
        RETVAL = r && r->in->finfo.kind == 1 && !r->stat_again ? stamp(aTHX_ &r->in->finfo) : newSV(0);
    }
  OUTPUT:
    RETVAL

# The same of a path.
SV *
stamp_of_file(const char *path)
  CODE:
    {
        struct stat st;
        hp_finfo f;
        if (stat(path, &st)) {
            RETVAL = newSV(0);
        } else {
            f.dev = st.st_dev;
            f.ino = st.st_ino;
            f.mtime = (uint64_t)st.st_mtim.tv_sec;
            f.mtime_nsec = (uint32_t)st.st_mtim.tv_nsec;
            f.size = (uint64_t)st.st_size;
            RETVAL = stamp(aTHX_ &f);
        }
    }
  OUTPUT:
    RETVAL

# From now on END blocks of this package run after its requests.
void
ends_register(SV *package)
  CODE:
    (void)ends_of(aTHX_ package, 1);

void
ends_clear(SV *package)
  CODE:
    {
        AV *list;
        ends_sort(aTHX);
        list = ends_of(aTHX_ package, 0);
        if (list)
            av_clear(list);
    }

# Runs them; what one dies of is left in $@.
void
ends_run(SV *package)
  CODE:
    {
        AV *list;
        ends_sort(aTHX);
        list = ends_of(aTHX_ package, 0);
        if (list && !ends_call(aTHX_ (AV *)sv_2mortal(SvREFCNT_inc((SV *)list))))
            XSRETURN_EMPTY;
    }

# The ServerRoot, where scripts that have their own directory return to.
void
home_directory(SV *path)
  CODE:
    {
        STRLEN length;
        const char *bytes = SvPV(path, length);
        hp_cwd_home(aTHX_ bytes, length);
    }

void
settle()
  CODE:
    hp_cwd_settle(aTHX);

BOOT:
    perl_chdir = PL_ppaddr[OP_CHDIR];
    PL_ppaddr[OP_CHDIR] = note_chdir;
