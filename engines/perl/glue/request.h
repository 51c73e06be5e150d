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
    SV *self; /* the object, once somebody has asked for it */

    /* Fields that programs may change; each is NULL until it was changed or asked for as an SV, and `in` has it. */
    SV *method, *uri, *unparsed_uri, *args, *filename, *path_info, *user, *ap_auth_type, *handler, *content_type,
        *content_encoding, *status_line, *the_request, *hostname;
    int status;
    int own_status; /* what the program has set it to, but 200; 0: nothing */
    hp_table *headers_in, *headers_out, *err_headers_out, *subprocess_env, *notes; /* NULL until asked for */
    HV *pnotes;
    AV *cleanups;          /* [code, data] pairs of pools and register_cleanup */
    AV *pushed[HP_PHASES]; /* push_handlers / set_handlers; NULL: those of the configuration */
    AV *languages;
    HV *custom_responses;
    hp_table *dir_config; /* directory->vars as a table, once it was asked for as one */
    hp_request *subs;     /* sub-requests made from this one; they end with it */
    hp_request *next_sub;
    SV *target; /* of a sub-request: what was asked for */

    int head_state;
    int assbackwards;
    int header_said; /* by a program of mod_perl 1's: what follows is a body, whatever it begins with */
    int no_cache, no_local_copy;
    int changed; /* HP_CHANGED_ bits: something that hp_changes tells was changed */
    int has_length;
    uint64_t length;
    time_t mtime;
    uint64_t bytes_sent;
    SV *redirect;   /* where the request goes on when the handler has returned */
    int redirected; /* another request has answered in its place (internal_redirect) */

    int autoflush; /* $| of a stdout that is not tied (hp_request_autoflush() looks) */
    /* PerlSendHeader / ParseHeaders: the header is still being looked for in the output. */
    int parse_headers;
    SV *header_text;

    /* A header with a Location alone: the server makes the answer, as if the handler had returned this status. */
    int answer_status;

    int env_called;                          /* a program has filled %ENV (subprocess_env in void context) */
    SV *client_ip, *local_ip, *useragent_ip; /* as programs have set them */
    HV *env_kept;                            /* what it held then, for later trips */
    int env_wanted; /* %ENV has the CGI variables; subprocess_env gets them when it is looked at */
    int body_ended;
    hp_request *main; /* of a sub-request */
    hp_request *prev, *next;
    int owns_main, owns_prev; /* it is only there to be looked at, and ends with this one */
    int borrows_next;         /* (next does, but for this) it is one of the sub-requests */
    int has_stayed;           /* of a prev: what its programs want done at its end is not done yet */
    int logs_later;           /* its Log and Cleanup phases are not this trip's */
    int is_configured_anew;   /* a program has added configuration in this trip */
    int is_filtered;          /* its own answer goes through its filters in Perl, if there are any */
    int filter_failed;        /* one of them has: nothing more is sent */
    int is_served;            /* phases of it run: what it prints is its own answer, not its main request's */
    uint32_t id;              /* of a sub-request: the front's number for it */
    int phase;                /* the phase that runs */
    SV *pool;                 /* the APR::Pool object, once asked for; destroyed with the request */
    SV *connection;           /* the Apache2::Connection object */
    HV *connection_pnotes;
    hp_table *connection_notes;
    int proxyreq; /* what the program has said of it, if it has: nobody else acts on it */
    int proxyreq_set;
    uint32_t keepalive; /* what the program has said of the connection, if it has */
    int keepalive_set;
    SV *document_root; /* for this request */
    uint64_t allowed;  /* methods for Allow, as bits 1 << M_... */
    int stat_again;    /* the filename was changed: finfo is to be asked for anew */
    HV *stash;         /* room for Perl parts of the interface (Hostler::Request::stash) */
    char *arena;       /* of a sub-request: `in` and all that it refers to */
};

/* Bits of `changed`: what a sent head has told already, and what it has not. */
enum { HP_CHANGED_REQUEST = 1, HP_CHANGED_ANSWER = 2 };

/* What hp_perl_boot() was given: copied, valid as long as the process. */
extern hp_setup hp_settings;
/* Keeps a copy of the setup in hp_settings; hp_perl_boot() calls it before hp_boot_api(). */
void hp_keep_setup(const hp_setup *setup);

/* The request that is being served; NULL outside of one. */
extern hp_request *hp_current;

hp_request *hp_request_new(pTHX_ const hp_request_in *in, hp_directory *directory);
/* Between two trips of a request: the front's strings are about to go. */
void hp_request_stay(pTHX_ hp_request *r);
/* The same request on its next trip: what the front was told is in `in` now, what only this process knows is kept. */
void hp_request_again(pTHX_ hp_request *r, const hp_request_in *in, hp_directory *directory);
/* The same of a sub-request, whose strings are its own. */
void hp_request_renew(pTHX_ hp_request *r, const hp_request_in *in, hp_directory *directory);
void hp_request_free(pTHX_ hp_request *r);
/* The request whose answer it is that this one prints: itself, or the nearest main request that is being served. */
hp_request *hp_request_printing(hp_request *r);
/* The request that this one is inside of: the one that the worker was given. Itself, if it is that. */
hp_request *hp_request_base(hp_request *r);
/* The Perl object, blessed into the generation's class (Apache2::RequestRec, or Apache); a new reference. */
SV *hp_request_sv(pTHX_ hp_request *r);
/* The request behind an object; croaks with a clear sentence for anything else. */
hp_request *hp_request_for(pTHX_ SV *object, const char *method);
hp_request *hp_request_of(pTHX_ SV *object);
/* The value of a field that may have been changed: hp_request_text(r, r->uri, r->in->uri). Valid until it is changed
 * again. */
hp_str hp_request_text(pTHX_ SV *changed, hp_str original);
/* The table, made at first use: HP_TABLE(r, headers_out). */
#define HP_TABLE(r, name) ((r)->name ? (r)->name : ((r)->name = hp_table_from(aTHX_(r)->in->name)))
/* Takes back what was printed and has not been sent; 0 if something has been. */
int hp_request_forget_output(hp_request *r);
/* Expires, where no_cache asks for it: of an error, or of the program's own answer. */
void hp_request_expire(pTHX_ hp_request *r, int error);
/* Writes body bytes: gathers, parses headers where asked for, sends the head first. */
void hp_request_write(pTHX_ hp_request *r, const char *bytes, STRLEN length);
/* Sends the head (once) and what is gathered. To be called when the response phase is over as well: only then is it
 * known that a script sent no header. */
void hp_request_flush(pTHX_ hp_request *r);
/* Sends the head if that has not been done. */
void hp_request_send_head(pTHX_ hp_request *r);
/* The fields of headers_out, or of err_headers_out (kept), as they stand. */
hp_fields hp_request_fields_out(pTHX_ hp_request *r, int kept);
/* Whether what it answers goes through filters in Perl. */
int hp_request_has_filters(pTHX_ const hp_request *r);
/* Lets the filters of what it answers begin, if there are any. */
void hp_request_begin_filters(pTHX_ hp_request *r);
/* What was printed goes on, as the handler's own flush would let it. */
void hp_request_pass_gathered(pTHX_ hp_request *r);
/* What was printed is on its way, as far as filters in Perl let it: bytes that are not theirs come next, as those of a
 * sub-request. 0: a filter has failed, and nothing may. */
int hp_request_let_by(pTHX_ hp_request *r);
/* Sends bytes as they are: they have been through the filters. */
void hp_request_transmit(pTHX_ hp_request *r, const char *bytes, STRLEN length);
/* What programs have changed of it, with `room` for 64 fields; 0: nothing. */
int hp_request_changes(pTHX_ hp_request *r, hp_changes *changes, hp_field *room);
/* Tells the front what phases changed, if anything. */
void hp_request_tell_changes(pTHX_ hp_request *r);
/* Fills %ENV as a CGI program's (SetupEnv); hp_env_restore() undoes it. */
void hp_env_fill(pTHX_ hp_request *r);
/* Only what PerlSetEnv and PerlPassEnv say: for phases before the response, and under modperl. */
void hp_env_configured(pTHX_ hp_request *r);
void hp_env_restore(pTHX);
/* Ties STDIN and STDOUT to whatever request there is (perl-script), and unties them. */
void hp_tie(pTHX);
void hp_untie(pTHX);
/* What a layer above STDOUT's still holds (binmode with ":encoding(...)" has a buffer) becomes output of the request. */
void hp_drain(pTHX);
/* Runs the cleanups of the request's pool; hp_request_free() does it if nobody has. */
void hp_request_run_cleanups(pTHX_ hp_request *r);
/* Number of a phase by its directive ("PerlLogHandler"), its mod_perl 1 name included; -1: unknown. */
int hp_phase_of(const char *name, size_t length);
/* Registers every XSUB; called once by hp_perl_boot(). */
void hp_boot_api(pTHX);

#endif
