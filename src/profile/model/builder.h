/*
 * The profile builder: a reader adds things and gets ids; equal things get the same id.
 *
 * Every reader of a file format fills one builder. Errors are sticky, so that a reader is a series
 * of plain calls: after the first failure all ids are 0 and nothing is added, and
 * hs_builder_finish() returns the error.
 *
 * Symbols may be added before or after the frames to which they belong; finish() joins them.
 *
 * A file with many dumps of many stacks would fill the memory with samples. Once there are
 * HS_BUILDER_SAMPLES_MAX samples, a dump keeps its totals only, unless it is the last dump of its
 * process.
 *
 * Holds     what profile.h promises, however wrong the ids are that a reader passes: samples with
 *           ids out of range are left out.
 * Threads   one user.
 * Fails     -ENOMEM; -EOVERFLOW for more than 2^31 things of one kind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"

#define HS_BUILDER_SAMPLES_MAX (UINT64_C(4) << 20)

struct hs_builder;

struct hs_builder_frame {
    uint32_t module;
    uint64_t rel_pc;
    uint32_t name;           /* string id; 0 none */
    uint32_t file;           /* string id; 0 unknown: a source position recorded with the frame */
    uint32_t line;           /* 0 unknown */
    enum hs_frame_kind kind; /* the kind given when the frame was first added */
    /* frames at the same address are the same, and the first name counts */
    bool is_by_address;
};

/* A new builder; NULL when memory is short. */
struct hs_builder *hs_builder_new(void);
/* Frees a builder with everything in it. NULL is fine. Returns NULL. */
struct hs_builder *hs_builder_free(struct hs_builder *builder);
/* 0 or the first error. */
int hs_builder_error(const struct hs_builder *builder);

/* For assertions: does each table have an id for each element of its array, and does each node come
 * after its parent, one deeper? Always true after an error. */
bool hs_builder_is_valid(const struct hs_builder *builder);

/* The id of a text, which is copied. */
uint32_t hs_builder_string(struct hs_builder *builder, const char *text);
/* The same for a text of `bytes` bytes, which ends at its first NUL if it has one. */
uint32_t hs_builder_string_n(struct hs_builder *builder, const char *text, size_t bytes);
/* The text of a string id. */
const char *hs_builder_text(const struct hs_builder *builder, uint32_t string);

/*
 * The id of a module. One module exists for each (path, build id, exec_off); the addresses are
 * those given when it was first added. Fills build_id_hex.
 */
uint32_t hs_builder_module(struct hs_builder *builder, const struct hs_profile_module *module);
/* The module with this id; NULL when there is none. */
struct hs_profile_module *hs_builder_module_at(struct hs_builder *builder, uint32_t module);
/* The id of a frame. */
uint32_t hs_builder_frame(struct hs_builder *builder, const struct hs_builder_frame *frame);
/* The frame with this id; NULL when there is none. */
const struct hs_profile_frame *hs_builder_frame_at(const struct hs_builder *builder,
                                                   uint32_t frame);
/* The id of the node of `frame` below `parent`, which is HS_NODE_NONE for an outermost frame. */
uint32_t hs_builder_node(struct hs_builder *builder, uint32_t parent, uint32_t frame);
/* The id of the heap with this name. */
uint32_t hs_builder_heap(struct hs_builder *builder, const char *name);

/* Sets the names of a code address, the innermost first. The names that were given last count. */
void hs_builder_symbol(struct hs_builder *builder, uint32_t path, const uint8_t *build_id,
                       size_t build_id_bytes, uint64_t rel_pc, const struct hs_profile_line *lines,
                       uint32_t line_count);

/* Says why addresses of a module had no name when the recording ended, and fills build_id_hex. For
 * the module's own reason, what was said last counts. */
void hs_builder_nameless(struct hs_builder *builder, const struct hs_profile_nameless *nameless,
                         const uint8_t *build_id, size_t build_id_bytes);
/* Says in how many modules names were looked up. */
void hs_builder_looked_up(struct hs_builder *builder, uint32_t module_count);

/* Appends a process and returns its index. The builder sets dump_count and last_dump. */
uint32_t hs_builder_process(struct hs_builder *builder, const struct hs_profile_process *process);
/*
 * The process with this index; NULL when there is none. Valid until the next hs_builder_process().
 */
struct hs_profile_process *hs_builder_process_at(struct hs_builder *builder, uint32_t process);

/*
 * Appends a dump and returns its index. Samples may be in any order; those with the same (node,
 * heap) are added up. A dump that is its process's last one once more is left out. `index` and what
 * refers to samples and heaps are set here. The caller's array is sorted in place.
 */
uint32_t hs_builder_dump(struct hs_builder *builder, const struct hs_profile_dump *dump,
                         struct hs_profile_sample *samples, size_t count);
/*
 * Sets what is known of the heaps of the dump that was appended last: one element for each heap,
 * those of one heap are added up. heap_first, is_counted, and `inherited` are set here. A dump for
 * which this is not called has primary heaps only.
 */
void hs_builder_dump_heaps(struct hs_builder *builder, uint32_t dump,
                           struct hs_profile_dump_heap *heaps, size_t count);
/*
 * Appends a ledger with its lines, without stacks. Returns its index + 1, for `ledger` and
 * `rss_peak_ledger` of a dump; 0: there is no memory for it.
 */
uint32_t hs_builder_ledger(struct hs_builder *builder, const struct hs_profile_ledger *ledger,
                           const struct hs_profile_ledger_line *lines, size_t count);
/* Appends the stacks of a ledger: `ledger` is what hs_builder_ledger() returned for it. */
void hs_builder_mapped_stacks(struct hs_builder *builder, uint32_t ledger,
                              const struct hs_profile_mapped_stack *stacks, size_t count);
/* Appends pinned pages. Returns their index + 1, for `pins` of a dump; 0: there is no memory. */
uint32_t hs_builder_pins(struct hs_builder *builder, const struct hs_profile_pins *pins);
/*
 * True when the samples of another dump would be kept. When it is false, the caller need not
 * collect them.
 */
bool hs_builder_has_room(const struct hs_builder *builder, size_t count);
/* Adds samples to a dump that was appended without them. Only for the last dump of a process. */
void hs_builder_dump_samples(struct hs_builder *builder, uint32_t dump,
                             struct hs_profile_sample *samples, size_t count);

/* The id + 1 of the scope with this name in `parent`: 0, or what this has returned. */
uint32_t hs_builder_scope(struct hs_builder *builder, uint32_t parent, const char *name);
/*
 * Sets the parts of a dump that has samples, once for each view. Those with ids out of range are
 * left out. The caller's array is sorted in place. A dump that there is no room for has none.
 */
void hs_builder_dump_parts(struct hs_builder *builder, uint32_t dump, enum hs_part_view view,
                           struct hs_profile_part *parts, size_t count);
/* Notes that the dump's parts tell the scopes of what was allocated, or that there were none. */
void hs_builder_dump_alloc_scopes(struct hs_builder *builder, uint32_t dump);

/*
 * Sets the births of a dump that has samples. Those with ids out of range are left out. A dump that
 * there is no room for has none.
 */
void hs_builder_dump_births(struct hs_builder *builder, uint32_t dump, uint64_t window_ms,
                            uint64_t span_ms, const struct hs_profile_birth *births, size_t count);

/* The same for the lifetimes of freed blocks. */
void hs_builder_dump_lifetimes(struct hs_builder *builder, uint32_t dump,
                               struct hs_profile_lifetime *lifetimes, size_t count);

/*
 * Sets the live blocks of a dump, whose samples were added before. Those with ids out of range are
 * left out. The caller's array is sorted in place. Blocks are limited to HS_BUILDER_BLOCKS_MAX:
 * there is room for those of the last dumps.
 */
#define HS_BUILDER_BLOCKS_MAX (UINT64_C(16) << 20)
void hs_builder_dump_blocks(struct hs_builder *builder, uint32_t dump,
                            struct hs_profile_block *blocks, size_t count);

/* Appends a thread of a process. */
void hs_builder_thread(struct hs_builder *builder, const struct hs_profile_thread *thread);
/* Adds a name or glob by which a session selected heaps, once. Those beyond HS_ASKED_HEAPS_MAX are
 * dropped. */
#define HS_ASKED_HEAPS_MAX 256U
void hs_builder_asked_heap(struct hs_builder *builder, const char *name);
/* Appends a module in which stacks of a process end. */
void hs_builder_cut_module(struct hs_builder *builder, const struct hs_profile_cut_module *module);
/* Appends a change of a process's interval. */
void hs_builder_change(struct hs_builder *builder, const struct hs_profile_change *change);
/* Appends the address of a module in a process. */
void hs_builder_place(struct hs_builder *builder, const struct hs_profile_place *place);
/* Sets the tracks and their counters. May be called once; the builder takes over both arrays. */
void hs_builder_tracks(struct hs_builder *builder, struct hs_profile_track *tracks,
                       uint32_t track_count, struct hs_profile_counter *counters,
                       uint32_t counter_count);
/* Adds a loss with a constant name and text. Does nothing when count is 0. */
void hs_builder_loss(struct hs_builder *builder, uint32_t process, const char *name,
                     const char *text, uint64_t count, bool is_serious);
/* The same with all fields of `loss`, except that `name` and `text` of `loss` are set here. */
void hs_builder_weighed_loss(struct hs_builder *builder, const char *name, const char *text,
                             const struct hs_profile_loss *loss);
/* Adds when such a loss occurred, with its name and text as above. */
void hs_builder_loss_time(struct hs_builder *builder, const char *name, const char *text,
                          const struct hs_profile_loss_time *time);
/* Adds what a recording cost; a file of several recordings has the sum. */
void hs_builder_cost(struct hs_builder *builder, const struct hs_profile_cost *cost);
/* Sets the kind of file that the profile came from, a constant text: see hs_profile.origin. */
void hs_builder_set_origin(struct hs_builder *builder, const char *origin);
/* Sets what must be added to a time of the profile to get CLOCK_REALTIME. */
void hs_builder_set_realtime(struct hs_builder *builder, uint64_t real_minus_mono_ns);

/*
 * Returns the profile, or the first error. Afterwards the builder must not be used; the
 * caller must free it.
 */
int hs_builder_finish(struct hs_builder *builder, struct hs_profile **ret_profile);
