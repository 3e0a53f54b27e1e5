/*
 * Interning: gives each distinct key a small number, and the same key always the same number.
 *
 * Strings, frames, stacks and modules are all identified by 128 bits: either the value itself (a
 * frame's module and address) or a hash of it. Two values with the same 128-bit hash are less
 * likely than a broken memory cell, so the values are not kept to compare them. A stack of twenty
 * frames costs 16 bytes here, not 96.
 *
 * Holds     ids are 0, 1, 2 ... in the order in which keys were first seen. At most half of the
 *           slots are used.
 * Threads   one writer.
 * Fails     -ENOMEM, and -EOVERFLOW after 2^31 keys; the table is then unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_intern_key {
    uint64_t hi, lo;
};

struct hs_intern {
    struct hs_intern_key *keys; /* by id */
    uint32_t *slots;            /* id + 1; 0: empty */
    uint32_t count;
    uint32_t slot_count; /* a power of two, or 0 */
    size_t capacity;     /* of keys */
};

/* Frees the table's memory. A zero-initialized table is empty. */
void hs_intern_deinit(struct hs_intern *table);

/* For assertions: is each key found under its id, and are the slots at most half full? */
bool hs_intern_is_valid(const struct hs_intern *table);

/* Writes the id of `key`, a new id if the key was not seen before. Returns 0 or -errno. */
int hs_intern_put(struct hs_intern *table, struct hs_intern_key key, uint32_t *ret_id,
                  bool *ret_is_new);
/* Writes the id of `key`. False: the key was never put in. */
bool hs_intern_find(const struct hs_intern *table, struct hs_intern_key key, uint32_t *ret_id);

/* The 128-bit hash of `bytes` bytes. */
struct hs_intern_key hs_intern_hash(const void *data, size_t bytes);
/* Mixes 64 more bits into a key, for keys that have several parts. */
struct hs_intern_key hs_intern_mix(struct hs_intern_key key, uint64_t word);
