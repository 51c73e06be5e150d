/* The interpreter's code in a huge page, for parents that fork a process for each request: such a process then finds
 * the code in place, instead of being given it piece by piece.
 *
 * The system's library is a file, whose pages are as small as ever. So they are copied to where they are: the same
 * bytes at the same addresses, never writable and executable at the same time. Whatever does not fit (a library that
 * is not aligned, one linked into the program, a system that forbids it) stays as it was. */
#include "perl_glue.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define HUGE_PAGE ((size_t)2 << 20)

/* Whether these bytes are mapped from a file, for reading and executing only. */
static int is_constant(uintptr_t begin, uintptr_t end)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && begin < end && fgets(line, sizeof line, maps)) {
        unsigned long long from, to;
        char rights[8];
        if (sscanf(line, "%llx-%llx %7s", &from, &to, rights) == 3 && from <= begin && begin < to) {
            if (rights[0] != 'r' || rights[1] != '-' || !strchr(line, '/'))
                break;
            begin = (uintptr_t)to;
        }
    }
    if (maps)
        fclose(maps);
    return begin >= end;
}

void hp_text_gather(void)
{
    Dl_info library;
    char *place, *room, *copy;
    if (!dladdr((void *)perl_alloc, &library))
        return;
    place = library.dli_fbase;
    if ((uintptr_t)place % HUGE_PAGE || !is_constant((uintptr_t)place, (uintptr_t)place + HUGE_PAGE))
        return;
    room = mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return;
    copy = room + (HUGE_PAGE - (uintptr_t)room % HUGE_PAGE) % HUGE_PAGE;
    (void)madvise(copy, HUGE_PAGE, MADV_HUGEPAGE);
    memcpy(copy, place, HUGE_PAGE);
    if (madvise(copy, HUGE_PAGE, MADV_COLLAPSE) == 0 && mprotect(copy, HUGE_PAGE, PROT_READ | PROT_EXEC) == 0)
        (void)mremap(copy, HUGE_PAGE, HUGE_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    (void)munmap(room, 2 * HUGE_PAGE);
}
