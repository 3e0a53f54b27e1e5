/*
 * Writers for test_cut.c: threads that only insert and remove blocks, with the client's own tables,
 * in patterns of which every instant can be recognized.
 *
 * Block number n of a writer has n + 1 bytes and stands on stack n % stack_count of that writer's
 * own stacks, except in WRITERS_MOVE, where the stack is random.
 *
 *     WRITERS_WINDOW   removes its oldest block, inserts its next one: `window` blocks, or one less
 *     WRITERS_CAUSAL   the same; writer 1 inserts block n only when writer 0 has published n
 *     WRITERS_MOVE     has `window` blocks, and puts two of them on other stacks, again and again
 *     WRITERS_HAND     even writers insert, the next odd one removes, at most `window` between them
 *
 * The tables belong to this process and exist once: a process calls writers_open() once.
 *
 * (This is a separate file from the collector's part, because both sides have a struct hs_region.)
 */
#pragma once

#include <stdint.h>

#include "fmt/region_layout.h"

#define WRITERS_MAX        4U
#define WRITERS_STACKS_MAX 1024U /* per writer */

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
    uint32_t stack_count; /* per writer */
};

struct writers_region {
    int fd; /* belongs to the caller */
    uint64_t region_bytes;
    uint32_t first_stack; /* of writer 0; the first stack of writer i is i * WRITERS_STACKS_MAX
                           * higher */
};

void writers_open(struct writers_region *ret_region);

/*
 * The writers' own mapping of what a reader maps: ThreadSanitizer recognizes memory by its address.
 */
struct hs_region_control_v1 *writers_control(void);
const void *writers_section(enum hs_section_id section, uint64_t count);

/*
 * Starts each writer in a thread of its own. writers_stop() waits for them and removes the blocks
 * that are left.
 */
void writers_start(const struct writers_plan *plan);
void writers_stop(void);

/*
 * Runs the last writer in the calling thread and the others in threads, until the process is
 * killed.
 */
_Noreturn void writers_run(const struct writers_plan *plan);
