/*
 * The client's side of the region: creating it, and looking at its sections while they grow.
 *
 * The file has its full size from the start and is sealed, and we keep no descriptor. A section is
 * seen through a view: one mapping from its first element on. When it gets too short, a longer one
 * is made by mremap(2) of length 0, which maps the same pages again; nothing moves and old views
 * stay, so a thread that holds a pointer never notices.
 *
 * Holds     hs_region_at() of an id below the section's `count` is readable and writable.
 * Threads   any; views are published by compare-and-swap; async-signal-safe.
 * Fails     view growth fails without address space: the id is then unusable and the sample lost.
 * See       fmt/region_layout.h, docs/CONCURRENCY.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"

#define HS_REGION_VIEWS 8 /* lengths a section's view can have, each eight times the one before */

struct hs_region_view {
    uint8_t *base;  /* of element 0; NULL until mapped */
    uint64_t count; /* elements it reaches; fixed when the region is created */
};

struct hs_region {
    struct hs_region_header_v1 *header;           /* NULL until created */
    struct hs_region_view *current[HS_SECTION_N]; /* the longest mapped view */
    struct hs_region_view views[HS_SECTION_N][HS_REGION_VIEWS];
    /* Of the part that the view before reached: how much has its pages in the current one. */
    uint64_t carried_bytes[HS_SECTION_N];
    bool is_at_limit; /* a table of samples did not grow because of control.region_limit_bytes */
    uint64_t file_bytes;
    struct hs_section_v1 layout[HS_SECTION_N]; /* of each file: nothing handed out */
    /* The highest of the control pages that hs_region_forget took away. */
    uint64_t old_floor_bytes;
    uint32_t old_generation;
    uint32_t session; /* that it serves */
};

extern HS_HIDDEN struct hs_region hs_region;

/* The control page lies in our own .bss, so that the hot path reaches it without a pointer. */
#define HS_CONTROL_PAGE_BYTES 4096
union hs_control_page {
    struct hs_region_control_v1 control;
    char bytes[HS_CONTROL_PAGE_BYTES];
};
extern HS_HIDDEN union hs_control_page hs_control_page;

/* Creates, sizes, seals and maps it; *ret_fd is the caller's to hand over and close. */
int hs_region_create(int *ret_fd);

/* Another file of the same size, empty. For a forked child. */
int hs_region_create_file(int *ret_fd);

/* After hs_region_abandon: a new region, where the old one was. Threads take notice as of any change of a
 * setting. *ret_fd as of hs_region_create. */
int hs_region_renew(int *ret_fd);

/* What a process is and when it began to record, as of now. */
void hs_region_describe_process(struct hs_region_header_v1 *header);

/* Maps such a file in place of the one we share with our parent: pointers stay good. */
int hs_region_replace(int fd);

/* A private, empty control page again, for a forked child: nothing of the parent's is touched. */
void hs_region_forget(void);

/* All of it is private and empty, and takes no memory: somebody may yet write, to places found before. */
void hs_region_abandon(void);

/* Makes element `id` of a section reachable. Cold half of hs_region_at. */
void *hs_region_extend(enum hs_section_id section, uint64_t id);

/* Hands out `count` new elements, consecutive; UINT64_MAX when the section is full, or may not grow: growth.c. */
uint64_t hs_region_take(enum hs_section_id section, uint64_t count);

/* Cold half of hs_region_record_id. */
uint32_t hs_region_record_id_in_any(const struct hs_record_v1 *record);

/* Copies a NUL-terminated string of `len` bytes (and its NUL) to BYTES; 0 when there is no room. */
uint32_t hs_region_put_bytes(const char *bytes, uint64_t len);

/* Index of an interval in the header's table, adding it when new; 0 when the table is full. */
uint32_t hs_region_interval_idx(uint64_t interval_bytes);

/* What is recorded from now on, by all threads: HS_INTERVAL_OFF, nothing. */
void hs_region_set_interval(uint64_t interval_bytes);

/* --- hot ------------------------------------------------------------------------------------- */

static inline uint32_t hs_region_elem_bytes(enum hs_section_id section)
{
    static const uint32_t bytes[HS_SECTION_N] = {
        [HS_SECTION_BLOCKS] = sizeof(struct hs_thread_block_v1),
        [HS_SECTION_THREADS] = sizeof(struct hs_thread_v1),
        [HS_SECTION_MODULES] = sizeof(struct hs_module_v1),
        [HS_SECTION_BYTES] = 1,
        [HS_SECTION_FRAMES] = sizeof(struct hs_frame_v1),
        [HS_SECTION_FRAME_IDS] = sizeof(uint32_t),
        [HS_SECTION_STACKS] = sizeof(struct hs_stack_v1),
        [HS_SECTION_RECORDS] = sizeof(struct hs_record_v1),
    };
    return bytes[section];
}

/* The header's pages in the file. */
#define HS_REGION_HEADER_PAGES_BYTES hs_align_up(sizeof(struct hs_region_header_v1), 4096)

static inline uint64_t hs_region_view_bytes(enum hs_section_id section, unsigned view_no)
{
    return hs_align_up(hs_region.views[section][view_no].count * hs_region_elem_bytes(section),
                       4096);
}

/* Element `id`, or NULL when it cannot be mapped. `section` is a constant at every call. */
static inline __attribute__((always_inline)) void *hs_region_at(enum hs_section_id section,
                                                                uint64_t id)
{
    /* ORDER region-view: a view's base before the view. */
    const struct hs_region_view *view = hs_load_acquire(&hs_region.current[section]);
    if (hs_unlikely(id >= view->count)) {
        return hs_region_extend(section, id);
    }
    return hs_load_relaxed(&view->base) + id * hs_region_elem_bytes(section);
}

static inline struct hs_record_v1 *hs_region_record(uint32_t id)
{
    return hs_region_at(HS_SECTION_RECORDS, id);
}

/* The id of a record that hs_region_record gave. */
static inline uint32_t hs_region_record_id(const struct hs_record_v1 *record)
{
    /* ORDER region-view: a view's base before the view. */
    const struct hs_region_view *view = hs_load_acquire(&hs_region.current[HS_SECTION_RECORDS]);
    uint64_t id = ((uint64_t)record - (uint64_t)view->base) / sizeof(*record);
    return hs_likely(id < view->count) ? (uint32_t)id : hs_region_record_id_in_any(record);
}

static inline struct hs_stack_v1 *hs_region_stack(uint32_t id)
{
    return hs_region_at(HS_SECTION_STACKS, id);
}

static inline struct hs_frame_v1 *hs_region_frame(uint32_t id)
{
    return hs_region_at(HS_SECTION_FRAMES, id);
}
