/*
 * The distinct strings, mappings, frames and callstacks of all processes of a file.
 *
 * All of them are interned by their content. Two processes that run the same program share its
 * mappings, frames and callstacks, at whatever addresses the kernel loaded them, because a frame is
 * a mapping and a link-time address. So in a file with a thousand runs of a compiler, these tables
 * are little larger than in a file with one run.
 *
 * New elements are gathered in a batch of fixed size, which becomes an InternedData packet when it
 * is full and at the end of a dump. Readers resolve references only when a dump is complete, so
 * their order within a dump does not matter.
 *
 * Holds     iids start at 1: an iid is an interning id + 1. iid 0 is the empty string, or unset.
 *           Text that is not copied must stay valid until hs_batch_flush().
 * Fails     -ENOMEM. Elements that were interned but not written stay unwritten, so the writer must
 *           stop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_trace_frame_name;
struct hs_trace_writer;
struct hs_writer_batch;

/* A mapping as a trace describes it; see docs/FORMAT.md, "Mappings". */
struct hs_batch_mapping {
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes;
    uint64_t exact_off, load_bias, start_va, end_va;
};

/* Makes an empty batch; NULL when out of memory. */
struct hs_writer_batch *hs_batch_new(void);
/* NULL is allowed. Returns NULL. */
struct hs_writer_batch *hs_batch_free(struct hs_writer_batch *batch);

/* Interns a mapping. The addresses are those of the first process that had it; they do not
 * distinguish mappings. */
int hs_batch_mapping(struct hs_trace_writer *writer, const struct hs_batch_mapping *mapping,
                     uint32_t *ret_iid);
/* Is this frame already in the file? */
bool hs_batch_has_frame(const struct hs_trace_writer *writer, uint32_t mapping_iid,
                        uint64_t rel_pc);
/* Interns a frame of code. The texts of `name` are copied, and used only if the frame is new. */
int hs_batch_frame(struct hs_trace_writer *writer, uint32_t mapping_iid, uint64_t rel_pc,
                   bool is_jit, const struct hs_trace_frame_name *name, uint32_t *ret_iid);
/* Interns a frame that is no code but only a name, which is copied. */
int hs_batch_note(struct hs_trace_writer *writer, const char *path, const char *name,
                  uint32_t *ret_iid);
/* Interns a function that an interpreter runs, in the mapping `path`. The texts are copied. file
 * "": unknown; line 0: unknown. */
int hs_batch_script_frame(struct hs_trace_writer *writer, const char *path, const char *function,
                          const char *file, uint32_t line, uint32_t *ret_iid);
/* Interns a callstack, whose frames are outermost first. Equal frames with different values of
 * `image` are different callstacks. */
int hs_batch_callstack(struct hs_trace_writer *writer, const uint32_t *frame_iids, size_t count,
                       uint32_t image, uint32_t *ret_iid);

/* Writes all new elements. Packets have the time that hs_batch_begin() set. */
void hs_batch_begin(struct hs_trace_writer *writer, uint64_t time_mono_ns);
void hs_batch_flush(struct hs_trace_writer *writer);
