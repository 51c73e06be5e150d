/* What programs keep with a client's connection ($c->pnotes, $c->notes): it lasts from one request to the next as long as this
 * worker serves them. Others know nothing of it; and of the connection's end nobody is told, so the oldest ones go. */
#include "api.h"

#include <strings.h>

#define MOST 32

typedef struct {
    uint64_t id; /* 0: nobody's */
    HV *pnotes;
    hp_table *notes;
} kept_connection;

static kept_connection connections[MOST];
static size_t oldest;

static void forget(pTHX_ kept_connection *c)
{
    HV *pnotes = c->pnotes;
    hp_table *notes = c->notes;
    Zero(c, 1, kept_connection); /* first: destructors may look */
    SvREFCNT_dec((SV *)pnotes);
    if (notes)
        hp_table_free(aTHX_ notes);
}

static kept_connection *known(uint64_t id)
{
    size_t i;
    for (i = 0; id && i < MOST; i++)
        if (connections[i].id == id)
            return &connections[i];
    return NULL;
}

/* NULL: one that has no number. */
static kept_connection *of_request(pTHX_ const hp_request *r)
{
    kept_connection *c = known(r->in->connection);
    if (c || !r->in->connection)
        return c;
    c = &connections[oldest++ % MOST];
    forget(aTHX_ c);
    c->id = r->in->connection;
    return c;
}

HV **hp_connection_pnotes(pTHX_ hp_request *r)
{
    kept_connection *c = of_request(aTHX_ r);
    return c ? &c->pnotes : &r->connection_pnotes;
}

hp_table **hp_connection_notes_of(pTHX_ hp_request *r)
{
    kept_connection *c = of_request(aTHX_ r);
    return c ? &c->notes : &r->connection_notes;
}

/* Whether no other request can follow: by the server's settings, or as the client wants it (RFC 9112 section 9.3). */
int hp_connection_is_last(const hp_request_in *in)
{
    int closes = in->protocol < 1001;
    size_t i, at;
    for (i = 0; i < in->headers_in.count; i++) {
        const hp_field *field = &in->headers_in.list[i];
        if (field->name.len != 10 || strncasecmp(field->name.ptr, "Connection", 10) != 0)
            continue;
        for (at = 0; at < field->value.len; at++) {
            size_t left = field->value.len - at;
            if (left >= 5 && strncasecmp(field->value.ptr + at, "close", 5) == 0)
                return 1;
            if (left >= 10 && strncasecmp(field->value.ptr + at, "keep-alive", 10) == 0)
                closes = 0;
        }
    }
    return closes || !(in->flags & HP_KEEP_ALIVE);
}

void hp_connection_end(pTHX_ const hp_request *r)
{
    kept_connection *c = known(r->in->connection);
    if (c && hp_connection_is_last(r->in))
        forget(aTHX_ c);
}
