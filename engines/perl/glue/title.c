/* What `ps` shows: written over the process's arguments and, as far as it is needed, its environment, which is moved
 * away before anything refers to it. */
#include "hostler.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

/* What the front says to the dynamic linker: to resolve all names at once, and not again in each forked process. */
#define OURS "LD_BIND_NOW="

static char *room;
static size_t room_length;

/* glibc calls constructors with main's arguments. */
__attribute__((constructor)) static void find_room(int count, char **arguments, char **variables)
{
    char *end;
    char **moved;
    size_t variable_count = 0, i, kept;
    if (count < 1)
        return;
    end = arguments[0];
    for (i = 0; i < (size_t)count; i++)
        if (arguments[i] == end)
            end += strlen(end) + 1;
    while (variables[variable_count])
        variable_count++;
    moved = calloc(variable_count + 1, sizeof *moved);
    if (!moved)
        return;
    for (i = 0, kept = 0; i < variable_count; i++) {
        if (variables[i] == end)
            end += strlen(end) + 1;
        if (strncmp(variables[i], OURS, sizeof OURS - 1) == 0)
            continue;
        moved[kept] = strdup(variables[i]);
        if (!moved[kept++])
            return;
    }
    environ = moved;
    room = arguments[0];
    room_length = (size_t)(end - room);
}

void hp_title(hp_str text)
{
    size_t length;
    if (room_length < 2)
        return;
    length = text.len < room_length - 1 ? text.len : room_length - 1;
    memcpy(room, text.ptr, length);
    memset(room + length, 0, room_length - length);
}
