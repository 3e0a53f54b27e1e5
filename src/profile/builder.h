/*
 * The profile builder: things are put in, ids come out, the same thing gets the same id.
 *
 * Every reader of a file format fills one of these. Errors are sticky, so that a reader is a row of
 * plain calls: after the first failure ids are 0 and nothing is added; finish() tells.
 *
 * Symbols may come before or after the frames they belong to; they meet in finish().
 *
 * A file with many dumps of many stacks would fill the memory with samples. Beyond
 * HS_BUILDER_SAMPLES_MAX a dump keeps its totals only, unless it is the last of its process.
 *
 * Holds     what profile.h promises, however wrong the ids are that a reader gives it: samples with
 *           ids out of range are left out.
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW (more than 2^31 of anything).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

#define HS_BUILDER_SAMPLES_MAX (UINT64_C(4) << 20)

struct hs_builder;

struct hs_builder_frame {
    uint32_t module;
    uint64_t rel_pc;
    uint32_t name;           /* string id, 0 none */
    uint32_t file;           /* string id, 0 unknown: a source position recorded with the frame */
    uint32_t line;           /* 0 unknown */
    enum hs_frame_kind kind; /* of the first who adds it */
    bool is_by_address;      /* the same with another name: the first name counts */
};

struct hs_builder *hs_builder_new(void); /* NULL: out of memory */
/* NULL is fine. Returns NULL. */
struct hs_builder *hs_builder_free(struct hs_builder *builder);
/* 0 or the first error. */
int hs_builder_error(const struct hs_builder *builder);

uint32_t hs_builder_string(struct hs_builder *builder, const char *text);
/* Up to the first NUL. */
uint32_t hs_builder_string_n(struct hs_builder *builder, const char *text, size_t bytes);
const char *hs_builder_text(const struct hs_builder *builder, uint32_t string);

/* One module for each (path, build id, exec_off); the first who adds it gives the addresses. Fills
 * build_id_hex. */
uint32_t hs_builder_module(struct hs_builder *builder, const struct hs_profile_module *module);
struct hs_profile_module *hs_builder_module_at(struct hs_builder *builder, uint32_t module);
uint32_t hs_builder_frame(struct hs_builder *builder, const struct hs_builder_frame *frame);
const struct hs_profile_frame *hs_builder_frame_at(const struct hs_builder *builder,
                                                   uint32_t frame);
/* parent: HS_NODE_NONE for an outermost frame. */
uint32_t hs_builder_node(struct hs_builder *builder, uint32_t parent, uint32_t frame);
uint32_t hs_builder_heap(struct hs_builder *builder, const char *name);

/* Names for a code address, innermost first. The last ones given win. */
void hs_builder_symbol(struct hs_builder *builder, uint32_t path, const uint8_t *build_id,
                       size_t build_id_bytes, uint64_t rel_pc, const struct hs_profile_line *lines,
                       uint32_t line_count);

/* A new process. dump_count and last_dump are counted by the builder. */
uint32_t hs_builder_process(struct hs_builder *builder, const struct hs_profile_process *process);
/* NULL when there is none. Valid until the next hs_builder_process(). */
struct hs_profile_process *hs_builder_process_at(struct hs_builder *builder, uint32_t process);

/* Appends a dump. Samples may be in any order; those with the same (node, heap) are added up. `index`,
 * sample_first and samples_n are set here. The array is sorted in place. */
uint32_t hs_builder_dump(struct hs_builder *builder, const struct hs_profile_dump *dump,
                         struct hs_profile_sample *samples, size_t count);
/* Would samples of another dump be kept? Saves the work of collecting them. */
bool hs_builder_has_room(const struct hs_builder *builder, size_t count);
/* Gives samples to a dump that was made without. For the last dump of a process. */
void hs_builder_dump_samples(struct hs_builder *builder, uint32_t dump,
                             struct hs_profile_sample *samples, size_t count);

void hs_builder_thread(struct hs_builder *builder, const struct hs_profile_thread *thread);
void hs_builder_change(struct hs_builder *builder, const struct hs_profile_change *change);
/* Tracks with their counters, once; both arrays are the builder's then. */
void hs_builder_place(struct hs_builder *builder, const struct hs_profile_place *place);
void hs_builder_tracks(struct hs_builder *builder, struct hs_profile_track *tracks,
                       uint32_t track_count, struct hs_profile_counter *counters,
                       uint32_t counter_count);
/* Does nothing when count is 0. */
void hs_builder_loss(struct hs_builder *builder, uint32_t process, const char *name,
                     const char *text, uint64_t count, bool is_serious);
/* The same with what it stands for; `name` and `text` of `loss` are set here. */
void hs_builder_weighed_loss(struct hs_builder *builder, const char *name, const char *text,
                             const struct hs_profile_loss *loss);
/* A constant text. */
void hs_builder_set_origin(struct hs_builder *builder, const char *origin);
void hs_builder_set_realtime(struct hs_builder *builder, uint64_t real_minus_mono_ns);

/* The profile, or the first error. Either way the builder is empty afterwards and must be freed. */
int hs_builder_finish(struct hs_builder *builder, struct hs_profile **ret_profile);
