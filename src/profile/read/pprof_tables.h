/*
 * The tables of a pprof profile: strings, functions, mappings and locations; and how a location
 * becomes frames.
 *
 * Records refer to each other by ids that the writer chose, and may come in any order. All records
 * are therefore stored first, and followed afterwards. The inlined calls of a location with an
 * address become lines of one frame. Without an address they become frames of their own, because
 * nothing else distinguishes two such locations.
 *
 * Ensures   every id is looked up, never used as an index without a check. The first record with an
 *           id counts. A location becomes at most HS_PPROF_LINES_MAX frames.
 * Threads   one user.
 * Fails     through err, which is sticky.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/proto/pprof.pb-c.h"
#include "profile/read/load_foreign.h"
#include "util/intern.h"

#define HS_PPROF_LINES_MAX 64

struct hs_pprof_string;
struct hs_pprof_function;
struct hs_pprof_mapping;
struct hs_pprof_location;
struct hs_pprof_line;

/* Records with ids, as the file gives them. */
struct hs_pprof_ids {
    struct hs_intern ids;
    size_t capacity;
};

struct hs_pprof_tables {
    const struct hs_load_source *source;
    int err;
    struct hs_pprof_string *strings;
    size_t string_count, string_capacity;
    struct hs_pprof_ids function_ids, mapping_ids, location_ids;
    struct hs_pprof_function *functions;
    struct hs_pprof_mapping *mappings;
    struct hs_pprof_location *locations;
    struct hs_pprof_line *lines; /* of all locations */
    size_t line_count, line_capacity;
    struct hs_intern named; /* (module, address) pairs that have lines */
    uint32_t program;       /* string id of the builder: path of the first mapping, 0 none */
};

/* Frees the tables. */
void hs_pprof_tables_deinit(struct hs_pprof_tables *tables);

/* Adds the next string; strings have no ids, their order counts. */
void hs_pprof_add_string(struct hs_pprof_tables *tables, const uint8_t *text, size_t bytes);
/*
 * Adds a function. Of several records with one id the first counts; this also holds for mappings
 * and locations.
 */
void hs_pprof_add_function(struct hs_pprof_tables *tables,
                           const Hs__Pprof__PprofFunction *function);
/* Adds a mapping. */
void hs_pprof_add_mapping(struct hs_pprof_tables *tables, const Hs__Pprof__PprofMapping *mapping);
/* Adds a location. */
void hs_pprof_add_location(struct hs_pprof_tables *tables,
                           const Hs__Pprof__PprofLocation *location);

/* Finds `program`. Call it when all tables are filled. */
void hs_pprof_find_program(struct hs_pprof_tables *tables);

/* The builder's string id of a string of the file; 0 when there is no such string. */
uint32_t hs_pprof_string(struct hs_pprof_tables *tables, int64_t string);

/* Copies a string of the file, up to room_bytes - 1 bytes, for strings that seldom occur again. */
void hs_pprof_copy_string(const struct hs_pprof_tables *tables, int64_t string, char *ret_text,
                          size_t room_bytes);

/*
 * Adds the frames of a location to a stack whose innermost node so far is `parent`. Returns the new
 * innermost node.
 */
uint32_t hs_pprof_node(struct hs_pprof_tables *tables, uint32_t parent, uint64_t location_id);
