/*
 * Distinct strings, mappings, frames and callstacks of all processes of a file.
 *
 * Everything is interned by content: two processes that run the same program share its mappings,
 * frames and callstacks, wherever the kernel loaded them, because a frame is a mapping and a link-time
 * address. So a thousand compiler runs cost little more than one.
 *
 * New things gather in a batch of fixed size, which becomes an InternedData packet when it is full and
 * at the end of a dump. Readers resolve references only when a dump is complete, so the order
 * within a dump is free.
 *
 * Holds     iids start at 1: an interning id + 1. iid 0 is the empty string, or unset.
 *           Text that is not copied must stay until hs_batch_flush().
 * Fails     -ENOMEM. What was interned and not written stays unwritten, so the writer must stop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_trace_writer;
struct hs_writer_batch;

/* As a trace describes it; see docs/FORMAT.md, "Mappings". */
struct hs_batch_mapping {
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes;
    uint64_t exact_off, load_bias, start_va, end_va;
};

struct hs_writer_batch *hs_batch_new(void);
struct hs_writer_batch *hs_batch_free(struct hs_writer_batch *batch);

/* The addresses are those of the first process that had it; they do not tell mappings apart. */
int hs_batch_mapping(struct hs_trace_writer *writer, const struct hs_batch_mapping *mapping,
                     uint32_t *ret_iid);
/* Does the file have this frame? */
bool hs_batch_has_frame(const struct hs_trace_writer *writer, uint32_t mapping_iid,
                        uint64_t rel_pc);
/* A frame of code. `name` is copied, and counts only when the frame is new; NULL: it has none. */
int hs_batch_frame(struct hs_trace_writer *writer, uint32_t mapping_iid, uint64_t rel_pc,
                   bool is_jit, const char *name, uint32_t *ret_iid);
/* A frame that is no code, only a name, which is copied. */
int hs_batch_note(struct hs_trace_writer *writer, const char *path, const char *name,
                  uint32_t *ret_iid);
/* Frames outermost first. Callstacks of different `image` differ. */
int hs_batch_callstack(struct hs_trace_writer *writer, const uint32_t *frame_iids, size_t count,
                       uint32_t image, uint32_t *ret_iid);

/* Writes what is new. Its packets carry the time of the dump. */
void hs_batch_begin(struct hs_trace_writer *writer, uint64_t time_mono_ns);
void hs_batch_flush(struct hs_trace_writer *writer);
