/* The interpreter's code in huge pages, for parents that fork a process for each request: such a process then finds
 * the code in place, instead of being given it piece by piece.
 *
 * The program is a file, whose pages are as small as ever. So they are copied to where they are: the same bytes at the
 * same addresses, never writable and executable at the same time. Whatever does not fill a huge page stays as it was
 * (the end of the code, a library that is not aligned), and all of it where the system forbids this. */
#include "perl_glue.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define HUGE_PAGE ((size_t)2 << 20)

/* Where the code around an address is mapped from a file, for reading and executing only. */
static int find_code(uintptr_t inside, uintptr_t *begin, uintptr_t *end)
{
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long long from, to;
        char rights[8];
        found = sscanf(line, "%llx-%llx %7s", &from, &to, rights) == 3 && from <= inside && inside < to &&
                strnEQ(rights, "r-x", 3) && strchr(line, '/');
        *begin = (uintptr_t)from;
        *end = (uintptr_t)to;
    }
    if (maps)
        fclose(maps);
    return found;
}

/* Puts a copy into a huge page in its place. */
static void gather(char *place)
{
    char *room, *copy;
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

void hp_text_gather(void)
{
    uintptr_t begin, end;
    if (!find_code((uintptr_t)perl_alloc, &begin, &end))
        return;
    for (begin = (begin + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; begin + HUGE_PAGE <= end; begin += HUGE_PAGE)
        gather((char *)begin);
}
