/*
 * What the files of the import share. The import turns the packets of a trace into the rows of a
 * store.
 *
 *   import.c               the packets that the decoder hands over; times of packets
 *   import_sequences.c     what rows need to know of a packet sequence
 *   import_order.c         parts of packets in the order of their times
 *   import_clocks.c        clock snapshots
 *   import_processes.c     process tree: upid, utid
 *   import_stacks.c        interned mappings, frames, callstacks -> rows and call sites
 *   import_legacy.c        the interned tables of very old recorders, inside the ProfilePacket
 *   import_dumps.c         ProfilePackets: dumps, and what each of them allocated and freed
 *   import_symbols.c       ModuleSymbols
 *   import_deobfuscate.c   DeobfuscationMapping
 *   import_counters.c      memory of processes and of the machine over time
 *   import_smaps.c         smaps
 *   import_stack_samples.c StackSamples
 *   import_perf_samples.c  PerfSamples
 *   import_stats.c         statistics of errors and losses
 *
 * Ensures   every id from the file is looked up in a table and never used as an index. A few bytes
 *           of the file cannot create an unlimited number of rows: `budget` bounds the frames that
 *           are resolved.
 * Threads   each import has one user.
 */
#pragma once

#include "profile/model/heap_patterns.h"
#include "profile/read/load.h"
#include "sql/import/import_stats.h"
#include "sql/store/sql_store.h"
#include "trace/trace_decoder.h"
#include "util/buf.h"
#include "util/intern_array.h"

#define HS_IMPORT_NONE UINT32_MAX

/* Rows made of interned elements: (upid, iid) -> row. HS_IMPORT_NONE: the element cannot be
 * resolved. */
struct hs_import_made {
    struct hs_intern_array mapping_ids, frame_ids, site_ids;
    uint32_t *mappings, *frames, *sites;
};

struct hs_import_totals {
    uint64_t alloc_bytes, alloc_count, freed_bytes, freed_count;
};

/* What the packets of a sequence have reported of a process so far. */
struct hs_import_heapprofd_stats;
/* One heap of one packet, held back until its dump is complete. */
struct hs_import_part;

/* A packet sequence, from one clearing of its state to the next. */
struct hs_import_sequence {
    uint32_t id;
    /* its state was cleared again, and another structure has the new state */
    bool is_over;
    uint64_t waiting_count;              /* parts of its packets that were deferred */
    struct hs_trace_state *state;        /* held; what it interned */
    uint32_t named_count[HS_INTERNED_N]; /* interned elements whose texts the store has */
    struct hs_import_made made;
    struct hs_interned legacy; /* tables in the ProfilePackets of the dump; `made` is the row */
    struct hs_import_stack_state *stack; /* NULL: nothing for StackSamples was interned */
    bool has_packet_idx;
    uint64_t packet_idx;
    struct hs_import_part *parts;
    uint32_t part_count;
    size_t part_capacity;
    uint32_t complete_count; /* parts of complete dumps, which wait for a clock snapshot */
    /* (upid, heap, call site) -> totals; (upid, heap, source id, call site) -> totals before it got
     * this id. */
    struct hs_intern_array total_ids, before_ids, heapprofd_stats_ids;
    struct hs_import_totals *totals, *before;
    struct hs_import_heapprofd_stats *heapprofd_stats;
};

struct hs_import_names;
struct hs_import_classes;
struct hs_import_stack_state;
/* A deferred part of a packet, and its time. */
struct hs_import_waiting;

struct hs_import {
    struct hs_sql_store *store;
    const struct hs_heap_patterns *heaps; /* others get no rows; NULL: all get theirs */
    struct hs_load_report report;
    uint64_t budget;
    int64_t empty;  /* number of the text "" */
    int64_t now_ns; /* time of the current packet, on the trace's clock */
    int64_t latest_ns;

    struct hs_intern_array epoch_ids; /* id of a sequence -> how often its state was cleared */
    uint32_t *epochs;
    struct hs_intern_array sequence_ids; /* (id, epoch) */
    struct hs_import_sequence *sequences;

    struct hs_import_waiting *waiting; /* deferred parts */
    size_t waiting_count, waiting_capacity;
    bool is_out_of_order; /* the deferred parts are not in the order of their times */
    size_t file_bytes;

    struct hs_clocks *clocks;      /* the decoder's */
    struct hs_import_names *names; /* symbols, which are applied at the end */
    /* original names of obfuscated code, which are applied at the end */
    struct hs_import_classes *classes;
    struct hs_import_stats stats;
    struct hs_buf config_text, session_name; /* from the last configuration; empty: none */

    struct hs_intern_array pid_ids, tid_ids; /* -> upid, utid */
    /* mappings identified by their content -> index in content_rows */
    struct hs_intern content_ids;
    uint32_t *content_rows;
    size_t content_capacity;
    struct hs_intern_array frame_ids; /* (mapping, name, rel_pc) or (name, file, line) */
    uint32_t *frame_rows;
    /* (parent, frame) -> row of the call site, which is the same number */
    struct hs_intern site_ids;
    struct hs_intern dump_ids;       /* (upid, ts_end, heap) */
    struct hs_intern_array line_ids; /* row of a frame -> its line as recorded */
    uint32_t *lines;
    struct hs_intern_array track_ids;
    uint32_t *tracks;
    uint32_t snapshot_count;

    struct hs_intern stack_task_ids, stack_execution_ids; /* by content */
    struct hs_intern perf_session_ids;                    /* by sequence */
    int64_t stack_set_count;
};

/* The state of the sequence that the packet belongs to, started anew if the packet clears it. NULL:
 * the packet belongs to no sequence with state. has_samples: it needs one even without an id. */
struct hs_import_sequence *hs_import_sequence(struct hs_import *import,
                                              const Hs__Pb__TracePacket *packet,
                                              struct hs_trace_state *state, bool has_samples);
/* Clears the state of a sequence: what it interned, totals and incomplete dumps. No later packet
 * may refer to them. */
void hs_import_sequence_clear(struct hs_import *import, struct hs_import_sequence *sequence);
/* Frees all sequences. */
void hs_import_sequences_deinit(struct hs_import *import);

#define HS_IMPORT_KEY(number) ((struct hs_intern_key){ .lo = (number) })

/* Finds or adds the element of a key; a new element is zeroed. Returns NULL after a failure, which
 * is in store->err. */
void *hs_import_at(struct hs_import *import, struct hs_intern_array *ids, void *array_address,
                   size_t elem_bytes, struct hs_intern_key key, bool *ret_is_new);

/* Adds the rows of a snapshot of the clocks; `sequence` is that of its packet. */
void hs_import_clock_snapshot(struct hs_import *import, uint32_t sequence,
                              const Hs__Pb__ClockSnapshot *snapshot);

/* Finds or adds a process, and returns the number of its row. */
uint32_t hs_import_upid(struct hs_import *import, uint32_t pid);
/* Finds or adds a thread. upid: HS_ROWS_NULL if the process is not known. */
uint32_t hs_import_utid(struct hs_import *import, uint32_t tid, int64_t upid);
/* Adds the processes and threads of a ProcessTree. */
void hs_import_process_tree(struct hs_import *import, const Hs__Pb__ProcessTree *tree);
/* Adds process 0 and thread 0, which every trace has. */
void hs_import_idle_process(struct hs_import *import);

/* Adds the texts of what was interned to the store. Texts get their numbers in the order of the
 * file, and rows that are grouped by a text come in that order. */
void hs_import_name_interned(struct hs_import *import, struct hs_import_sequence *sequence);
/* Frees what is known of rows. */
void hs_import_made_deinit(struct hs_import_made *made);
/* The call site of an interned callstack. HS_IMPORT_NONE if it cannot be resolved, which the
 * statistics count. */
uint32_t hs_import_site(struct hs_import *import, struct hs_import_sequence *sequence,
                        uint32_t upid, uint64_t callstack_iid);
/* The text of an interned string; that of iid 0 is "". Returns false if there is none, which the
 * statistics count. */
bool hs_import_text(struct hs_import *import, const struct hs_interned *tables,
                    enum hs_interned_kind kind, uint64_t iid, int64_t *ret_text);
/* The number of a build id's hexadecimal text. */
int64_t hs_import_build_id(struct hs_import *import, const struct hs_interned_text *build_id);
/* The texts of a mapping. Returns false if a string is missing, which the statistics count. */
bool hs_import_mapping_texts(struct hs_import *import, const struct hs_interned *tables,
                             const struct hs_interned_mapping *mapping, int64_t *ret_name,
                             int64_t *ret_build_id);
/* The row of a mapping that is identified by its content and not by its process. */
uint32_t hs_import_content_mapping(struct hs_import *import,
                                   const struct hs_interned_mapping *mapping, int64_t name,
                                   int64_t build_id);
/* The row of a frame, which is identified by mapping, name and rel_pc. */
uint32_t hs_import_frame_row(struct hs_import *import, uint32_t mapping, int64_t name,
                             uint64_t rel_pc);
/* The row of a frame without a mapping, which is identified by name, file and line. HS_ROWS_NULL:
 * unknown. */
uint32_t hs_import_named_frame(struct hs_import *import, int64_t name, int64_t file, int64_t line);
/* The call site of a frame that `parent` calls; HS_IMPORT_NONE as parent: the frame is outermost.
 * Returns HS_IMPORT_NONE when the budget is used up. */
uint32_t hs_import_site_row(struct hs_import *import, uint32_t parent, uint32_t frame);
/* Adds the tables in a ProfilePacket of a very old recorder, and their rows. */
void hs_import_legacy_add(struct hs_import *import, struct hs_interned *legacy,
                          const Hs__Pb__ProfilePacket *packet);

/* Adds the rows of a ProfilePacket when its dump is complete. */
void hs_import_profile_packet(struct hs_import *import, struct hs_import_sequence *sequence,
                              const Hs__Pb__ProfilePacket *packet);
/* Drops totals and incomplete dumps. */
void hs_import_dumps_clear(struct hs_import_sequence *sequence);
/* Processes the complete dumps that waited for a clock snapshot, and counts an incomplete one.
 * Called at the end of the file. */
void hs_import_dumps_finish(struct hs_import *import, struct hs_import_sequence *sequence);

/* Returns 0 or -ENOMEM. */
int hs_import_names_new(struct hs_import_names **ret_names);
/* NULL is allowed. */
void hs_import_names_free(struct hs_import_names *names);
/* Keeps symbols until hs_import_symbols_finish(). */
void hs_import_symbols(struct hs_import *import, const Hs__Pb__ModuleSymbols *symbols);
/* Applies all symbols to the rows of frames. */
void hs_import_symbols_finish(struct hs_import *import);

/* Returns 0 or -ENOMEM. */
int hs_import_classes_new(struct hs_import_classes **ret_classes);
/* NULL is allowed. */
void hs_import_classes_free(struct hs_import_classes *classes);
/* Keeps original names until hs_import_deobfuscation_finish(). */
void hs_import_deobfuscation(struct hs_import *import, const Hs__Pb__DeobfuscationMapping *mapping);
/* Keeps which Android application has which user id. */
void hs_import_packages(struct hs_import *import, const Hs__Pb__PackagesList *list);
/* Applies all original names to the rows of frames. */
void hs_import_deobfuscation_finish(struct hs_import *import);

/* Adds counters of processes. */
void hs_import_process_stats(struct hs_import *import, const Hs__Pb__ProcessStats *stats);
/* Adds counters of a process that only heapscope records. */
void hs_import_our_counters(struct hs_import *import, const Hs__Pb__HsProcessCounters *counters);
/* Adds counters of the machine. */
void hs_import_sys_stats(struct hs_import *import, const Hs__Pb__SysStats *stats);
/* Sorts the rows of counters by time. Called at the end of the file. */
void hs_import_counters_finish(struct hs_import *import);
/* Adds the mappings of a process. */
void hs_import_smaps(struct hs_import *import, const Hs__Pb__SmapsPacket *smaps);

/* Adds what a packet interned for StackSamples. The first element with an iid is valid. */
void hs_import_stack_interned(struct hs_import *import, struct hs_import_sequence *sequence,
                              const Hs__Pb__InternedData *data);
/* Sets the defaults for the following StackSamples of the sequence. */
void hs_import_stack_defaults(struct hs_import *import, struct hs_import_sequence *sequence,
                              const Hs__Pb__TracePacketDefaults *packet);
/* How many times the sequence's defaults were set so far: the last ones apply to a sample that is
 * read now. */
uint32_t hs_import_stack_default_count(const struct hs_import_sequence *sequence);
/* Adds the rows of a StackSample. `sequence` is NULL if the packet belongs to no sequence with
 * state. */
void hs_import_stack_sample(struct hs_import *import, struct hs_import_sequence *sequence,
                            uint32_t default_count, const struct hs_trace_part *part);
/* Frees the sequence's state of StackSamples. */
void hs_import_stack_deinit(struct hs_import_sequence *sequence);
/* Rows of the tables that both kinds of samples refer to. Equal contents have one row. */
struct hs_stack_task;
struct hs_stack_execution;
int64_t hs_import_stack_task(struct hs_import *import, const struct hs_stack_task *task);
int64_t hs_import_stack_execution(struct hs_import *import,
                                  const struct hs_stack_execution *execution);
/* Adds the rows of a PerfSample. `sequence` is NULL if the packet belongs to no sequence with
 * state. */
void hs_import_perf_sample(struct hs_import *import, struct hs_import_sequence *sequence,
                           const struct hs_trace_part *part);
