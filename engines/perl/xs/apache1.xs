/* What mod_perl 1's request object does otherwise than mod_perl 2's, and often enough to be here: Apache.pm gives
 * these functions their names in package Apache. */
#include "api.h"

enum { IN, OUT, ERR, NOTES, ENVIRONMENT };

static hp_table *table_of(pTHX_ hp_request *r, int which) {
    switch (which) {
    case IN: return HP_TABLE(r, headers_in);
    case OUT: return HP_TABLE(r, headers_out);
    case ERR: return HP_TABLE(r, err_headers_out);
    case NOTES: return HP_TABLE(r, notes);
    default: return HP_TABLE(r, subprocess_env);
    }
}

/* The value of a name, and with `value` a new one (undef: none). */
static SV *get_set(pTHX_ hp_request *r, int which, SV *key, SV *value) {
    hp_table *table = table_of(aTHX_ r, which);
    STRLEN length;
    size_t found;
    const char *name = SvPV_const(key, length), *old = hp_table_get(table, name, length, &found);
    SV *answer = old ? newSVpvn(old, found) : newSV(0);
    if (value) {
        SvGETMAGIC(value);
        if (SvOK(value)) {
            STRLEN size;
            const char *bytes = SvPV_const(value, size);
            hp_table_set(aTHX_ table, name, length, bytes, size);
        } else {
            hp_table_unset(aTHX_ table, name, length);
        }
    }
    return answer;
}

/* References to strings are printed as what they refer to. */
static SV *printable(pTHX_ SV *sv) {
    SvGETMAGIC(sv);
    if (SvROK(sv) && !sv_isobject(sv) && SvTYPE(SvRV(sv)) < SVt_PVAV)
        return SvRV(sv);
    return sv;
}

MODULE = Hostler::Apache  PACKAGE = Hostler::Apache

PROTOTYPES: DISABLE

void
print(SV *request, ...)
  PPCODE:
    {
        hp_request *r = hp_request_of(aTHX_ request), *to = hp_request_printing(r);
        STRLEN total = 0;
        int i;
        for (i = 1; i < items; i++) {
            STRLEN length;
            const char *bytes = SvPV_const(printable(aTHX_ ST(i)), length);
            hp_request_write(aTHX_ to, bytes, length);
            total += length;
        }
        if (hp_request_autoflush(aTHX_ r))
            hp_request_push(aTHX_ to);
        SP = PL_stack_base + ax - 1; /* Perl may have run */
        if (GIMME_V != G_VOID)
            mXPUSHu(total ? total : 1);
    }

void
send_http_header(SV *request, SV *type = NULL)
  CODE:
    {
        hp_request *r = hp_request_of(aTHX_ request);
        if (type)
            SvGETMAGIC(type);
        if (type && SvOK(type) && r->head_state == HP_HEAD_UNSENT) {
            SvREFCNT_dec(r->content_type);
            r->content_type = newSVsv(type);
            r->changed |= HP_CHANGED_ANSWER;
        }
        r->parse_headers = 0;
        if (hp_request_printing(r) == r)
            hp_request_send_head(aTHX_ r);
    }

bool
sent_header(SV *request)
  CODE:
    RETVAL = hp_request_of(aTHX_ request)->head_state == HP_HEAD_SENT;
  OUTPUT:
    RETVAL

SV *
header_in(SV *request, SV *name, SV *value = NULL)
  ALIAS:
    header_out = 1
    err_header_out = 2
    note = 3
    variable = 4
  CODE:
    RETVAL = get_set(aTHX_ hp_request_of(aTHX_ request), ix, name, value);
  OUTPUT:
    RETVAL

# The table as an object, or in list context its names and values.
void
headers_in(SV *request)
  ALIAS:
    headers_out = 1
    err_headers_out = 2
    notes = 3
    variables = 4
  PPCODE:
    {
        hp_request *r = hp_request_of(aTHX_ request);
        hp_table *table = table_of(aTHX_ r, ix);
        if (GIMME_V == G_LIST) {
            hp_field field;
            size_t i, count = hp_table_count(table);
            for (i = 0; i < count; i++) {
                if (!hp_table_at(table, i, &field))
                    continue;
                mXPUSHp(field.name.ptr, field.name.len);
                mXPUSHp(field.value.ptr, field.value.len);
            }
        } else {
            mXPUSHs(hp_table_sv(aTHX_ table, request));
        }
    }

# Parses a CGI header at the start of a text; the rest of it is printed. What has no end yet is kept for later.
void
send_cgi_header(SV *request, SV *text)
  CODE:
    {
        hp_request *r = hp_request_of(aTHX_ request);
        STRLEN length;
        const char *bytes = SvPV_const(text, length);
        ptrdiff_t taken = hp_headers_parse(aTHX_ r, bytes, length);
        if (taken < 0) {
            r->parse_headers = 1;
            hp_request_write(aTHX_ r, bytes, length);
        } else {
            r->parse_headers = 0;
            if (hp_table_get(HP_TABLE(r, headers_out), "Location", 8, NULL) && r->status == 200)
                r->status = 302;
            hp_request_send_head(aTHX_ r);
            hp_request_write(aTHX_ r, bytes + taken, length - (STRLEN)taken);
        }
    }

# One line of a CGI header.
void
cgi_header_out(SV *request, SV *name, SV *value)
  CODE:
    {
        hp_request *r = hp_request_of(aTHX_ request);
        SV *line = sv_2mortal(newSVpvf("%" SVf ": %" SVf "\n\n", SVfARG(name), SVfARG(value)));
        STRLEN length;
        const char *bytes = SvPV_const(line, length);
        (void)hp_headers_parse(aTHX_ r, bytes, length);
        if (hp_table_get(HP_TABLE(r, headers_out), "Location", 8, NULL) && r->status == 200)
            r->status = 302;
    }
