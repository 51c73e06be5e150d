/* Providers of authentication and authorisation (PerlAddAuthnProvider, PerlAddAuthzProvider): what a line of Require or
 * AuthBasicProvider asks. Who dies, or says what means nothing, has not granted anything. */
#include "trip.h"

/* authz_status and authn_status of Apache have their errors here. */
enum { AUTHZ_GENERAL_ERROR = 3, AUTHZ_DENIED_NO_USER = 4, AUTHN_GENERAL_ERROR = 4 };

/* The text up to the next NUL, or the end; moves on behind it. */
static SV *next_text(pTHX_ const char **at, const char *end)
{
    const char *start = *at, *nul = memchr(start, 0, end - start);
    *at = nul ? nul + 1 : end;
    return sv_2mortal(newSVpvn(start, (nul ? nul : end) - start));
}

/* The last of them may contain NULs. */
static int arguments_of(pTHX_ SV **arguments, int most, const char *at, const char *end)
{
    int count = 0;
    while (count + 1 < most && memchr(at, 0, end - at))
        arguments[count++] = next_text(aTHX_ & at, end);
    arguments[count++] = sv_2mortal(newSVpvn(at, end - at));
    return count;
}

void hp_ask_provider(pTHX_ hp_trip *t)
{
    hp_request *r = t->r;
    const char *at = r->in->provider.ptr, *end = at + r->in->provider.len;
    int is_authz = strEQ(SvPVX(next_text(aTHX_ & at, end)), "authz"), count, said;
    SV *name = next_text(aTHX_ & at, end), *arguments[3];
    r->phase = is_authz ? HP_AUTHZ : HP_AUTHEN;
    hp_env_configured(aTHX_ r);
    arguments[0] = sv_2mortal(hp_request_sv(aTHX_ r));
    count = 1 + arguments_of(aTHX_ arguments + 1, is_authz ? 1 : 2, at, end);
    said = hp_handler_number(aTHX_ hp_handler_named(aTHX_ SvPVX(name), SvCUR(name)), arguments, count);
    if (SvTRUE(ERRSV)) {
        hp_report_error(aTHX_ r);
        sv_setpvs(ERRSV, "");
        said = -1;
    }
    if (said < 0 || said > AUTHZ_DENIED_NO_USER)
        said = is_authz ? AUTHZ_GENERAL_ERROR : AUTHN_GENERAL_ERROR;
    t->decided = 1;
    t->outcome.kind = HP_VERDICT;
    t->outcome.status = (uint16_t)said;
}
