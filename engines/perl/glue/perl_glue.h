/* What the files of the interpreter's life share: booting, finding handlers, calling them, ending programs. */
#ifndef HOSTLER_PERL_GLUE_H
#define HOSTLER_PERL_GLUE_H

#include "request.h"

/* The boot function of an XS file; the table is made by the build and ends with NULL. */
typedef struct {
    const char *name;
    XSUBADDR_t boot;
} hp_module;
extern const hp_module hp_modules[];

/* Statuses that handlers return and that are not HTTP's. */
enum { HP_OK = 0, HP_DECLINED = -1, HP_DONE_STATUS = -2 };

/* ---- inc.c ---- */

/* Puts the hook for embedded modules first in @INC, and the server's folders last. */
void hp_inc_boot(pTHX_ hp_str server_root);

/* ---- loaded.c ---- */

/* Begins to watch what is loaded, before anything is. */
void hp_loaded_boot(pTHX);
/* Tells what all that was loaded depends on, and watches no longer. */
void hp_loaded_end(pTHX);

/* ---- exit.c ---- */

/* Replaces `exit` for all programs. */
void hp_exit_boot(pTHX);
/* Whether $@ is what `exit` throws. */
int hp_is_exit(pTHX_ SV *error);
/* Calls `work`; 1 if the interpreter was left by a real exit (CORE::exit), in which case its stacks are clean. */
int hp_guarded(pTHX_ void (*work)(pTHX_ void *), void *context);
/* In a process that a program forked: ends it, with its buffers written. */
void hp_leave_fork(pTHX_ int status);

/* From now on `exit` ends the program for good: it can't be caught. */
void hp_exit_for_real(void);
/* Runs the END blocks; in hp_guarded(). */
void hp_run_end_blocks(pTHX_ void *context);

/* ---- script.c ---- */

void hp_script_boot(pTHX);
/* Runs the request's file as a CGI script, and its END blocks; the status. */
int hp_script_respond(pTHX_ hp_request *r);
/* Called before a script's own output, where somebody else may have written to it. */
extern void (*hp_before_output)(pTHX_ hp_request *r);

/* ---- handler.c ---- */

typedef struct hp_handler hp_handler;

/* The handler by its word in the configuration; made once for each word, resolved at its first call. */
hp_handler *hp_handler_named(pTHX_ const char *word, size_t length);
/* What a word or a code reference given by a program stands for. */
hp_handler *hp_handler_of(pTHX_ SV *given);
/* Calls it with these arguments (mortal or kept elsewhere). The status: one of HTTP's, or HP_OK, HP_DECLINED ...
 * An error gives 500 and stays in $@, unless it was `exit`. */
int hp_handler_call(pTHX_ hp_handler *handler, SV **arguments, int count);
/* Calls it; the number that it returns, which is none of HTTP's; -1: it has died ($@). */
int hp_handler_number(pTHX_ hp_handler *handler, SV **arguments, int count);

/* ---- perl.c ---- */

/* A copy of an error's text without the ends of its lines, for Rust to free. */
char *hp_message_of(pTHX_ SV *sv);

/* ---- configured.c ---- */

/* This process runs code while the configuration is read. */
extern int hp_configuring;
/* How much is in the variables by which sections build configuration. */
size_t hp_configuration_built(pTHX);

/* ---- phases.c ---- */

/* Logs what a handler died of, where a program looks for it as well. */
void hp_report_error(pTHX_ hp_request *r);

/* ---- exported.c ---- */

/* Before anything is loaded, in the parent of workers that serve one request each. */
void hp_exported_boot(pTHX);
/* $ENV{MOD_PERL} and its like: not for scripts, but for all other programs. */
void hp_mod_perl_hide(pTHX);
void hp_mod_perl_show(pTHX);

/* ---- reserve.c ---- */

/* In a new worker: the memory that its first values go into. */
void hp_first_room(void);

/* ---- text.c ---- */

/* Puts the interpreter's code into a huge page. */
void hp_text_gather(void);

/* ---- objects.c ---- */

/* What is an object now, is not the workers' to end. */
void hp_objects_note(pTHX);
/* Ends all other objects; in hp_guarded(). */
void hp_objects_end(pTHX_ void *context);

#endif
