/* What makes forking cheap: done once in a parent whose workers serve one request each.
 *
 * A forked process pays for each page that it changes, and for each that it has. So new values and blocks of memory
 * must not fill the gaps between what was loaded, which are all over the heap: they come from fresh room at its end.
 * And the heap is put into huge pages, whose number is what fork and exit have to go through.
 *
 * Nothing here is needed for anything to work: where the system declines, workers are only slower. */
#include "perl_glue.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((uintptr_t)2 << 20)
/* Of the heap, before its first huge page. */
#define IN_FRONT ((uintptr_t)16 << 10)
/* Room at the heap's end that a worker finds without asking the system. */
#define ROOM ((size_t)1 << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

static uintptr_t up(uintptr_t address)
{
    return (address + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

/* What is allocated first is what changes most, the allocator's own record among it: that stays in front of the first
 * huge page, and nearly all else comes into one. Before anything was allocated. */
__attribute__((constructor(101))) static void begin_heap(void)
{
    uintptr_t now = (uintptr_t)sbrk(0);
    if (now != (uintptr_t)-1)
        (void)sbrk((intptr_t)(up(now + IN_FRONT) - IN_FRONT - now));
}

/* Free values in the arenas that were filled while loading are given up. */
static void leave_free_values(pTHX)
{
    size_t i;
    PL_sv_root = NULL;
    for (i = 0; i < C_ARRAY_LENGTH(PL_body_roots); i++)
        PL_body_roots[i] = NULL;
}

static void *volatile given_up; /* or the compiler would see that nobody uses what is allocated */

/* Where the part of the heap begins that was never given away. */
static uintptr_t top_of_heap(void)
{
    return (uintptr_t)sbrk(0) - mallinfo2().keepcost;
}

/* Takes all free blocks below the top, from large to small, for good. */
static void leave_free_blocks(void)
{
    uintptr_t top = top_of_heap();
    size_t size = 64 << 10;
    while (size > 0) {
        given_up = malloc(size);
        if (given_up && (uintptr_t)given_up < top)
            continue;
        free(given_up);
        size -= size > 1024 ? 1024 : 16;
    }
}

/* From here on, everything new comes from room that begins with a huge page's end and was never touched. */
static void make_room(void)
{
    uintptr_t top = top_of_heap();
    size_t rest = up(top) - top;
    void *behind;
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, (int)ROOM);
    given_up = rest > 64 ? malloc(rest - 32) : NULL;
    behind = malloc(mallinfo2().keepcost + 64);
    free(behind);
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

/* What a worker takes of that at least: given to it at once. */
#define FIRST ((size_t)56 << 10)

static uintptr_t fresh;

void hp_first_room(void)
{
    if (fresh)
        (void)madvise((void *)fresh, FIRST, MADV_POPULATE_WRITE);
}

static uintptr_t begin_of_heap(void)
{
    char line[256];
    uintptr_t begin = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "[heap]"))
            begin = (uintptr_t)strtoull(line, NULL, 16);
    if (maps)
        fclose(maps);
    return begin;
}

static void use_huge_pages(void)
{
    uintptr_t begin = begin_of_heap(), end = (top_of_heap() + 64) & ~(HUGE_PAGE - 1);
    if (begin && up(begin) < end)
        (void)madvise((void *)up(begin), end - up(begin), MADV_COLLAPSE);
}

void hp_prepare_forks(void)
{
    dTHX;
    hp_tie(aTHX);
    hp_mod_perl_hide(aTHX);
    hp_objects_note(aTHX);
    leave_free_values(aTHX);
    leave_free_blocks();
    make_room();
    fresh = (top_of_heap() + 4095) & ~(uintptr_t)4095;
    use_huge_pages();
    hp_text_gather();
}
