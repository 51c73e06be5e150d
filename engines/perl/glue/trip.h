/* What the files of a trip share: its phases (phases.c), its begin and end (trips.c), those inside of it (nested.c). */
#ifndef HOSTLER_TRIP_H
#define HOSTLER_TRIP_H

#include "api.h"
#include "perl_glue.h"

typedef struct {
    hp_request *r;
    SV *self; /* NULL: nobody has asked for it */
    hp_outcome outcome;
    int decided; /* the outcome is what it is: no more phases */
    int stopped; /* the phase after which the front is to decide anew, or -1 */
    int died;
} hp_trip;

/* Handlers by their names (SetHandler). */
enum { NO_HANDLER, PERL_SCRIPT, MODPERL, PSGI, CGI_SCRIPT, FILTER };

/* The phases before it, as bits. */
#define BEFORE_RESPONSE ((1u << HP_RESPONSE) - 1)

int hp_handler_kind(pTHX_ hp_request *r);
int hp_has_handlers(pTHX_ const hp_request *r, int phase);
/* Runs a phase's handlers; HP_DECLINED: nobody has said anything. */
int hp_run_phase(pTHX_ hp_trip *t, int phase);
/* The trip asks a provider of authentication or authorisation. */
void hp_ask_provider(pTHX_ hp_trip *t);
/* Runs the phases of a trip, up to the response; `context` is the trip. */
void hp_run_trip(pTHX_ void *context);
/* A real exit (CORE::exit, or one from compiled code) has left everything: the program is over, its answer stands. */
void hp_conclude_exit(pTHX_ void *context);
/* Tells the front what the phases have changed, and what they have come to. */
void hp_finish_trip(pTHX_ void *context);
/* Serves a request inside of the current one, and says what became of it, however it is left. */
void hp_serve_inside(pTHX_ const hp_told *told);

#endif
