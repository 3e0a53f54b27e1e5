/*
 * Numbers for distinct things: the same key always gets the same small number.
 *
 * Strings, frames, stacks and modules are all told apart by 128 bits: either the thing itself
 * (module and address of a frame) or a hash of it. At 128 bits two things sharing a hash is rarer than
 * a broken memory cell, so the things need not be kept to compare them: a stack of twenty frames
 * costs 16 bytes here, not 96.
 *
 * Holds     ids are 0, 1, 2 ... in the order of first sight. Slots are at most half full.
 * Threads   one writer.
 * Fails     -ENOMEM, and -EOVERFLOW after 2^31 keys; the table stays as it was.
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

void hs_intern_deinit(struct hs_intern *table);

/* The id of `key`, a new one when it was never seen. */
int hs_intern_put(struct hs_intern *table, struct hs_intern_key key, uint32_t *ret_id,
                  bool *ret_is_new);
bool hs_intern_find(const struct hs_intern *table, struct hs_intern_key key, uint32_t *ret_id);

struct hs_intern_key hs_intern_hash(const void *data, size_t bytes);
/* Folds 64 more bits into a key, so that keys of several parts can be made. */
struct hs_intern_key hs_intern_mix(struct hs_intern_key key, uint64_t word);
