/*
 * The client's side of the region: creating it, and reaching its sections while they grow.
 *
 * The file has its full size from the start and is sealed, and the client keeps no descriptor of
 * it. A section is reached through a view: one mapping that begins at the section's first element.
 * When a view becomes too short, mremap(2) with the length 0 makes a longer one, which maps the
 * same pages again. Nothing moves and old views stay mapped, so a thread that holds a pointer never
 * notices.
 *
 * Holds     hs_region_at() of an id below the section's `count` is readable and writable.
 * Threads   any; views are published by compare-and-swap; async-signal-safe.
 * Fails     a view cannot grow without address space: nothing more of the section is then handed
 *           out, and the sample is lost.
 * See       fmt/region_layout.h, docs/CONCURRENCY.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"

#define HS_REGION_VIEWS                                                                            \
    8 /* lengths that a section's view can have, each eight times the one before */

/* One mapping of a section. */
struct hs_region_view {
    uint8_t *base;  /* of element 0; NULL until mapped */
    uint64_t count; /* elements that it reaches; fixed when the region is created */
};

/* What the client knows of its region. */
struct hs_region {
    struct hs_region_header_v2 *header;           /* NULL until created */
    struct hs_region_view *current[HS_SECTION_N]; /* the longest mapped view */
    struct hs_region_view views[HS_SECTION_N][HS_REGION_VIEWS];
    /* How many bytes of the part that the previous view reached already have their pages in the
     * current one. */
    uint64_t carried_bytes[HS_SECTION_N];
    bool is_at_limit; /* a table of samples did not grow because of control.region_limit_bytes */
    uint64_t file_bytes;
    struct hs_section_v1 layout[HS_SECTION_N]; /* of an empty file: all counts are 0 */
    /* The highest values of the control pages that hs_region_forget removed. */
    uint64_t old_floor_bytes;
    uint32_t old_generation;
    /* The settings of heaps in the last control page that hs_region_forget removed. */
    uint32_t old_flags;
    struct hs_heap_selection_v2 old_selection;
    uint32_t session;                      /* the session that the region serves */
    uint32_t python_state, python_version; /* of the header */
    uint8_t script_states[8];              /* of the header */
    int64_t start_ms;                      /* the header's start time; births are counted from it */
};

/* The region of this process. */
extern HS_HIDDEN struct hs_region hs_region;

/* The control page lies in our own .bss, so that the hot path reaches it without a pointer. */
#define HS_CONTROL_PAGE_BYTES 4096
union hs_control_page {
    struct hs_region_control_v1 control;
    char bytes[HS_CONTROL_PAGE_BYTES];
};
/* Private and empty until there is a region. */
extern HS_HIDDEN union hs_control_page hs_control_page;

/* Creates, sizes, seals and maps the file. 0 or -errno; the caller hands *ret_fd over and closes
 * it. */
int hs_region_create(int *ret_fd);

/* Creates another, empty file of the same size, for a forked child. 0 or -errno. */
int hs_region_create_file(int *ret_fd);

/* After hs_region_abandon: creates a new region and maps it where the old one was. Threads notice
 * it like any change of a setting. 0 or -errno; *ret_fd as for hs_region_create. */
int hs_region_renew(int *ret_fd);

/* Reads the clock: milliseconds since recording began, as the kernel's last tick has them. At least
 * 1: a birth time of 0 is that of a block whose birth is unknown. */
uint32_t hs_region_now_ms(void);

/* Writes what the process is and that it begins to record now. */
void hs_region_describe_process(struct hs_region_header_v2 *header);

/* Maps such a file in place of the region that the child shares with its parent: pointers stay
 * valid. 0 or -errno. */
int hs_region_replace(int fd);

/* For a forked child: maps a private, empty control page again; nothing of the parent's is
 * touched. */
void hs_region_forget(void);

/* Makes the whole region private and empty, so that it takes no memory. It stays mapped, because a
 * thread may still write through pointers that it found before. */
void hs_region_abandon(void);

/* Slow path of hs_region_at: makes element `id` of a section reachable. NULL: it cannot be
 * mapped. */
void *hs_region_extend(enum hs_section_id section, uint64_t id);

/* Hands out `count` new consecutive elements and returns the first. UINT64_MAX: the section is
 * full, or may not grow (growth.c), or cannot. */
uint64_t hs_region_take(enum hs_section_id section, uint64_t count);

/* Raises the count of LIFETIMES so that it contains this stack's element. False: it has no room, or
 * may not grow (growth.c). */
bool hs_region_reach_lifetimes(uint32_t stack_id);

/* Slow path of hs_region_record_id. */
uint32_t hs_region_record_id_in_any(const struct hs_record_v1 *record);

/* Copies a string of `len` bytes, and a NUL, to BYTES and returns its offset; 0 when there is no
 * room. */
uint32_t hs_region_put_bytes(const char *bytes, uint64_t len);

/* Index of an interval in the header's table; a new one is added. 0 when the table is full. */
uint32_t hs_region_interval_idx(uint64_t interval_bytes);

/* Sets the interval for all threads from now on; HS_INTERVAL_OFF: nothing is recorded. */
void hs_region_set_interval(uint64_t interval_bytes);

/* Writes in the header of this region and of those that follow what is known of Python:
 * enum hs_python_state. */
void hs_region_note_python(uint32_t state, uint32_t version);

/* For assertions: is each section as long as its layout allows, does each have a current view, and
 * can its last element be read? There is a region, and no thread takes elements meanwhile. */
bool hs_region_is_valid(void);
/* For assertions: the record of this id if it is ALIVE; NULL: it is not, or there is none. */
const struct hs_record_v1 *hs_region_alive_record(uint32_t id);
/* For assertions: how many records of malloc's blocks, or of those of all other heaps, are
 * ALIVE. */
uint64_t hs_region_alive_count(bool is_of_malloc);

/* --- hot -------------------------------------------------------------------------------------- */

/* Bytes of the header's pages in the file. */
#define HS_REGION_HEADER_PAGES_BYTES hs_align_up(sizeof(struct hs_region_header_v2), 4096)

/* Length of a view's mapping. */
static inline uint64_t hs_region_view_bytes(enum hs_section_id section, unsigned view_no)
{
    return hs_align_up(hs_region.views[section][view_no].count * hs_section_elem_bytes(section),
                       4096);
}

/* Element `id` of a section, or NULL when it cannot be mapped. `section` is a constant at every
 * call. */
static inline __attribute__((always_inline)) void *hs_region_at(enum hs_section_id section,
                                                                uint64_t id)
{
    /* ORDER region-view: a view's base before the view. */
    const struct hs_region_view *view = hs_load_acquire(&hs_region.current[section]);
    if (hs_unlikely(id >= view->count)) {
        return hs_region_extend(section, id);
    }
    HS_ASSERT(hs_load_relaxed(&view->base) != NULL); /* it was mapped before it became current */
    return hs_load_relaxed(&view->base) + id * hs_section_elem_bytes(section);
}

/* The record of this id, or NULL. */
static inline struct hs_record_v1 *hs_region_record(uint32_t id)
{
    return hs_region_at(HS_SECTION_RECORDS, id);
}

/* The id of a record that hs_region_record returned. */
static inline uint32_t hs_region_record_id(const struct hs_record_v1 *record)
{
    /* ORDER region-view: a view's base before the view. */
    const struct hs_region_view *view = hs_load_acquire(&hs_region.current[HS_SECTION_RECORDS]);
    uint64_t id = ((uint64_t)record - (uint64_t)view->base) / sizeof(*record);
    return hs_likely(id < view->count) ? (uint32_t)id : hs_region_record_id_in_any(record);
}

/* The stack of this id, or NULL. */
static inline struct hs_stack_v1 *hs_region_stack(uint32_t id)
{
    return hs_region_at(HS_SECTION_STACKS, id);
}

/* The id of the heap that a record's block belongs to, which its stack says. */
static inline uint8_t hs_region_heap_of(const struct hs_record_v1 *record)
{
    const struct hs_stack_v1 *stack = hs_region_stack(hs_load_relaxed(&record->stack_id));
    return stack ? hs_load_relaxed(&stack->heap_id) : 0;
}

/* The frame of this id, or NULL. */
static inline struct hs_frame_v1 *hs_region_frame(uint32_t id)
{
    return hs_region_at(HS_SECTION_FRAMES, id);
}
