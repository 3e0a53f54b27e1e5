/*
 * What a packet sequence interned: strings, mappings, frames and callstacks by their iids.
 *
 * A writer gives each of them a number, an iid, when it first needs it, and refers to it by that
 * number. An element may come before those that it refers to. So the tables keep elements as the
 * packets contain them, and references are followed only when a sample needs them.
 *
 * Two rules say what a reference means. HS_INTERNED_STRICT is Perfetto's: an element counts only if
 * it came while the state of the sequence was valid (sequence.h). HS_INTERNED_LENIENT takes what
 * came at any time, because the bytes of a sample were allocated even if its writer did not keep
 * the rules of its sequence. For HS_INTERNED_LENIENT, iid 0 refers to no string and to no mapping.
 *
 * The oldest recorders write these tables into the packets of a dump itself, for that dump alone
 * (hs_interned_add_legacy). `behind` then points to the tables of the sequence, which are searched
 * for what the packet's own tables lack.
 *
 * Holds     the first element with an iid counts, as in Perfetto. Texts and lists of iids never
 *           move; elements move when others of their kind are added. Valid elements come first:
 *           once a sequence has lost its validity, it gets it back only with empty tables.
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW; a part of the elements is then missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/proto/perfetto.pb-c.h"
#include "util/buf.h"
#include "util/intern_array.h"

#define HS_INTERNED_NONE UINT32_MAX

/* The length in bytes of a build id that is text already, as Breakpad uses it. */
#define HS_INTERNED_BREAKPAD_BYTES 33U

enum hs_interned_kind {
    HS_INTERNED_FUNCTION,
    HS_INTERNED_PATH, /* a component of a path */
    HS_INTERNED_SOURCE,
    HS_INTERNED_BUILD_ID, /* bytes */
    HS_INTERNED_TEXTS_N,
    HS_INTERNED_MAPPING = HS_INTERNED_TEXTS_N,
    HS_INTERNED_FRAME,
    HS_INTERNED_CALLSTACK,
    HS_INTERNED_N,
};

enum hs_interned_rule {
    HS_INTERNED_LENIENT,
    HS_INTERNED_STRICT,
};

struct hs_interned_text {
    const char *text; /* ends with a NUL, and may contain others */
    size_t bytes;
};

/* A list of iids. Nearly all fit into 32 bits, and callstacks are most of what is interned. */
struct hs_interned_list {
    const void *iids; /* uint32_t, or uint64_t if is_wide */
    uint32_t count : 31;
    uint32_t is_wide : 1;
} __attribute__((packed, aligned(4)));

/* In all elements: `made` is for the user of the tables: the row or the node that was made
 * of the element. HS_INTERNED_NONE at first. */
struct hs_interned_mapping {
    uint64_t start_va, end_va, exact_off, start_off, load_bias, build_id_iid;
    struct hs_interned_list path; /* components */
    uint32_t made;
};

struct hs_interned_frame {
    uint64_t function_iid, mapping_iid, rel_pc, source_iid;
    const char *kind_text; /* NULL: `kind` says it */
    uint32_t line, kind;
    bool has_line, has_kind;
    uint32_t made;
};

struct hs_interned_callstack {
    struct hs_interned_list frames; /* outermost first */
    uint32_t made;
};

struct hs_interned_block;

struct hs_interned {
    struct hs_intern_array ids[HS_INTERNED_N]; /* iid -> index */
    uint32_t valid_count[HS_INTERNED_N];       /* so many elements count for HS_INTERNED_STRICT */
    struct hs_interned_text *texts[HS_INTERNED_TEXTS_N];
    struct hs_interned_mapping *mappings;
    struct hs_interned_frame *frames;
    struct hs_interned_callstack *callstacks;
    struct hs_interned_block *blocks; /* texts and lists of iids; newest first */
    const struct hs_interned *behind; /* NULL: none */
};

/* Empties the tables; all zeros are empty tables, too. */
void hs_interned_deinit(struct hs_interned *tables);

/* Adds what a packet interned. */
int hs_interned_add(struct hs_interned *tables, const Hs__Pb__InternedData *data, bool is_valid);
/* Adds the tables in the packet of a dump. Its strings serve for every kind of text. */
int hs_interned_add_legacy(struct hs_interned *tables, const Hs__Pb__ProfilePacket *packet);

/* The number of elements of a kind. */
static inline uint32_t hs_interned_count(const struct hs_interned *tables,
                                         enum hs_interned_kind kind)
{
    return tables->ids[kind].ids.count;
}

/* The iid at `i`, below the count. */
static inline uint64_t hs_interned_iid(const struct hs_interned_list *list, uint32_t i)
{
    return list->is_wide ? ((const uint64_t *)list->iids)[i] : ((const uint32_t *)list->iids)[i];
}

/* The elements with these iids; NULL: there are none. */
const struct hs_interned_text *hs_interned_find_text(const struct hs_interned *tables,
                                                     enum hs_interned_rule rule,
                                                     enum hs_interned_kind kind, uint64_t iid);
struct hs_interned_mapping *hs_interned_find_mapping(const struct hs_interned *tables,
                                                     enum hs_interned_rule rule, uint64_t iid);
struct hs_interned_frame *hs_interned_find_frame(const struct hs_interned *tables,
                                                 enum hs_interned_rule rule, uint64_t iid);
struct hs_interned_callstack *hs_interned_find_callstack(const struct hs_interned *tables,
                                                         enum hs_interned_rule rule, uint64_t iid);

/*
 * Writes the path of a mapping: a slash before each component; two slashes at the start become one.
 * Strict: returns false if a component is missing. Lenient: it is then empty.
 */
bool hs_interned_path(const struct hs_interned *tables, enum hs_interned_rule rule,
                      const struct hs_interned_mapping *mapping, struct hs_buf *path);

/* Writes a build id as hexadecimal text, of its first max_bytes bytes. A Breakpad id is text. */
void hs_interned_write_build_id(const struct hs_interned_text *build_id, size_t max_bytes,
                                struct hs_buf *text);

/* For assertions: is each element found by its iid, and are there no more valid ones than
 * elements? */
bool hs_interned_is_valid(const struct hs_interned *tables);
