/*
 * The trace writer: snapshots in, a Perfetto trace out, packet by packet.
 *
 * One writer makes one file, of one process or of thousands. It streams: what is written leaves
 * through the sink in windows of 64 KiB, and only what later packets refer to is remembered:
 * tables of distinct strings, mappings, frames and callstacks as 128-bit keys, and per running
 * process the figures last written. A final dump drops the latter.
 *
 * Order of calls:  new, begin, { process | dump | module_symbols }*, finish, free.
 * A writer that only appends module_symbols to an existing trace leaves out begin.
 *
 * Holds     what Perfetto demands of a hand-written trace (docs/FORMAT.md, "Rules kept"): one
 *           sequence, its state cleared once, ProfilePacket.index 0, 1, 2 ..., figures cumulative and
 *           never falling per (pid, callstack).
 * Threads   one at a time.
 * Fails     with the -errno of the sink, or -ENOMEM. The first failure sticks: the sink is not
 *           called again, and every later call returns the same error.
 * See       docs/FORMAT.md, trace/snapshot.h, trace/trace_reader.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/skipped_files.h"
#include "trace/snapshot.h"
#include "util/buf.h"

/* TracePacket field of our own packets: 0x4853, "HS". */
#define HS_TRACE_PRIVATE_FIELD 18515U
/* Variances in rows are IEEE singles without this many low bits. */
#define HS_VAR_SHIFT 12

/* The same moment on three clocks, ns. */
struct hs_trace_clocks {
    uint64_t boottime_ns;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};

/* Where a trace stands: what another writer needs to go on with it. */
struct hs_trace_place {
    uint32_t sequence_id; /* 0: nowhere, it begins */
    uint64_t profile_packet_count;
};

/*
 * Names of functions as the symbol tables of their modules have them, for the frames of a dump that the file does not
 * have yet. `frame_ids` are indices into snap->frames, each of code in a file. Sets ret_names[i] of those that have a
 * name; these must stay until the next call. A frame's name is written once: who has none now gets none later.
 */
typedef void hs_trace_name_frames_fn(void *ctx, const struct hs_snapshot *snap,
                                     const uint32_t *frame_ids, size_t count,
                                     const char **ret_names);

struct hs_trace_writer_config {
    hs_buf_sink_fn *sink; /* takes all bytes it is given, or returns -errno */
    void *sink_ctx;
    bool is_compressing; /* packets are written compressed, many in one */
    bool
        is_at_max; /* Perfetto's packets tell what lived at the peak, with the last dump of each process */
    uint32_t sequence_id; /* 0: one is chosen that differs from file to file */
    /* Of a trace that another writer began and could not end: this one appends to it, and a process that is in
     * both parts is one for readers. */
    struct hs_trace_place continued;
    struct hs_skipped_files skipped;      /* the caller's for as long as there is a writer */
    hs_trace_name_frames_fn *name_frames; /* NULL: frames of code have no names */
    void *name_frames_ctx;
    /* NULL: the system's. Tests give their own, so that the same input makes the same file. */
    void (*read_clocks)(void *ctx, struct hs_trace_clocks *ret_clocks);
    void *clocks_ctx;
};

struct hs_trace_process {
    uint32_t pid;
    uint32_t ppid;
    int64_t uid;         /* -1: unknown */
    const char *cmdline; /* arguments, each ended or separated by NUL */
    size_t cmdline_bytes;
    uint64_t start_mono_ns; /* 0: unknown */
};

/* One source position; a frame has several when calls were inlined there. */
struct hs_trace_line {
    const char *function;    /* demangled, as shown */
    const char *system_name; /* as in the symbol table; NULL: equal to function */
    const char *file;        /* NULL or "": unknown */
    uint32_t line;           /* 0: unknown */
};

struct hs_trace_address {
    uint64_t rel_pc;                   /* equal to the frame's */
    const struct hs_trace_line *lines; /* innermost first */
    uint32_t line_count;
};

struct hs_trace_module_symbols {
    const char *path; /* as in the snapshot or the profile */
    const uint8_t *build_id;
    uint8_t build_id_bytes;
    const struct hs_trace_address *addresses;
    uint32_t address_count;
};

struct hs_trace_writer;

int hs_trace_writer_new(const struct hs_trace_writer_config *config,
                        struct hs_trace_writer **ret_writer);
/* A sink for files, pipes and sockets: ctx is the descriptor, as (void *)(intptr_t)fd. */
int hs_trace_write_fd(void *ctx, const void *data, size_t bytes);
/* NULL is fine. Does not flush. Returns NULL. */
struct hs_trace_writer *hs_trace_writer_free(struct hs_trace_writer *writer);

/* Clocks, and the start of our sequence. */
int hs_trace_writer_begin(struct hs_trace_writer *writer);

/* Introduces a process. Without it the first dump does so, from what the snapshot knows. */
int hs_trace_writer_process(struct hs_trace_writer *writer, const struct hs_trace_process *process);

/* One dump of one process. The first one of a process may be its only one. A process is known by its
 * pid and start_mono_ns: another start under the same pid is a new program (exec), whose
 * predecessor's memory is gone. */
int hs_trace_writer_dump(struct hs_trace_writer *writer, const struct hs_snapshot *snap);

/* How many processes were refused that have no dump of their own, by reason. Once, at the end. */
int hs_trace_writer_unlisted(struct hs_trace_writer *writer, const uint64_t counts[HS_REFUSAL_N]);

/* Hands out what is buffered, so that what was written so far is a trace that can be read, and that a writer that
 * begins at `ret_place` (may be NULL) can append to. Compresses a little worse than none. */
int hs_trace_writer_flush(struct hs_trace_writer *writer, struct hs_trace_place *ret_place);

/* Names for code addresses, any time, several times for a module. Order does not matter to readers. */
int hs_trace_writer_module_symbols(struct hs_trace_writer *writer,
                                   const struct hs_trace_module_symbols *symbols);

/* Hands out what is buffered. Returns the first error of all calls. */
int hs_trace_writer_finish(struct hs_trace_writer *writer);
