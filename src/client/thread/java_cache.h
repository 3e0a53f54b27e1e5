/*
 * What was found out about HotSpot's code: the frames of a pc, and how its caller is found.
 *
 * HotSpot frees code and puts other code in its place, so a pc says nothing. An entry belongs to a
 * pc in one piece of code, known by the words of its header: where it begins, how long it is, which
 * name it has, and the number of its compilation, which no other one has. These words are read at
 * each search. They can be read without asking, because the memory of code is never given back.
 *
 * All threads share the table without a lock. An entry has a check over all its words, so an
 * entry that two threads have written at once is not found.
 *
 * Of an interpreted method, `pc` is its place in its bytecodes, `code` the address of the method,
 * and `method` tells whether it is still the same one.
 *
 * Threads   any, inside the guard.
 * Fails     never: what was pushed out is found out again. Without memory there is no table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hotspot/code_blob.h"
#include "unwind/walk.h"

#define HS_JAVA_CACHE_IDS 22U

/* How a frame goes on. */
enum hs_java_step {
    HS_JAVA_STEP_CALLER,       /* as in hs_vm_frame */
    HS_JAVA_STEP_INTERPRETED,  /* its frame says which method it is */
    HS_JAVA_STEP_MAKES_FRAMES, /* as CALLER; the frames behind it may be incomplete */
};

struct hs_java_entry {
    uint64_t check;
    uint64_t pc;
    uint64_t code; /* a hash of the header's words */
    uint32_t frame_bytes;
    uint8_t step;   /* enum hs_java_step */
    uint8_t caller; /* enum hs_vm_caller */
    uint16_t id_count;
    uint64_t method; /* of an interpreted method: the hash of what it is made of */
    uint32_t ids[HS_JAVA_CACHE_IDS];
};

_Static_assert(sizeof(struct hs_java_entry) == 128, "two cache lines");

/* Makes the table if there is none, once a JVM has been found; one thread at a time. */
void hs_java_cache_make(void);
/* Forgets all, because frame ids belong to a region. No other thread may use the table
 * meanwhile. */
void hs_java_cache_clear(void);

/* The hash of the header of the code at `pc`. False: there is none. */
bool hs_java_cache_identify(const struct hs_hotspot_layout *layout,
                            const struct hs_code_heaps *heaps, uint64_t pc, uint64_t *ret_code);

/* Copies the entry of `pc` in the code that has this hash. False: there is none. */
bool hs_java_cache_find(uint64_t pc, uint64_t code, struct hs_java_entry *ret_entry);

/* Stores an entry; `check` is made here. */
void hs_java_cache_insert(struct hs_java_entry *entry);
