/*
 * What the files of the trace writer share: its state, and how it writes a packet.
 *
 *   trace_writer.c       life cycle, packets that stand alone
 *   writer_batch.c       distinct strings, mappings, frames, callstacks -> InternedData
 *   writer_intern.c      from a snapshot's ids to the ids of the batch
 *   writer_dump.c        one dump: what is new, what has changed, in which order it is written
 *   writer_head.c        the head of our own packets of a dump
 *   writer_rows.c        the other ones of a dump
 *   writer_parts.c       those of parts
 *   writer_births.c      those of births
 *   writer_lifetimes.c   those of lifetimes
 *   writer_blocks.c      those of blocks
 *   writer_names.c       names of threads and types in both
 *   writer_heaps.c       the heaps of a dump
 *   writer_samples.c     Perfetto's packets of a dump
 *   writer_symbols.c     names of code addresses
 *   writer_counters.c    counters of processes and of the machine, threads, mappings
 *   writer_compress.c    compression
 *
 * Threads   as trace_writer.h.
 */
#pragma once

#include "trace/proto/perfetto.pb-c.h"
#include "trace/trace_writer.h"
#include "util/buf.h"
#include "util/intern.h"
#include "util/sort_pairs.h"

/* Packets are split at about this size. Readers accept far larger ones, but need memory for
 * each. */
#define HS_PACKET_BYTES (400U * 1000U)
/* The heap whose callstacks have no frame that names the heap. */
#define HS_HEAP_MALLOC "libc.malloc"
/* Limits for repeated varints of rows: with this many rows, the columns of a packet stay below
 * HS_PACKET_BYTES. */
#define HS_ROWS_PER_PACKET    6000U
#define HS_SAMPLES_PER_PACKET 8000U

/* Sets an optional field of a message. */
#define HS_SET_FIELD(message, field, value)                                                        \
    do {                                                                                           \
        (message)->has_##field = true;                                                             \
        (message)->field = (value);                                                                \
    } while (0)

/* What was written last for one callstack of one process. */
struct hs_written_stack {
    uint64_t alloc_bytes, alloc_count;
    uint64_t freed_bytes, freed_count;
    uint64_t row_hash;                      /* hash of all figures; 0: no row was written yet */
    uint32_t heap;                          /* index in the writer's heap_names */
    uint64_t parts_hash[HS_PART_VIEWS_ALL]; /* of what was written of its parts; 0: it has none */
    uint64_t births_hash;                   /* of what was written of its births; 0: it has none */
    uint64_t lifetimes_hash;                /* the same of its lifetimes */
};

/* A running process: one program image. */
struct hs_written_process {
    uint32_t pid;
    uint64_t start_mono_ns;
    uint32_t process_idx;
    uint32_t image; /* number of the image among those of this pid; 0: the first */
    uint32_t dump_count;
    /* when recording began; then the blocks of the previous image were freed */
    uint64_t first_time_ns;
    uint64_t last_time_ns;   /* time of its last dump; before that, first_time_ns */
    struct hs_intern stacks; /* callstack iid -> index in written */
    struct hs_written_stack *written;
    size_t written_capacity;
    uint64_t info_hash;
    uint64_t modules_hash;
    uint64_t loss_times_hash;
    uint64_t ledger_time_ns; /* of the ledger that was written last; 0: none */
    /* By id: the hash of the thread as it was written last; 0: it was not. */
    uint64_t *thread_hashes;
    size_t thread_capacity;
    bool *is_type_named;  /* by id; NULL: no type was written yet */
    uint32_t scope_count; /* so many scopes were written: those with lower ids */
};

/* Blocks that were live when a program image ended. The file records them as freed when the next
 * image of the pid appears. */
struct hs_leftover_stack {
    uint32_t callstack_iid;
    uint32_t heap;
    uint64_t alloc_bytes, alloc_count;
};

struct hs_leftover {
    uint32_t pid;
    uint32_t stack_count;
    uint64_t last_time_ns;
    struct hs_leftover_stack *stacks;
};

struct hs_pid_state {
    uint32_t image_count;
    bool is_announced; /* a ProcessTree was already written for the next image */
    /* The parent as a ProcessTree of trace_counters.h had it; 0: there was none. When the parent of
     * a pid changes, Perfetto makes another process; and parents do change, when the old parent
     * ends. */
    uint32_t tree_ppid;
    /* Command line and user as they were announced last. */
    uint64_t cmdline_hash;
    int64_t uid;
};

struct hs_writer_batch;
struct hs_writer_compress;

struct hs_trace_writer {
    struct hs_trace_writer_config config;
    struct hs_buf out;
    struct hs_writer_compress *press; /* NULL: packets are written uncompressed */
    int err;
    bool has_begun;
    uint32_t sequence_id;
    uint64_t profile_packet_idx;
    struct hs_trace_clocks clocks; /* the clocks that were written last */

    uint8_t *scratch; /* buffer for one packet */
    size_t scratch_bytes;

    struct hs_intern functions, paths, build_ids, sources; /* strings, by hash */
    struct hs_intern mappings, frames, callstacks;
    struct hs_writer_batch *batch; /* interned and not yet written */

    char (*heap_names)[64];
    uint32_t heap_count;
    size_t heap_capacity;

    struct hs_intern pids; /* pid -> index in pid_states */
    struct hs_pid_state *pid_states;
    size_t pid_capacity;
    uint32_t process_count; /* process_idx of the next one */

    struct hs_written_process *running;
    uint32_t running_count;
    size_t running_capacity;

    struct hs_leftover *leftovers; /* oldest first */
    uint32_t leftover_count;
    size_t leftover_capacity;
    uint64_t leftover_stack_count;
};

/* The figures of one callstack in this dump. Indices are those of hs_written_process.written. */
struct hs_dump_row {
    struct hs_estimate alloc, live, peak;
    struct hs_inherited inherited;
};

/* The dump that is being written. */
struct hs_writer_dump {
    const struct hs_snapshot *snap;
    struct hs_written_process *process;
    uint64_t time_ns, window_start_ns;
    uint32_t *heaps;          /* by the snapshot's heap id: index in heap_names */
    uint32_t *mapping_iids;   /* by module id */
    uint32_t *frame_iids;     /* by frame id; 0: left out */
    uint32_t *stack_idx;      /* by stack: index in process->written; UINT32_MAX: left out */
    struct hs_dump_row *rows; /* by index in process->written */
};

/* The iid of a stack's callstack in the file. 0: the dump does not have it, because the stack is
 * newer than the snapshot or was left out. */
static inline uint64_t hs_writer_callstack_iid(const struct hs_writer_dump *dump, uint32_t stack_id)
{
    uint32_t idx = stack_id < dump->snap->stack_count ? dump->stack_idx[stack_id] : UINT32_MAX;
    return idx == UINT32_MAX ? 0 : dump->process->stacks.keys[idx].lo;
}

/* Writes the varint encoding of a value, at most 10 bytes, and returns its length. */
static inline size_t hs_put_varint(uint8_t *out, uint64_t value)
{
    size_t bytes = 0;
    for (; value >= 0x80; value >>= 7) {
        out[bytes++] = (uint8_t)(value | 0x80);
    }
    out[bytes++] = (uint8_t)value;
    return bytes;
}

/* Writes what precedes a packet of this many bytes, the tag of Trace.packet and the length, and
 * returns how many bytes that takes. */
#define HS_PACKET_HEAD_BYTES 12
static inline size_t hs_put_packet_head(uint8_t *out, uint64_t bytes)
{
    out[0] = 1U << 3 | 2U;
    return 1 + hs_put_varint(out + 1, bytes);
}

/* Writes one packet. A failure sets writer->err. */
void hs_writer_packet(struct hs_trace_writer *writer, const Hs__Pb__TracePacket *packet);
/* Initializes a packet of our sequence with a time, which is given on CLOCK_MONOTONIC. */
void hs_writer_packet_init(const struct hs_trace_writer *writer, Hs__Pb__TracePacket *packet,
                           uint64_t mono_ns);
/* Sets writer->err if it is not set yet. */
void hs_writer_fail(struct hs_trace_writer *writer, int err);
/* Writes the clocks again if the machine was suspended since the last time. */
void hs_writer_refresh_clocks(struct hs_trace_writer *writer);

/* The state of a pid, which is made if it is new. NULL when out of memory. Valid until the next
 * call. */
struct hs_pid_state *hs_writer_pid(struct hs_trace_writer *writer, uint32_t pid);

/* Rounds to a whole number. NaN and negative values become 0, too large ones 9.2e18. */
uint64_t hs_writer_round(double value);

/* Sets the iids of the dump and writes what is new to the file. Returns 0 or -errno. */
int hs_writer_intern_dump(struct hs_trace_writer *writer, struct hs_writer_dump *dump);

/* Sorts elements of the snapshot by the callstacks of the file. `stack_ids` is the stack id of the
 * first of `count` elements, each of elem_bytes. Fills in (index in process->written, index of the
 * element); *ret_count: without those that the file leaves out. Returns 0 or -errno. */
int hs_writer_order(const struct hs_writer_dump *dump, const uint32_t *stack_ids, size_t elem_bytes,
                    size_t count, struct hs_pair *order, size_t *ret_count);
/* Writes one of our own packets. */
void hs_writer_ours(struct hs_trace_writer *writer, uint64_t time_ns,
                    Hs__Pb__HeapscopePacket *heapscope);
/* The upper bits of a float, rounded to nearest: a varint of three bytes, or of one for the
 * frequent 0. */
uint32_t hs_writer_pack_var(double var);
/* Writes the parts that have changed. Returns 0 or -errno. */
int hs_writer_parts(struct hs_trace_writer *writer, const struct hs_writer_dump *dump);
/* Writes the births that have changed. Returns 0 or -errno. */
int hs_writer_births(struct hs_trace_writer *writer, const struct hs_writer_dump *dump);
/* Writes the lifetimes that have changed. Returns 0 or -errno. */
int hs_writer_lifetimes(struct hs_trace_writer *writer, const struct hs_writer_dump *dump);
/* Writes the live blocks, if the snapshot has them. Returns 0 or -errno. */
int hs_writer_blocks(struct hs_trace_writer *writer, const struct hs_writer_dump *dump);
/* Writes the head of the dump. */
int hs_writer_head(struct hs_trace_writer *writer, const struct hs_writer_dump *dump);
/* Makes parts of what was allocated, by scope, of the callstacks through which anything was
 * allocated in a scope. The caller frees them. 0 or -ENOMEM. */
int hs_writer_alloc_parts(const struct hs_writer_dump *dump, struct hs_snap_part **ret_parts,
                          size_t *ret_count);
/* Writes our own packets of the dump. */
int hs_writer_rows(struct hs_trace_writer *writer, const struct hs_writer_dump *dump);
/* Writes Perfetto's packets of the dump, and updates process->written. */
int hs_writer_samples(struct hs_trace_writer *writer, struct hs_writer_dump *dump);
/* Writes the blocks that an earlier image left as freed at time_ns. */
int hs_writer_release(struct hs_trace_writer *writer, const struct hs_leftover *leftover,
                      uint64_t time_ns);
/* Frees the state of all dumps and processes. */
void hs_writer_dump_deinit(struct hs_trace_writer *writer);
