/*
 * What a JVM (HotSpot) has reserved, by its own notes: objects in its memory that say from where to
 * where something is. They are recognized by their form, without symbols:
 *
 *     VirtualSpace            code cache, its maps, marks, offsets of blocks
 *     PSVirtualSpace          the same of the parallel collector
 *     G1PageBasedVirtualSpace the tables of G1
 *     VirtualSpaceNode        the metaspace, and the class space
 *     CardTable               the table, and the heap that it is for
 *     CollectedHeap           the heap
 *
 * Each has ten words or so that must agree with each other, and describes only what is mapped
 * without a hole. Known from JDK 17 to 25; of others, some forms are the same.
 *
 * Threads   one.
 * Trust     the memory is hostile; a process can only mislead its own user. A limited number of
 *           words is read, and of spaces kept.
 * Fails     -ENOMEM, or -errno of reading the pagemap.
 * See       docs/adr/0036-names-of-mappings.md
 */
#pragma once

#include "collect/ledger/mapping_rows.h"
#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"

/* Words that must be known before and behind the one at which an object is recognized. */
#define HS_JVM_WORDS_BEFORE 6U
#define HS_JVM_WORDS_BEHIND 14U

enum hs_jvm_space_kind {
    HS_JVM_SPACE_HEAP,
    HS_JVM_SPACE_METASPACE,
    HS_JVM_SPACE_CLASSES,
    HS_JVM_SPACE_OTHER, /* the object does not say what it is for */
};

struct hs_jvm_space {
    uint64_t start_va, end_va;
    enum hs_jvm_space_kind kind;
};

struct hs_jvm_spaces {
    struct hs_jvm_space *items;
    size_t count;
    size_t capacity;
};

/* Looks for such objects in resident memory of the process that can be written, except in what
 * `owned` gives to a runtime already. */
int hs_jvm_spaces_find(const struct hs_remote_window *window, int pagemap_fd,
                       const struct hs_mapping_rows *rows, const struct hs_owned_ranges *owned,
                       struct hs_jvm_spaces *ret_spaces);
/* Adds what an object at words[HS_JVM_WORDS_BEFORE] describes, if there is one. The array has
 * HS_JVM_WORDS_BEHIND words from there on. */
int hs_jvm_spaces_take(struct hs_jvm_spaces *spaces, const struct hs_mapping_rows *rows,
                       const uint64_t *words);
/* Frees the array. */
void hs_jvm_spaces_deinit(struct hs_jvm_spaces *spaces);
