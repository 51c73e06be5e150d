/* A live request in the interpreter: what Apache2::RequestRec and Apache objects point to. */
#ifndef HOSTLER_REQUEST_H
#define HOSTLER_REQUEST_H

#define PERL_NO_GET_CONTEXT
#include "EXTERN.h"
#include "perl.h"
#include "XSUB.h"

#include "hostler.h"
#include "table.h"

typedef struct hp_request hp_request;

/* State of the answer. */
enum { HP_HEAD_UNSENT, HP_HEAD_SENT };

struct hp_request {
    const hp_request_in *in; /* as the front sent it; NULL strings are absent */
    hp_directory *directory;
    SV *self;                /* the object, once somebody has asked for it */

    /* Fields that programs may change; each is NULL until it was changed or asked for as an SV, and `in` has it. */
    SV *method, *uri, *unparsed_uri, *args, *filename, *path_info, *user, *ap_auth_type, *handler, *content_type,
        *content_encoding, *status_line, *the_request, *hostname;
    int status;
    hp_table *headers_in, *headers_out, *err_headers_out, *subprocess_env, *notes; /* NULL until asked for */
    HV *pnotes;
    AV *cleanups;            /* [code, data] pairs of pools and register_cleanup */
    AV *pushed[HP_PHASES];   /* push_handlers / set_handlers; NULL: those of the configuration */
    AV *languages;
    HV *custom_responses;
    HV *dir_config;          /* APR::Table over directory->vars, made once */

    int head_state;
    int assbackwards;
    int no_cache, no_local_copy;
    int changed;             /* something that hp_changes tells was changed */
    int has_length;
    uint64_t length;
    time_t mtime;
    uint64_t bytes_sent;
    SV *redirect;            /* internal_redirect's target */

    /* Output: small pieces are gathered here before they go to shared memory. */
    SV *buffer;
    int autoflush;           /* $| */
    /* PerlSendHeader / ParseHeaders: the header is still being looked for in the output. */
    int parse_headers;
    SV *header_text;

    int body_ended;
    hp_request *main;        /* of a sub-request */
    hp_request *prev;
    int phase;               /* the phase that runs */
};

/* The request that is being served; NULL outside of one. */
extern hp_request *hp_current;

hp_request *hp_request_new(pTHX_ const hp_request_in *in, hp_directory *directory);
void hp_request_free(pTHX_ hp_request *r);
/* The Perl object, blessed into the generation's class (Apache2::RequestRec, or Apache); a new reference. */
SV *hp_request_sv(pTHX_ hp_request *r);
/* The request behind an object; croaks with a clear sentence for anything else. */
hp_request *hp_request_of(pTHX_ SV *object);
/* Writes body bytes: gathers, parses headers where asked for, sends the head first. */
void hp_request_write(pTHX_ hp_request *r, const char *bytes, STRLEN length);
/* Sends the head (once) and what is gathered. */
void hp_request_flush(pTHX_ hp_request *r);
/* Sends the head if that has not been done. */
void hp_request_send_head(pTHX_ hp_request *r);
/* Tells the front what phases changed, if anything. */
void hp_request_tell_changes(pTHX_ hp_request *r);
/* Fills %ENV as a CGI program's (SetupEnv); hp_env_restore() undoes it. */
void hp_env_fill(pTHX_ hp_request *r);
void hp_env_restore(pTHX);
/* Ties STDIN and STDOUT to the request (perl-script), and unties them. */
void hp_tie(pTHX_ hp_request *r);
void hp_untie(pTHX);
/* Registers every XSUB; called once by hp_perl_boot(). */
void hp_boot_api(pTHX);

#endif
