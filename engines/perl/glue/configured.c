/* What code builds of configuration: taken from it in the process that runs it while the configuration is read, and
 * looked for in a pool's parent, where it would have no effect any more. */
#include "api.h"
#include "perl_glue.h"

int hp_configuring;

/* Variables of sections that make sections: whatever sets them builds configuration. */
static const char *const hashes[] = {"Location", "LocationMatch", "Directory",   "DirectoryMatch",
                                     "Files",    "FilesMatch",    "VirtualHost", "Limit"};

static size_t built_in(pTHX_ const char *package)
{
    size_t i, count = 0;
    AV *list = get_av(SvPV_nolen(sv_2mortal(newSVpvf("%s::PerlConfig", package))), 0);
    SV *text = get_sv(SvPV_nolen(sv_2mortal(newSVpvf("%s::PerlConfig", package))), 0);
    for (i = 0; i < sizeof hashes / sizeof *hashes; i++) {
        HV *hash = get_hv(SvPV_nolen(sv_2mortal(newSVpvf("%s::%s", package, hashes[i]))), 0);
        if (hash)
            count += HvUSEDKEYS(hash);
    }
    if (list)
        count += (size_t)(av_len(list) + 1);
    return text && SvPOK(text) ? count + SvCUR(text) : count;
}

size_t hp_configuration_built(pTHX)
{
    return built_in(aTHX_ "Apache2::ReadConfig") + built_in(aTHX_ "Apache::ReadConfig");
}

void hp_perl_configure(int in_host, int is_section)
{
    dTHX;
    hp_configuring = 1;
    sv_setiv(get_sv("Hostler::Configure::is_section", GV_ADD), is_section);
    sv_setpvs(get_sv("Hostler::Configure::warnings", GV_ADD), "");
    sv_setiv(get_sv("Hostler::Configure::in_host", GV_ADD), in_host);
}

typedef struct {
    SV *why;
} built;

static void walk(pTHX_ void *context)
{
    built *b = context;
    eval_pv("Hostler::Configure::built()", FALSE);
    if (SvTRUE(ERRSV))
        b->why = newSVsv(ERRSV);
}

static hp_str bytes_of(pTHX_ SV *sv)
{
    hp_str text;
    text.ptr = SvPV(sv, text.len);
    return text;
}

int hp_perl_configured(hp_str *texts, char **error)
{
    dTHX;
    built b = {NULL};
    if (hp_guarded(aTHX_ walk, &b))
        b.why = newSVpvs("what it has built called exit");
    if (b.why) {
        *error = hp_message_of(aTHX_ b.why);
        SvREFCNT_dec(b.why);
        sv_setpvs(ERRSV, "");
        return -1;
    }
    texts[0] = bytes_of(aTHX_ get_sv("Hostler::Configure::text", GV_ADD));
    texts[1] = bytes_of(aTHX_ get_sv("Hostler::Configure::warnings", GV_ADD));
    texts[2] = bytes_of(aTHX_ get_sv("Hostler::Configure::declared", GV_ADD));
    return 0;
}
