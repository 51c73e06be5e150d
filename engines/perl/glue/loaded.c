/* What loading depends on: the files that were read, looked for or looked at until the parent is ready, so that a
 * later front can be told whether they are still the same. Perl's own operators are watched; what C libraries read
 * by themselves is not seen.
 *
 * Afterwards the operators do what they always did. */
#include "perl_glue.h"

typedef OP *(*operator)(pTHX);

static operator original[MAXO];
static int loading;
/* Names given to `require` and `do`. */
static HV *wanted;

static int is_text(SV *sv)
{
    return sv && SvPOK(sv) && !SvROK(sv) && !SvVOK(sv) && !SvNIOK(sv);
}

static void note(pTHX_ SV *path, int inside)
{
    STRLEN length;
    const char *text;
    if (!is_text(path))
        return;
    text = SvPV_nomg(path, length);
    hp_loaded_path(text, length, inside);
}

/* Of open(FH, "< path"), the kind that guesses. */
static void note_guessed(pTHX_ SV *expression)
{
    STRLEN length;
    const char *text, *end;
    if (!is_text(expression))
        return;
    text = SvPV_nomg(expression, length);
    end = text + length;
    while (text < end && isSPACE_A(*text))
        text++;
    while (end > text && isSPACE_A(end[-1]))
        end--;
    if (text == end || *text == '>')
        return;
    if (*text == '|' || end[-1] == '|') {
        hp_loaded_elsewhere();
        return;
    }
    if (*text == '+')
        text++;
    if (text < end && *text == '<')
        text++;
    while (text < end && isSPACE_A(*text))
        text++;
    hp_loaded_path(text, (size_t)(end - text), 1);
}

static void note_open(pTHX)
{
    SV **first = PL_stack_base + TOPMARK + 1;
    SSize_t count = PL_stack_sp - first + 1;
    const char *mode;
    if (count == 2)
        note_guessed(aTHX_ first[1]);
    if (count < 3 || !is_text(first[1]))
        return;
    mode = SvPV_nolen(first[1]);
    if (strchr(mode, '|'))
        hp_loaded_elsewhere();
    else if (strchr(mode, '<') && !strchr(mode, '&'))
        note(aTHX_ first[2], 1);
}

static void note_here(pTHX)
{
    switch (PL_op->op_type) {
    case OP_OPEN: note_open(aTHX); break;
    case OP_SYSOPEN: note(aTHX_ PL_stack_base[TOPMARK + 2], 1); break;
    case OP_REQUIRE:
    case OP_DOFILE:
        if (is_text(*PL_stack_sp))
            (void)hv_store_ent(wanted, *PL_stack_sp, newSViv(1), 0);
        break;
    case OP_GLOB:
    case OP_BACKTICK:
    case OP_SYSTEM:
    case OP_FORK:
    case OP_CONNECT: hp_loaded_elsewhere(); break;
    case OP_OPEN_DIR: note(aTHX_ * PL_stack_sp, 1); break;
    default: /* the tests of files */
        if (!(PL_op->op_flags & OPf_REF))
            note(aTHX_ * PL_stack_sp, 0);
    }
}

static OP *noted(pTHX)
{
    if (loading)
        note_here(aTHX);
    return original[PL_op->op_type](aTHX);
}

void hp_loaded_boot(pTHX)
{
    static const U16 watched[] = {OP_OPEN,     OP_SYSOPEN, OP_OPEN_DIR, OP_STAT,     OP_LSTAT,   OP_REQUIRE,
                                  OP_DOFILE,   OP_GLOB,    OP_BACKTICK, OP_SYSTEM,   OP_FORK,    OP_CONNECT,
                                  OP_FTIS,     OP_FTFILE,  OP_FTDIR,    OP_FTSIZE,   OP_FTMTIME, OP_FTCTIME,
                                  OP_FTLINK,   OP_FTZERO,  OP_FTRREAD,  OP_FTRWRITE, OP_FTREXEC, OP_FTEREAD,
                                  OP_FTEWRITE, OP_FTEEXEC};
    size_t i;
    for (i = 0; i < C_ARRAY_LENGTH(watched); i++) {
        original[watched[i]] = PL_ppaddr[watched[i]];
        PL_ppaddr[watched[i]] = noted;
    }
    wanted = newHV();
    loading = 1;
    if (hp_settings.generation == 1)
        sv_setiv(get_sv("Apache::Server::Starting", GV_ADD), 1);
}

/* Where `name` was not found, up to the place where it was: it would be found there if it came to be. */
static void note_search(pTHX_ const char *name, const char *found)
{
    AV *inc = GvAVn(PL_incgv);
    SSize_t i;
    if (*name == '/' || *name == '.') {
        hp_loaded_path(name, strlen(name), 1);
        return;
    }
    for (i = 0; i <= av_len(inc); i++) {
        SV **folder = av_fetch(inc, i, 0);
        SV *candidate;
        if (!folder || SvROK(*folder) || !SvPOK(*folder))
            continue;
        candidate = sv_2mortal(newSVpvf("%s/%s", SvPV_nolen(*folder), name));
        if (found && strEQ(SvPV_nolen(candidate), found))
            break;
        note(aTHX_ candidate, 1);
    }
}

void hp_loaded_end(pTHX)
{
    HV *inc = GvHVn(PL_incgv);
    HE *entry;
    loading = 0;
    if (hp_settings.generation == 1)
        sv_setiv(get_sv("Apache::Server::Starting", GV_ADD), 0);
    ENTER;
    SAVETMPS;
    hv_iterinit(inc);
    while ((entry = hv_iternext(inc))) {
        SV *found = HeVAL(entry);
        /* Modules of our own are part of the program. */
        if (!is_text(found) || strEQ(SvPV_nolen(found), "/proc/self/exe"))
            continue;
        note(aTHX_ found, 1);
        note_search(aTHX_ HePV(entry, PL_na), SvPV_nolen(found));
    }
    hv_iterinit(wanted);
    while ((entry = hv_iternext(wanted))) {
        HE *known = hv_fetch_ent(inc, hv_iterkeysv(entry), 0, 0);
        if (!known || !SvOK(HeVAL(known)))
            note_search(aTHX_ HePV(entry, PL_na), NULL);
    }
    FREETMPS;
    LEAVE;
    SvREFCNT_dec(wanted);
    wanted = NULL;
}
