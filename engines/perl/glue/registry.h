/* What the engine has to know of Registry: the working directory that it may still owe. */
#ifndef HOSTLER_REGISTRY_H
#define HOSTLER_REGISTRY_H

#include "request.h"

/* Apache::Registry runs a script in its own directory and returns to the ServerRoot. The way back is put off until
 * somebody could notice: to be called before anything but a Registry script runs. Nearly free when nothing is owed. */
void hp_cwd_settle(pTHX);
/* The same before a handler is called, unless it is Registry's own. */
void hp_cwd_before(pTHX_ CV *code);
/* Where the way back leads; called once by the boot, with the ServerRoot. */
void hp_cwd_home(pTHX_ const char *path, size_t length);

#endif
