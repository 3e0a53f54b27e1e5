/*
 * A second writer of regions, for tests of the reader: the specification of the layout as the
 * plainest code, with none of the client's. Both agree only on region_layout.h.
 *
 * Holds     each player uses its own slots in RECORDS; stacks, modules and frames are set up before
 *           the players start.
 * Threads   one player per thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"

#define RW_STACKS_MAX    4096U
#define RW_LIFETIMES_MAX 64U
#define RW_PLAYERS_MAX   8U

struct region_writer {
    int fd; /* the reader gets a dup of it */
    uint64_t file_bytes;
    uint8_t *base;
    struct hs_region_control_v1 *control;
    struct hs_region_header_v2 *header;
};

struct region_plan {
    uint64_t record_count;
    uint64_t interval_bytes;
};

void region_writer_init(struct region_writer *w, const struct region_plan *plan);
void region_writer_deinit(struct region_writer *w);
int region_writer_dup(const struct region_writer *w);

void *region_writer_at(const struct region_writer *w, enum hs_section_id id, uint64_t idx);
uint32_t region_writer_text(struct region_writer *w, const char *text);
uint8_t region_writer_heap(struct region_writer *w, const char *name, uint32_t flags);
/* Ids follow each other; the caller lets them begin behind HS_TYPE_OTHER, HS_SCOPE_OTHER. */
uint32_t region_writer_type(struct region_writer *w, const char *name);
uint32_t region_writer_scope(struct region_writer *w, const char *name, uint32_t parent);
uint32_t region_writer_module(struct region_writer *w, const char *path, uint64_t start_va,
                              uint64_t bias_va);
uint32_t region_writer_frame(struct region_writer *w, uint64_t pc, uint32_t module_id,
                             uint32_t flags);
uint32_t region_writer_code_name(struct region_writer *w, const struct hs_code_name_v2 *name);
uint32_t region_writer_stack(struct region_writer *w, const uint32_t *frame_ids, uint16_t count);
/*
 * Makes `count` modules, frames and stacks of the plainest kind. Returns the id of the first stack.
 */
uint32_t region_writer_stacks(struct region_writer *w, uint32_t count);

struct tombstone {
    uint32_t slot;
    uint64_t cut;  /* the snapshot for which it was kept; 0: none */
    uint64_t peak; /* the peak for which it was kept; 0: none */
};

/* A thread's slots: [first, first + count) of RECORDS. */
struct player {
    struct region_writer *w;
    uint32_t thread_id;
    uint64_t random;
    uint32_t *free_slots;
    uint32_t free_count;
    struct tombstone *dead;
    uint32_t dead_count;
};

void player_init(struct player *p, struct region_writer *w, uint32_t thread_id, uint32_t first,
                 uint32_t count);
void player_deinit(struct player *p);

/*
 * Inserts a block; hits 0: it is recorded exactly. Returns the slot, UINT32_MAX when all slots are
 * taken.
 */
uint32_t player_birth(struct player *p, uint32_t stack_id, uint64_t size_bytes, unsigned hits);
void player_death(struct player *p, uint32_t slot);

/* Declares this moment the peak. */
void region_writer_peak(struct region_writer *w, int64_t bytes);
