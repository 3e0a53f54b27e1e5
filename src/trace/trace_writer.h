/*
 * The trace writer: turns snapshots into a Perfetto trace, packet by packet.
 *
 * One writer writes one file, with one process or with thousands. It streams: written bytes leave
 * through the sink in windows of 64 KiB. The writer remembers only what later packets refer to:
 * tables of distinct strings, mappings, frames and callstacks as 128-bit keys, and for each running
 * process the figures that were written last. The final dump of a process frees that process's
 * figures.
 *
 * Order of calls:  new, begin, { process | dump | module_symbols }*, finish, free.
 * A writer that only appends module_symbols to an existing trace leaves out begin.
 *
 * Ensures   what Perfetto requires of a trace that it did not write itself (docs/FORMAT.md, "Rules
 *           kept"): one sequence, whose state is cleared once; ProfilePacket.index 0, 1, 2 ...;
 *           figures that are cumulative and never fall for a (pid, callstack).
 * Threads   one at a time.
 * Fails     with the -errno of the sink, or -ENOMEM. The first failure is permanent: the sink is
 *           not called again, and every later call returns the same error.
 * See       docs/FORMAT.md, trace/snapshot.h, trace/trace_reader.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/skipped_files.h"
#include "trace/snapshot.h"
#include "util/buf.h"

/* The field of TracePacket for our own packets: 0x4853, "HS". */
#define HS_TRACE_PRIVATE_FIELD 18515U
/* Variances in rows are IEEE single-precision numbers without this many low bits. */
#define HS_VAR_SHIFT 12
/* The most heap names in a file. */
#define HS_HEAP_NAMES_MAX 512U

/* One moment on three clocks, in ns. */
struct hs_trace_clocks {
    uint64_t boottime_ns;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};

/* The state of a trace that another writer needs to continue it. */
struct hs_trace_place {
    uint32_t sequence_id; /* 0: the trace is new */
    uint64_t profile_packet_count;
};

/* What is known of a frame of code. */
struct hs_trace_frame_name {
    const char *function; /* NULL: it has no name */
    const char *file;     /* of code made at run time; NULL: unknown */
    uint32_t line;        /* 0: unknown */
};

/* Looks up the names of functions in the symbol tables of their modules, for the frames of a dump
 * that are new to the file, and of code made at run time for all frames that have any.
 * `frame_ids` are indices into snap->frames. For code made at run time, the answer must be the
 * same in each dump of a process. The function sets ret_names[i] for the frames that have a name;
 * the texts must stay valid until the next call. A frame's name is written once: a frame without a
 * name now gets none later. */
typedef void hs_trace_name_frames_fn(void *ctx, const struct hs_snapshot *snap,
                                     const uint32_t *frame_ids, size_t count,
                                     struct hs_trace_frame_name *ret_names);

struct hs_trace_writer_config {
    hs_buf_sink_fn *sink; /* consumes all bytes that it is given, or returns -errno */
    void *sink_ctx;
    bool is_compressing; /* packets are written compressed, many of them in one packet */
    /* Perfetto's packets contain what was live at the peak, and come with the last dump of each
     * process */
    bool is_at_max;
    uint32_t sequence_id; /* 0: the writer chooses one that differs from file to file */
    /* The place in a trace that another writer began and could not finish: this writer appends to
     * it. Readers treat a process that is in both parts as one process. */
    struct hs_trace_place continued;
    /* the texts belong to the caller and must live as long as the writer */
    struct hs_skipped_files skipped;
    hs_trace_name_frames_fn *name_frames; /* NULL: frames of code have no names */
    void *name_frames_ctx;
    /* NULL: the system's clocks. Tests pass their own function, so that the same input yields the
     * same file. */
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

/* One source position. A frame has several when calls were inlined there. */
struct hs_trace_line {
    const char *function;    /* demangled, as shown in reports */
    const char *system_name; /* as in the symbol table; NULL: the same as `function` */
    const char *file;        /* NULL or "": unknown */
    uint32_t line;           /* 0: unknown */
    const char *folded;      /* the functions that share the code, "a | b"; NULL or "": unknown */
};

struct hs_trace_address {
    uint64_t rel_pc;                   /* the rel_pc of the frame */
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

/* Makes a writer. Returns 0 or -ENOMEM. */
int hs_trace_writer_new(const struct hs_trace_writer_config *config,
                        struct hs_trace_writer **ret_writer);
/* A sink for files, pipes and sockets; ctx is the descriptor, as (void *)(intptr_t)fd. 0 or
 * -errno. */
int hs_trace_write_fd(void *ctx, const void *data, size_t bytes);
/* Frees without flushing. NULL is allowed. Returns NULL. */
struct hs_trace_writer *hs_trace_writer_free(struct hs_trace_writer *writer);

/* Writes the clocks and the start of our sequence. */
int hs_trace_writer_begin(struct hs_trace_writer *writer);

/* Introduces a process. Without this call the first dump of the process does so, with what the
 * snapshot contains. */
int hs_trace_writer_process(struct hs_trace_writer *writer, const struct hs_trace_process *process);

/* Writes one dump of one process, which may be its only one. A process is identified by its pid and
 * start_mono_ns: another start with the same pid is a new program image (exec), and the memory of
 * the previous image is gone. */
int hs_trace_writer_dump(struct hs_trace_writer *writer, const struct hs_snapshot *snap);

/* Writes how many refused processes have no dump of their own, by reason. Call this once, at the
 * end. */
int hs_trace_writer_unlisted(struct hs_trace_writer *writer, const uint64_t counts[HS_REFUSAL_N]);

/* What the recording cost the collector: see HsCost. 0: not known. */
struct hs_trace_cost {
    uint64_t recording_cpu_ns, names_cpu_ns;
    uint64_t collector_cpu_ns, collector_rss_peak_bytes;
};

/* Writes that. Call this once, at the end. */
int hs_trace_writer_cost(struct hs_trace_writer *writer, const struct hs_trace_cost *cost);

/* Passes all buffered bytes to the sink, so that what was written so far is a readable trace, to
 * which a writer that begins at *ret_place can append (ret_place may be NULL). Flushing makes
 * compression a little worse. */
int hs_trace_writer_flush(struct hs_trace_writer *writer, struct hs_trace_place *ret_place);

/* Writes names for code addresses, at any time, and also several times for a module. Readers do not
 * depend on the order. */
int hs_trace_writer_module_symbols(struct hs_trace_writer *writer,
                                   const struct hs_trace_module_symbols *symbols);

/* A module of which addresses have no name after they were looked up. */
struct hs_trace_nameless {
    const char *path; /* as in hs_trace_module_symbols */
    const uint8_t *build_id;
    uint8_t build_id_bytes;
    uint32_t reason;         /* enum hs_symbol_reason of symbol/symbol_table.h */
    const char *detail;      /* the file that the reason is about; "": none */
    uint32_t address_count;  /* that were looked up */
    uint32_t nameless_count; /* of these, without a name */
};

/* Says that names were looked up in so many modules. Call this once, at the end, and then
 * hs_trace_writer_nameless() for each module that lacks names. */
int hs_trace_writer_names_end(struct hs_trace_writer *writer, uint32_t module_count);
int hs_trace_writer_nameless(struct hs_trace_writer *writer,
                             const struct hs_trace_nameless *module);

/* Writes whole packets of a trace, as they are. They must stand alone. */
int hs_trace_writer_packets(struct hs_trace_writer *writer, const void *data, size_t bytes);

/* Passes all buffered bytes to the sink. Returns the first error of all calls. */
int hs_trace_writer_finish(struct hs_trace_writer *writer);
