/*
 * The state that the files of the trace loader share.
 *
 *   load_trace.c      the packets that the decoder hands over; processes, symbols; damage
 *   load_tables.c     interned mappings and callstacks -> modules and nodes
 *   load_ours.c       heapscope's own packets
 *   load_process.c    what these packets say of a process
 *   load_rows.c       the columns of rows in these packets
 *   load_parts.c      the parts of callstacks in these packets
 *   load_births.c     the births of callstacks in these packets
 *   load_blocks.c     the live blocks in these packets
 *   load_heaps.c      what these packets say of the heaps of a process
 *   load_losses.c     what these packets say is missing
 *   load_original_names.c  names that an obfuscator replaced, and packages of applications
 *   load_samples.c    ProfilePackets
 *   load_counters.c   counters of processes and of the machine
 *
 * The decoder (trace/trace_decoder.h) reads the file, and knows what each sequence interned. A
 * sequence that contains heapscope's own packets is read from these alone, because its
 * ProfilePackets contain less of the same information. All other sequences are read from their
 * ProfilePackets.
 *
 * Packets are taken in the order of the file, and interned elements whether or not the state of
 * their sequence is valid (HS_INTERNED_LENIENT): the bytes of a sample are real.
 *
 * Ensures   every id that comes from the file is looked up in a table, never used as an index.
 * Threads   one user for each load.
 */
#pragma once

#include <math.h>

#include "profile/model/builder.h"
#include "profile/read/load.h"
#include "trace/snapshot.h"
#include "trace/trace_decoder.h"
#include "util/intern_array.h"

struct hs_load_sequence {
    uint32_t id;
    uint32_t epoch; /* number of times that its state was cleared */
    bool is_ours;
    bool is_continued; /* its processes may be the same as those before the state was cleared */
    struct hs_interned *interned; /* the decoder's, of the current state */
    struct hs_interned legacy;    /* tables that the current dump brings in its own packets */
    /* Of ProfilePackets: */
    uint64_t next_packet_idx;
    bool has_packet_idx;
    uint64_t chain_count;            /* number of complete dumps of heaps */
    struct hs_load_pending *pending; /* parts of the dump that is not complete yet */
    uint32_t pending_count;
    size_t pending_capacity;
};

/* The figures of one (node, heap) of a process, or of one of its callstacks. */
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

    struct hs_intern_array sequence_ids;
    struct hs_load_sequence *sequences;
    uint32_t last_sequence; /* index; most packets follow one of the same sequence */

    /* From ProcessTree: pid -> command line. */
    struct hs_intern_array pid_ids;
    struct hs_load_pid *pids;

    struct hs_intern_array process_ids; /* (sequence, epoch, process_idx) */
    struct hs_load_process *processes;
    struct hs_intern_array image_ids; /* (sequence and pid, start) */
    uint32_t *images;                 /* index of its newest element of `processes` */

    struct hs_intern_array heaps_ids; /* (sequence, epoch, pid) */
    struct hs_load_heaps *heaps;
    struct hs_intern_array foreign_ids; /* pid -> process of the profile */
    uint32_t *foreign_processes;

    uint64_t thinned_count; /* dumps without samples */

    struct hs_load_original_names *original_names; /* NULL: none so far */
    struct hs_load_counters *counters;             /* NULL: none so far */
    uint64_t boot_minus_mono_ns;                   /* as of the last clocks */
    uint64_t last_time_ns;                         /* the time of a packet without a timestamp */
};

struct hs_load_pid {
    uint32_t ppid;
    uint32_t cmdline; /* string id: arguments joined by blanks */
    uint32_t argv0;   /* string id */
    bool is_comm;     /* argv0 is not the first argument but the kernel's short name */
    bool has_uid;
    uint32_t uid;
};

/*
 * Finds or adds the element with this key in an array; a new element is filled with zeros. NULL
 * after a failure, which is kept in load->err.
 */
void *hs_load_at(struct hs_load *load, struct hs_intern_array *ids, void *array_address,
                 size_t elem_bytes, struct hs_intern_key key, bool *ret_is_new);

/*
 * The node of a callstack. For a callstack that is not in the file it is a marker, so that its
 * bytes are kept.
 */
uint32_t hs_load_node(struct hs_load *load, const struct hs_interned *tables,
                      uint64_t callstack_iid);
/* The module of a mapping; UINT32_MAX if there is no such mapping. */
uint32_t hs_load_module(struct hs_load *load, const struct hs_interned *tables,
                        uint64_t mapping_iid);

/* What the ProcessTree says of a pid; NULL when it says nothing. */
const struct hs_load_pid *hs_load_pid(const struct hs_load *load, uint32_t pid);
/* The string id of a path's file name. */
uint32_t hs_load_basename(struct hs_load *load, uint32_t path);

/* Reads one of heapscope's own packets. */
void hs_load_ours(struct hs_load *load, struct hs_load_sequence *sequence,
                  const Hs__Pb__HeapscopePacket *packet);
/* Closes open dumps and adds threads, changes and losses. Call it after the last packet. */
void hs_load_ours_finish(struct hs_load *load);
/* Why the process was refused: enum hs_refusal, or HS_REFUSAL_N for a reason that is newer than
 * this program. */
uint8_t hs_load_refusal_of(const Hs__Pb__HsDump *dump);
/* Sets what the dump says of its process (index in the profile's processes). */
void hs_load_process_update(struct hs_load *load, uint32_t process, const Hs__Pb__HsDump *dump);
/* Frees the state of load_ours.c. */
void hs_load_ours_deinit(struct hs_load *load);

struct hs_load_weight {
    double bytes;
    double alloc_count;
};

/*
 * What the last dump of a process says is missing: counters by enum hs_loss and by enum
 * hs_stack_end, and what they stand for.
 */
struct hs_load_losses {
    uint64_t lost_count[16], stack_end_count[16];
    struct hs_load_weight lost[16], stack_end[16];
    uint64_t bad_count, lost_scope_count;
    uint32_t unread_interpreters;
    uint32_t refusal;
    uint32_t python_state; /* enum hs_python_state */
    uint32_t java_refusal; /* enum hs_java_refusal */
    struct hs_load_guess {
        uint32_t text; /* string id */
        bool is_jit;
        uint64_t stack_count;
        struct hs_load_weight weight;
    } guesses[32];
    uint32_t guess_count;
    struct hs_profile_cut_module cuts[32];
    uint32_t cut_count;
    struct hs_snap_loss_time times[HS_SNAP_LOSS_TIMES_MAX]; /* of the last dump that has some */
    uint32_t time_count;
};

/* Adds the places of a process's modules (load_places.c). */
void hs_load_places(struct hs_load *load, const struct hs_interned *tables, uint32_t process,
                    const Hs__Pb__HsModules *from);

/* Takes over what a dump says is missing; replaces what an earlier dump said. */
void hs_load_losses_set(struct hs_load *load, struct hs_load_losses *losses,
                        const Hs__Pb__HsDump *dump, uint8_t refusal);
/* Adds it to the profile, as losses of the process. */
void hs_load_losses_add(struct hs_load *load, uint32_t process,
                        const struct hs_load_losses *losses);

/* Reads a ProfilePacket. Does nothing in a sequence with heapscope's own packets. */
void hs_load_profile_packet(struct hs_load *load, struct hs_load_sequence *sequence,
                            const Hs__Pb__ProfilePacket *packet);
/* Closes open dumps. Call it after the last packet. */
void hs_load_samples_finish(struct hs_load *load);
/* Frees the state of load_samples.c. */
void hs_load_samples_deinit(struct hs_load *load);
/* Drops the parts of a dump that is not complete. */
void hs_load_pending_deinit(struct hs_load_sequence *sequence);

/* Reads the counters in a packet, and what it says about counters that could not be read. */
void hs_load_counters(struct hs_load *load, const Hs__Pb__TracePacket *packet);
/* Assigns counters to processes. Call it when all processes are known. */
void hs_load_counters_finish(struct hs_load *load);
/* Frees the state of load_counters.c. */
void hs_load_counters_deinit(struct hs_load *load);

/* Reads the names that an obfuscator replaced, and the packages of applications. */
void hs_load_original_names(struct hs_load *load, const Hs__Pb__TracePacket *packet);
/* Sets the packages of the processes. Call it when all processes are known. */
void hs_load_packages_finish(struct hs_load *load);
/* Gives the frames of the finished profile their original names. 0 or -errno. */
int hs_load_original_names_finish(struct hs_load *load, struct hs_profile *profile);
/* Frees the state of load_original_names.c. */
void hs_load_original_names_deinit(struct hs_load *load);

/* Converts a bound; it is rounded up. */
static inline float hs_load_float_above(uint64_t bytes)
{
    float rounded = (float)bytes;
    return (double)rounded < (double)bytes ? nextafterf(rounded, INFINITY) : rounded;
}

/* A variance as rows have it: HsRows in heapscope.proto. */
double hs_load_var(uint32_t packed);
/* Sets the figures of a row to those of element `i` of the columns; absent ones are 0. */
void hs_load_row_set(struct hs_load_row *row, const Hs__Pb__HsRows *rows, size_t i);

/* The value if it is positive and finite (below 1e300), else 0. */
static inline double hs_load_number(double value)
{
    return value > 0 && value < 1e300 ? value : 0;
}
