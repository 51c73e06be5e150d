/* The objects of a script that ends: their destructors run, as they do when an interpreter ends, though this one is
 * left as it is. Giving back what the process has is the system's business.
 *
 * Objects that were there before the fork are their parent's: they are left alone. */
#include "perl_glue.h"

#include <stdlib.h>

/* A list that only grows. */
typedef struct {
    SV **list;
    size_t count;
} objects;

static objects inherited; /* sorted */

typedef void (*visitor)(pTHX_ SV *sv);

/* Values that are looked at together, as most of them have none of the flags. */
#define GROUP 8

static U32 flags_of(const SV *first)
{
    U32 flags = 0;
    int i;
    for (i = 0; i < GROUP; i++)
        flags |= SvFLAGS(&first[i]);
    return flags;
}

static void visit_some(pTHX_ SV *sv, const SV *end, U32 flags, visitor visit)
{
    for (; sv < end; sv++)
        if (SvFLAGS(sv) & flags && SvTYPE(sv) != (svtype)SVTYPEMASK && SvREFCNT(sv))
            visit(aTHX_ sv);
}

/* As the interpreter's own sweep: every value that has one of these flags, in the order of its arenas. */
static void visit_all(pTHX_ U32 flags, visitor visit)
{
    SV *arena;
    for (arena = PL_sv_arenaroot; arena; arena = MUTABLE_SV(SvANY(arena))) {
        SV *const end = &arena[SvREFCNT(arena)];
        SV *sv;
        for (sv = arena + 1; sv + GROUP <= end; sv += GROUP)
            if (UNLIKELY(flags_of(sv) & flags))
                visit_some(aTHX_ sv, sv + GROUP, flags, visit);
        visit_some(aTHX_ sv, end, flags, visit);
    }
}

static void add(pTHX_ objects *to, SV *sv)
{
    PERL_UNUSED_CONTEXT;
    if (to->count % 64 == 0)
        Renew(to->list, to->count + 64, SV *);
    to->list[to->count++] = sv;
}

static int by_address(const void *a, const void *b)
{
    const SV *left = *(SV *const *)a, *right = *(SV *const *)b;
    return left < right ? -1 : left > right;
}

static void note(pTHX_ SV *sv)
{
    if (SvTYPE(sv) != SVt_REGEXP)
        add(aTHX_ & inherited, sv);
}

void hp_objects_note(pTHX)
{
    visit_all(aTHX_ SVs_OBJECT, note);
    if (inherited.list)
        qsort(inherited.list, inherited.count, sizeof *inherited.list, by_address);
}

static int is_ours(SV *sv)
{
    return SvOBJECT(sv) && SvTYPE(sv) != SVt_REGEXP &&
           !(inherited.list && bsearch(&sv, inherited.list, inherited.count, sizeof *inherited.list, by_address));
}

static int some;

static void look(pTHX_ SV *sv)
{
    PERL_UNUSED_CONTEXT;
    some |= is_ours(sv);
}

/* First what refers to objects lets go of them. */
static void let_go(pTHX_ SV *sv)
{
    SV *object = SvRV(sv);
    if (SvTYPE(object) == SVt_PVIO || !is_ours(object))
        return;
    if (SvWEAKREF(sv))
        sv_unref(sv);
    else {
        SvROK_off(sv);
        SvRV_set(sv, NULL);
        SvREFCNT_dec_NN(object);
    }
}

static void call_destructor(pTHX_ SV *object)
{
    dSP;
    SV *reference;
    ENTER;
    SAVETMPS;
    reference = sv_2mortal(newRV_inc(object));
    if (gv_fetchmethod_autoload(SvSTASH(object), "DESTROY", TRUE)) {
        PUSHMARK(SP);
        XPUSHs(reference);
        PUTBACK;
        call_method("DESTROY", G_VOID | G_DISCARD | G_EVAL | G_KEEPERR);
    }
    FREETMPS;
    LEAVE;
}

/* Then those go that something else holds: variables that are objects themselves, what code has closed over. A pipe is
 * closed, which waits for the program at its other end. */
static void end_object(pTHX_ SV *sv)
{
    HV *class;
    if (!is_ours(sv))
        return;
    if (SvTYPE(sv) == SVt_PVIO) {
        IO *io = (IO *)sv;
        if (IoTYPE(io) == IoTYPE_PIPE && IoIFP(io)) {
            (void)my_pclose(IoIFP(io));
            IoIFP(io) = IoOFP(io) = NULL;
        }
        return;
    }
    call_destructor(aTHX_ sv);
    if (!SvOBJECT(sv))
        return;
    class = SvSTASH(sv);
    SvOBJECT_off(sv);
    SvSTASH_set(sv, NULL);
    SvREFCNT_dec((SV *)class);
}

void hp_objects_end(pTHX_ void *context)
{
    PERL_UNUSED_ARG(context);
    visit_all(aTHX_ SVs_OBJECT, look);
    if (!some)
        return;
    PL_phase = PERL_PHASE_DESTRUCT;
    visit_all(aTHX_ SVf_ROK, let_go);
    visit_all(aTHX_ SVs_OBJECT, end_object);
}
