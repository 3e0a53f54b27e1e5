/*
 * What the rows of a MemoryInfra trace refer to: strings, types, frames, and where code was mapped.
 *
 * The tables of a process may be spread over its dumps, and in the older form over other events
 * behind them. They are therefore collected from the whole file first. An id that occurs again
 * means what it meant first.
 *
 * Ensures   a node is made for each stack, however its references are damaged; a marker stands for
 *           what is missing. Work is in proportion to the file.
 * Threads   one user.
 * Fails     by setting err.
 * See       load_memory_infra.c
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/read/load_foreign.h"
#include "util/intern.h"
#include "util/json_read.h"

#define HS_INFRA_NO_ID UINT32_MAX

struct hs_infra_place {
    uint64_t start_va, end_va, bias_va;
    uint32_t path; /* string id */
    uint8_t build_id[HS_BUILD_ID_MAX];
    uint8_t build_id_bytes; /* 0: unknown */
};

struct hs_infra_in_process {
    uint64_t pid;
    uint32_t real_pid;    /* from its label; 0: pid */
    uint32_t name;        /* string id */
    uint32_t builder_idx; /* HS_INFRA_NO_ID: not in the profile yet */
    double last_us;       /* time of its last dump */
    struct hs_infra_place *places;
    size_t place_count, place_capacity;
};

struct hs_infra_in_node {
    uint64_t parent;
    uint32_t name;  /* string id */
    uint32_t made;  /* node of the profile; HS_INFRA_NO_ID: not yet */
    uint32_t depth; /* with `made`: so many frames from the outermost one or a cut on */
    bool has_parent;
};

struct hs_infra_tables {
    const struct hs_load_source *source;
    uint32_t nowhere; /* module of frames that have only a name */
    struct hs_intern pids, string_ids, node_ids;
    struct hs_infra_in_process *processes;
    size_t process_capacity;
    uint32_t *strings; /* string ids of the builder */
    size_t string_capacity;
    struct hs_intern type_ids;
    uint32_t *types; /* string ids of their names */
    size_t type_capacity;
    struct hs_infra_in_node *nodes;
    size_t node_capacity;
    uint32_t *path; /* scratch: indices of nodes */
    size_t path_capacity;
    int err;
};

/* Initializes empty tables, which fill the builder of `source`. */
void hs_infra_tables_init(struct hs_infra_tables *tables, const struct hs_load_source *source);
/* Frees the memory. */
void hs_infra_tables_deinit(struct hs_infra_tables *tables);

/* The index of a process in `processes`; HS_INFRA_NO_ID after a failure. */
uint32_t hs_infra_process_of(struct hs_infra_tables *tables, uint64_t pid);
/* Reads an id: a number, or a text. False, and the value is skipped: it is neither. */
bool hs_infra_read_id(struct hs_json_reader *reader, uint64_t *ret_id);
/* Parses 1 to 16 hexadecimal digits. False: the text is something else. */
bool hs_infra_parse_hex(const char *text, size_t bytes, uint64_t *ret_value);
/* Reads a text of hexadecimal digits; 0 when it is none. */
uint64_t hs_infra_read_hex(struct hs_json_reader *reader);
/* Reads a build id in hexadecimal digits. Returns its number of bytes, at most HS_BUILD_ID_MAX; 0
 * when it is none. */
uint8_t hs_infra_read_build_id(struct hs_json_reader *reader, uint8_t *ret_build_id);

/* Reads "maps" of heaps_v2. */
void hs_infra_read_maps(struct hs_infra_tables *tables, uint32_t process,
                        struct hs_json_reader *reader);
/* Reads "stackFrames" of the older form. */
void hs_infra_read_frames(struct hs_infra_tables *tables, uint32_t process,
                          struct hs_json_reader *reader);
/* Reads "vm_regions", in place of those that were read before. */
void hs_infra_read_regions(struct hs_infra_tables *tables, uint32_t process,
                           struct hs_json_reader *reader);

/* The index of a node in `nodes`; HS_INFRA_NO_ID: there is none. */
uint32_t hs_infra_find_node(const struct hs_infra_tables *tables, uint32_t process, uint64_t id);
/* The node of the profile for a stack, by the id of its innermost frame. */
uint32_t hs_infra_make_node(struct hs_infra_tables *tables, uint32_t process, uint64_t id);
/* The string id of the name of a type; 0: there is no such type, or it is the unknown one. */
uint32_t hs_infra_type_name(const struct hs_infra_tables *tables, uint32_t process, uint64_t id);
/* The node of a frame that stands for something else than code, such as "<other>". */
uint32_t hs_infra_make_marker(struct hs_infra_tables *tables, const char *name);
