/*
 * What the files of the import share: from the packets of a trace to the rows of a store.
 *
 *   import.c              the loop over packets; sequences, times of packets
 *   import_order.c        parts of packets in the order of their times
 *   import_clocks.c       clock snapshots; from one clock to another
 *   import_processes.c    process tree: upid, utid
 *   import_ids.c          numbers for things
 *   import_stacks.c       interned tables: mappings, frames, callstacks -> call sites
 *   import_legacy.c       the same of very old recorders, inside the ProfilePacket
 *   import_dumps.c        ProfilePackets: dumps and what each allocated and freed
 *   import_symbols.c      ModuleSymbols
 *   import_deobfuscate.c  DeobfuscationMapping
 *   import_counters.c     memory of processes and of the machine over time
 *   import_smaps.c        smaps
 *   import_stack_samples.c StackSamples
 *   import_perf_samples.c PerfSamples
 *   import_stats.c        the statistics of what went wrong
 *
 * Holds     every id that comes from the file is looked up in a table, never used as an index. A few bytes cannot
 *           make rows without end: `budget` bounds the frames that are followed.
 * Threads   one import is one user.
 */
#pragma once

#include "profile/load.h"
#include "sql/import_stats.h"
#include "sql/sql_store.h"
#include "trace/trace_reader.h"
#include "util/buf.h"
#include "util/intern.h"

/* Numbers for things, each with an element in an array of the owner. */
struct hs_import_ids {
    struct hs_intern ids;
    size_t capacity;
};

#define HS_IMPORT_NONE UINT32_MAX

enum hs_import_strings {
    HS_IMPORT_FUNCTIONS,
    HS_IMPORT_PATHS,
    HS_IMPORT_SOURCES,
    HS_IMPORT_BUILD_IDS, /* as text: hexadecimal */
    HS_IMPORT_STRINGS_N,
};

struct hs_import_mapping {
    uint64_t start_va, end_va, exact_off, start_off, load_bias, build_id_iid;
    uint32_t path_first, path_count; /* in pool */
};

struct hs_import_frame {
    uint64_t function_iid, mapping_iid, rel_pc, source_iid;
    uint32_t line, kind;
    bool has_line, has_kind;
    int64_t kind_text; /* HS_ROWS_NULL: none */
};

struct hs_import_callstack {
    uint32_t first, count; /* in pool */
};

/* What a sequence interned since its state was cleared. */
struct hs_import_tables {
    struct hs_import_ids string_ids[HS_IMPORT_STRINGS_N];
    int64_t *strings[HS_IMPORT_STRINGS_N]; /* texts of the store */
    struct hs_import_ids mapping_ids, frame_ids, callstack_ids;
    struct hs_import_mapping *mappings;
    struct hs_import_frame *frames;
    struct hs_import_callstack *callstacks;
    uint64_t *pool;
    uint32_t pool_count;
    size_t pool_capacity;
    /* Rows made of them: (upid, iid) -> row, HS_IMPORT_NONE: cannot be followed. */
    struct hs_import_ids mapping_row_ids, frame_row_ids, site_ids;
    uint32_t *mapping_rows, *frame_rows, *sites;
};

/* Of the ProfilePackets of very old recorders, until a dump is complete: iid -> text or row. */
struct hs_import_legacy {
    struct hs_import_ids string_ids, mapping_ids, frame_ids, site_ids;
    struct hs_import_legacy_string *strings;
    uint32_t *mappings, *frames, *sites;
};

struct hs_import_totals {
    uint64_t alloc_bytes, alloc_count, freed_bytes, freed_count;
};

/* Of a process, as far as it was said on a sequence. */
struct hs_import_said;
/* What a dump that is not complete holds back: one heap of one packet. */
struct hs_import_part;

/* A packet sequence from one time that its state was cleared until the next. */
struct hs_import_sequence {
    uint32_t id;
    bool is_valid;          /* its state was cleared, and no packet was lost since */
    uint32_t clock_id;      /* of packets that do not say; 0: none */
    bool is_over;           /* the state was cleared once more, into a new one of these */
    uint64_t waiting_count; /* parts of its packets that were put off */
    struct hs_import_tables tables;
    struct hs_import_legacy legacy;
    struct hs_import_stack_state *stack; /* NULL: nothing of StackSamples was interned */
    bool has_packet_idx;
    uint64_t packet_idx;
    struct hs_import_part *parts;
    uint32_t part_count;
    size_t part_capacity;
    uint32_t complete_count; /* parts of complete dumps: they wait for a clock */
    /* (upid, heap, call site) -> totals; (upid, heap, source id, call site) -> totals it had before. */
    struct hs_import_ids total_ids, before_ids, said_ids;
    struct hs_import_totals *totals, *before;
    struct hs_import_said *said;
};

struct hs_import_clocks;
struct hs_import_names;
struct hs_import_classes;
struct hs_import_stack_state;
/* A part of a packet, and when it was true. */
struct hs_import_waiting;

struct hs_import {
    struct hs_sql_store *store;
    struct hs_load_report report;
    uint64_t budget;
    int64_t empty;  /* the text "" */
    int64_t now_ns; /* trace time of the packet at hand */
    int64_t latest_ns;

    struct hs_import_ids epoch_ids; /* id of a sequence -> times its state was cleared */
    uint32_t *epochs;
    struct hs_import_ids sequence_ids; /* (id, epoch) */
    struct hs_import_sequence *sequences;

    struct hs_import_waiting *waiting; /* parts that were put off */
    size_t waiting_count, waiting_capacity;
    bool is_out_of_order; /* they stand in another order than that of their times */
    size_t file_bytes;

    struct hs_import_clocks *clocks;
    struct hs_import_names *names;     /* symbols, until the end */
    struct hs_import_classes *classes; /* names before obfuscation, until the end */
    struct hs_import_stats stats;
    struct hs_buf config_text, session_name; /* of the last config; empty: none */

    struct hs_import_ids pid_ids, tid_ids; /* -> upid, utid */
    struct hs_intern content_ids;          /* mappings known by content -> index in content_rows */
    uint32_t *content_rows;
    size_t content_capacity;
    struct hs_import_ids frame_ids; /* (mapping, name, rel_pc) or (name, file, line) */
    uint32_t *frame_rows;
    struct hs_intern site_ids;     /* (parent, frame) -> row of the call site, the same number */
    struct hs_intern dump_ids;     /* (upid, ts_end, heap) */
    struct hs_import_ids line_ids; /* row of a frame -> its line, as recorded */
    uint32_t *lines;
    struct hs_import_ids track_ids;
    uint32_t *tracks;
    uint32_t snapshot_count;

    struct hs_intern stack_task_ids, stack_execution_ids; /* by content */
    struct hs_intern perf_session_ids;                    /* by sequence */
    int64_t stack_set_count;
};

/* Nothing more comes that refers to what was interned, or to totals said before. */
void hs_import_sequence_clear(struct hs_import *import, struct hs_import_sequence *sequence);

#define HS_IMPORT_KEY(number) ((struct hs_intern_key){ .lo = (number) })

/* Finds or adds the element of a key; new ones are zeros. NULL after a failure, which is kept in the store. */
void *hs_import_at(struct hs_import *import, struct hs_import_ids *ids, void *array_address,
                   size_t elem_bytes, struct hs_intern_key key, bool *ret_is_new);
/* NULL when it is not there. */
void *hs_import_find(const struct hs_import_ids *ids, void *array, size_t elem_bytes,
                     struct hs_intern_key key);
uint32_t hs_import_count(const struct hs_import_ids *ids);

/* False, and not written, when there is no way from that clock. Sequence 0 for clocks of the machine. */
bool hs_import_time(struct hs_import *import, uint32_t sequence, uint32_t clock_id, uint64_t value,
                    int64_t *ret_ns);
void hs_import_clock_snapshot(struct hs_import *import, uint32_t sequence,
                              const Hs__Pb__ClockSnapshot *snapshot);
int hs_import_clocks_new(struct hs_import_clocks **ret_clocks);
void hs_import_clocks_free(struct hs_import_clocks *clocks);
/* A packet's time on an incremental clock is the difference to the one before. */
uint64_t hs_import_clock_step(struct hs_import *import, uint32_t sequence, uint32_t clock_id,
                              uint64_t value);
uint32_t hs_import_trace_clock(const struct hs_import *import);

uint32_t hs_import_upid(struct hs_import *import, uint32_t pid);
/* upid: HS_ROWS_NULL if it is not known. */
uint32_t hs_import_utid(struct hs_import *import, uint32_t tid, int64_t upid);
void hs_import_process_tree(struct hs_import *import, const Hs__Pb__ProcessTree *tree);
void hs_import_idle_process(struct hs_import *import);

void hs_import_tables_add(struct hs_import *import, struct hs_import_tables *tables,
                          const Hs__Pb__InternedData *data);
void hs_import_tables_deinit(struct hs_import_tables *tables);
/* Its call site; HS_IMPORT_NONE when it cannot be followed, which is counted. */
uint32_t hs_import_site(struct hs_import *import, struct hs_import_tables *tables, uint32_t upid,
                        uint64_t callstack_iid);
/* By content, not by process. */
uint32_t hs_import_content_mapping(struct hs_import *import,
                                   const struct hs_import_mapping *mapping, int64_t name,
                                   int64_t build_id);
uint32_t hs_import_frame_row(struct hs_import *import, uint32_t mapping, int64_t name,
                             uint64_t rel_pc);
/* One without a mapping, told apart by name, file and line; HS_ROWS_NULL: not said. */
uint32_t hs_import_named_frame(struct hs_import *import, int64_t name, int64_t file, int64_t line);
/* The call site of a frame called by another; HS_IMPORT_NONE as parent: outermost. NONE: over budget. */
uint32_t hs_import_site_row(struct hs_import *import, uint32_t parent, uint32_t frame);
int64_t hs_import_build_id(struct hs_import *import, const void *data, size_t bytes);

void hs_import_legacy_add(struct hs_import *import, struct hs_import_legacy *legacy,
                          const Hs__Pb__ProfilePacket *packet);
void hs_import_legacy_deinit(struct hs_import_legacy *legacy);

void hs_import_profile_packet(struct hs_import *import, struct hs_import_sequence *sequence,
                              const Hs__Pb__ProfilePacket *packet);
/* Forgets totals and what is not complete. */
void hs_import_dumps_clear(struct hs_import_sequence *sequence);
/* At the end of the file. */
void hs_import_dumps_finish(struct hs_import *import, struct hs_import_sequence *sequence);

int hs_import_names_new(struct hs_import_names **ret_names);
void hs_import_names_free(struct hs_import_names *names);
void hs_import_symbols(struct hs_import *import, const Hs__Pb__ModuleSymbols *symbols);
void hs_import_symbols_finish(struct hs_import *import);

int hs_import_classes_new(struct hs_import_classes **ret_classes);
void hs_import_classes_free(struct hs_import_classes *classes);
void hs_import_deobfuscation(struct hs_import *import, const Hs__Pb__DeobfuscationMapping *mapping);
void hs_import_packages(struct hs_import *import, const Hs__Pb__PackagesList *list);
void hs_import_deobfuscation_finish(struct hs_import *import);

void hs_import_process_stats(struct hs_import *import, const Hs__Pb__ProcessStats *stats);
void hs_import_our_counters(struct hs_import *import, const Hs__Pb__HsProcessCounters *counters);
void hs_import_sys_stats(struct hs_import *import, const Hs__Pb__SysStats *stats);
/* Counters in the order of time. */
void hs_import_counters_finish(struct hs_import *import);
void hs_import_smaps(struct hs_import *import, const Hs__Pb__SmapsPacket *smaps);

void hs_import_stack_interned(struct hs_import *import, struct hs_import_sequence *sequence,
                              const Hs__Pb__InternedData *data);
void hs_import_stack_defaults(struct hs_import *import, struct hs_import_sequence *sequence,
                              const Hs__Pb__TracePacketDefaults *packet);
/* Times they were set so far: what a sample that comes now goes by. */
uint32_t hs_import_stack_default_count(const struct hs_import_sequence *sequence);
/* sequence: NULL when it is of none that matters. */
void hs_import_stack_sample(struct hs_import *import, struct hs_import_sequence *sequence,
                            uint32_t default_count, const struct hs_trace_part *part);
void hs_import_stack_deinit(struct hs_import_sequence *sequence);
/* Rows of the tables that samples of both kinds refer to. */
struct hs_stack_task;
struct hs_stack_execution;
int64_t hs_import_stack_task(struct hs_import *import, const struct hs_stack_task *task);
int64_t hs_import_stack_execution(struct hs_import *import,
                                  const struct hs_stack_execution *execution);
/* sequence: NULL when it is of none that matters. */
void hs_import_perf_sample(struct hs_import *import, struct hs_import_sequence *sequence,
                           const struct hs_trace_part *part);
