/*
 * What the files of the loader share.
 *
 *   load.c            the loop over packets; clocks, processes, symbols; damage
 *   load_tables.c     what a sequence interned: strings, mappings, frames, callstacks -> nodes
 *   load_ours.c       our own packets
 *   load_losses.c     what they say is missing
 *   load_samples.c    ProfilePackets
 *   load_counters.c   counters of processes and of the machine
 *
 * A file is a mix of packet sequences. Each has tables of its own. One on which our own packets were
 * seen is read from those alone; its ProfilePackets say the same with less in it. All others are read
 * from their ProfilePackets.
 *
 * Holds     every id that comes from the file is looked up in a table, never used as an index.
 * Threads   one load is one user.
 */
#pragma once

#include "profile/builder.h"
#include "profile/load.h"
#include "util/intern.h"

/* An array that grows; capacities apart, so that arrays of any type can be given. */
struct hs_load_ids {
    struct hs_intern ids; /* iid -> index in an array of the owner */
    size_t capacity;
};

struct hs_load_mapping {
    uint64_t start_va, end_va, exact_off, start_off, load_bias;
    uint64_t build_id_iid;
    uint32_t path_first, path_count; /* in pool */
    uint32_t module;                 /* UINT32_MAX: not looked up yet */
};

struct hs_load_frame {
    uint64_t function_iid, mapping_iid, rel_pc, source_iid;
    uint32_t line;
    uint32_t kind;
    uint32_t frame; /* UINT32_MAX: not looked up yet */
};

struct hs_load_callstack {
    uint32_t first, count; /* in pool */
    uint32_t node;         /* UINT32_MAX: not looked up yet */
};

enum hs_load_strings {
    HS_LOAD_FUNCTIONS,
    HS_LOAD_PATHS,
    HS_LOAD_SOURCES,
    HS_LOAD_BUILD_IDS, /* as text: hexadecimal */
    HS_LOAD_STRINGS_N,
};

struct hs_load_tables {
    struct hs_load_ids string_ids[HS_LOAD_STRINGS_N];
    uint32_t *strings[HS_LOAD_STRINGS_N]; /* builder's string ids */
    struct hs_load_ids mapping_ids, frame_ids, callstack_ids;
    struct hs_load_tables *behind; /* where to look for what is not in these; NULL none */
    struct hs_load_mapping *mappings;
    struct hs_load_frame *frames;
    struct hs_load_callstack *callstacks;
    uint64_t *pool;
    uint32_t pool_count;
    size_t pool_capacity;
};

struct hs_load_sequence {
    uint32_t id;
    uint32_t epoch; /* times its state was cleared */
    bool is_ours;
    bool is_continued; /* processes may be those of before the state was cleared */
    struct hs_load_tables tables;
    struct hs_load_tables legacy; /* of the dump at hand, given in its own packets */
    /* Of ProfilePackets: */
    uint64_t next_packet_idx;
    bool has_packet_idx;
    uint64_t chain_count;            /* dumps of heaps that were complete */
    struct hs_load_pending *pending; /* parts of a dump that is not complete yet */
    uint32_t pending_count;
    size_t pending_capacity;
};

/* Figures of one (node, heap) of a process, or of one callstack of it. */
struct hs_load_row {
    uint32_t node, heap;
    struct hs_amount alloc, live, peak;
    struct hs_inherited_var inherited;
};

/* A process of our own packets: one program image. */
struct hs_load_process;
/* A process of ProfilePackets. */
struct hs_load_heaps;

struct hs_load {
    struct hs_builder *builder;
    struct hs_load_report report;
    int err;

    struct hs_load_ids sequence_ids;
    struct hs_load_sequence *sequences;
    uint32_t sequence_count;
    uint32_t last_sequence; /* index: packets of a sequence come in a row */

    /* From ProcessTree: pid -> command line. */
    struct hs_load_ids pid_ids;
    struct hs_load_pid *pids;

    struct hs_load_ids process_ids; /* (sequence, epoch, process_idx) */
    struct hs_load_process *processes;
    struct hs_load_ids image_ids; /* (sequence and pid, start) */
    uint32_t *images;             /* index of its newest element of `processes` */

    struct hs_load_ids heaps_ids; /* (sequence, epoch, pid) */
    struct hs_load_heaps *heaps;
    struct hs_load_ids foreign_ids; /* pid -> process of the profile */
    uint32_t *foreign_processes;

    uint64_t thinned_count; /* dumps without samples */

    struct hs_load_counters *counters; /* NULL: none so far */
    uint64_t boot_minus_mono_ns;       /* as of the last clocks */
    uint64_t last_time_ns;             /* of a packet that says none */
};

struct hs_load_pid {
    uint32_t ppid;
    uint32_t cmdline; /* string id: arguments joined by blanks */
    uint32_t argv0;   /* string id */
    bool is_comm;     /* argv0 is not the first argument but the kernel's short name */
};

/* Finds or adds the element of `iid` in an array of elements; new ones are zeros. NULL after a
 * failure, which is kept in load->err. */
void *hs_load_at(struct hs_load *load, struct hs_load_ids *ids, void *array_address,
                 size_t elem_bytes, struct hs_intern_key key, bool *ret_is_new);
/* As above for an element that must be there already; NULL when it is not. */
void *hs_load_find(const struct hs_load_ids *ids, void *array, size_t elem_bytes,
                   struct hs_intern_key key);
void hs_load_ids_deinit(struct hs_load_ids *ids);
/* Elements of the array; after a failure one less than there are ids. */
static inline uint32_t hs_load_count(const struct hs_load_ids *ids)
{
    return ids->ids.count < ids->capacity ? ids->ids.count : (uint32_t)ids->capacity;
}

void hs_load_tables_add(struct hs_load *load, struct hs_load_tables *tables,
                        const Hs__Pb__InternedData *data);
/* What very old recorders put into the ProfilePacket itself. */
void hs_load_tables_add_legacy(struct hs_load *load, struct hs_load_tables *tables,
                               const Hs__Pb__ProfilePacket *packet);
void hs_load_tables_deinit(struct hs_load_tables *tables);
/* The node of a callstack. One that cannot be found becomes a marker, so that its bytes are kept. */
uint32_t hs_load_node(struct hs_load *load, struct hs_load_tables *tables, uint64_t callstack_iid);
/* The module of a mapping, UINT32_MAX if there is none. */
uint32_t hs_load_module(struct hs_load *load, struct hs_load_tables *tables, uint64_t mapping_iid);

const struct hs_load_pid *hs_load_pid(const struct hs_load *load, uint32_t pid);
/* String id of what follows the last slash. */
uint32_t hs_load_basename(struct hs_load *load, uint32_t path);

void hs_load_ours(struct hs_load *load, struct hs_load_sequence *sequence,
                  const Hs__Pb__HeapscopePacket *packet);
void hs_load_ours_finish(struct hs_load *load);
void hs_load_ours_deinit(struct hs_load *load);

struct hs_load_weight {
    double bytes;
    double alloc_count;
};

/* Of a process's last dump: counters by enum hs_loss and enum hs_stack_end, and what they stand for. */
struct hs_load_losses {
    uint64_t lost_count[16], stack_end_count[16];
    struct hs_load_weight lost[16], stack_end[16];
    uint64_t bad_count;
    uint32_t refusal;
    struct hs_load_guess {
        uint32_t text; /* string id */
        bool is_jit;
        uint64_t stack_count;
        struct hs_load_weight weight;
    } guesses[32];
    uint32_t guess_count;
};

/* load_places.c */
void hs_load_places(struct hs_load *load, struct hs_load_tables *tables, uint32_t process,
                    const Hs__Pb__HsModules *from);

void hs_load_losses_set(struct hs_load *load, struct hs_load_losses *losses,
                        const Hs__Pb__HsDump *dump, uint8_t refusal);
void hs_load_losses_add(struct hs_load *load, uint32_t process,
                        const struct hs_load_losses *losses);

void hs_load_profile_packet(struct hs_load *load, struct hs_load_sequence *sequence,
                            const Hs__Pb__ProfilePacket *packet);
/* Closes all that is open. */
void hs_load_samples_finish(struct hs_load *load);
void hs_load_samples_deinit(struct hs_load *load);
void hs_load_pending_deinit(struct hs_load_sequence *sequence);

/* Packets of counters, and of what could not be read. */
void hs_load_counters(struct hs_load *load, const Hs__Pb__TracePacket *packet);
/* When all processes are known. */
void hs_load_counters_finish(struct hs_load *load);
void hs_load_counters_deinit(struct hs_load *load);

/* A finite number that is not negative. */
static inline double hs_load_number(double value)
{
    return value > 0 && value < 1e300 ? value : 0;
}
