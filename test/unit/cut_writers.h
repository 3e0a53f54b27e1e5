/*
 * Writers for test_cut.c: threads that do nothing but insert and remove blocks, with the client's own
 * tables, in patterns whose every instant can be recognised.
 *
 * The block with number n of a writer is n + 1 bytes long and stands on the stack n % stack_count of
 * that writer's own, but in WRITERS_MOVE, where the stack is drawn.
 *
 *     WRITERS_WINDOW   removes its oldest block, inserts its next one: `window` blocks, or one less
 *     WRITERS_CAUSAL   the same; writer 1 inserts block n only when writer 0 has published n
 *     WRITERS_MOVE     has `window` blocks, and puts two of them on other stacks, again and again
 *     WRITERS_HAND     even writers insert, the next odd one removes, at most `window` between them
 *
 * The tables are this process's, and exist once: writers_open() is called once in a process.
 *
 * (In a file apart from the collector, as both sides have a struct hs_region.)
 */
#pragma once

#include <stdint.h>

#include "fmt/region_layout.h"

#define WRITERS_MAX        4U
#define WRITERS_STACKS_MAX 1024U /* of each */

enum writers_kind {
    WRITERS_WINDOW,
    WRITERS_CAUSAL,
    WRITERS_MOVE,
    WRITERS_HAND,
};

struct writers_plan {
    enum writers_kind kind;
    uint32_t writer_count;
    uint32_t window;
    uint32_t stack_count; /* of each */
};

struct writers_region {
    int fd; /* the caller's */
    uint64_t region_bytes;
    uint32_t first_stack; /* of writer 0; that of writer i is i * WRITERS_STACKS_MAX further */
};

void writers_open(struct writers_region *ret_region);

/* The writers' own view of what a reader maps: for ThreadSanitizer, which tells memory by address. */
struct hs_region_control_v1 *writers_control(void);
const void *writers_section(enum hs_section_id section, uint64_t count);

/* Each writer in a thread of its own; stop waits for them and removes what is left. */
void writers_start(const struct writers_plan *plan);
void writers_stop(void);

/* The last writer in the calling thread (the others, if any, in threads), until it is killed. */
_Noreturn void writers_run(const struct writers_plan *plan);
