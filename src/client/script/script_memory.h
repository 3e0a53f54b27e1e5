/*
 * Reading the memory of an interpreter that runs in this process.
 *
 * A sample may be taken while the interpreter changes its structures, and a table of offsets may be
 * wrong for an interpreter that was built otherwise. So a pointer is followed only to a page that
 * can be read (client/host/readable_pages.h).
 *
 * A caller that wants to keep what a reader found asks for a list of the words that it read: as
 * long as these words are the same, the reader would find the same again.
 *
 * Tests give `look` another meaning, and the readers an image of memory instead of memory.
 *
 * Threads   one.
 * Fails     NULL or false: it cannot be read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "client/host/readable_pages.h"
#include "rt/base.h"

/* A word of memory, and which of its bits were read. */
struct hs_script_read {
    uint64_t va; /* a multiple of 8 */
    uint64_t value;
    uint64_t mask;
};

/* A description that depends on more is not kept. */
#define HS_SCRIPT_READS_MAX 256U

/* Each word that was read, once. */
struct hs_script_reads {
    bool is_broken; /* there were more, or some memory could not be read */
    uint32_t count;
    struct hs_script_read list[HS_SCRIPT_READS_MAX];
};

struct hs_script_memory;

/* Where `bytes` bytes at `va` can be read, now. NULL: nowhere. */
typedef const void *hs_script_look_fn(struct hs_script_memory *memory, uint64_t va, uint32_t bytes);

struct hs_script_memory {
    hs_script_look_fn *look;
    struct hs_readable_pages *pages; /* of this process's memory; NULL: it is other memory */
    struct hs_script_reads *reads;   /* NULL: nobody wants a list */
    struct hs_script_reads *others;  /* a second list: see hs_script_change_list */
};

/* The memory of this process. */
void hs_script_memory_init(struct hs_script_memory *memory, struct hs_readable_pages *pages);

/* Empties a list. */
void hs_script_reads_begin(struct hs_script_reads *reads);

/* Adds bytes to memory->reads, or notes there that they cannot be read. */
void hs_script_note(struct hs_script_memory *memory, uint64_t va, uint32_t bytes);

/* From here on, the other list is written: once for the beginning, once for the end of what many
 * places have in common (the name of a file). */
static inline void hs_script_change_list(struct hs_script_memory *memory)
{
    struct hs_script_reads *reads = memory->reads;
    memory->reads = memory->others;
    memory->others = reads;
}

/* --- hot -------------------------------------------------------------------------------------- */

/* hs_script_at for bytes that the caller lists itself. */
static inline const void *hs_script_peek(struct hs_script_memory *memory, uint64_t va,
                                         uint32_t bytes)
{
    return memory->pages && bytes != 0 ? hs_readable_pages_at(memory->pages, va, bytes)
                                       : memory->look(memory, va, bytes);
}

static inline const void *hs_script_at(struct hs_script_memory *memory, uint64_t va, uint32_t bytes)
{
    if (hs_unlikely(memory->reads != NULL)) {
        hs_script_note(memory, va, bytes);
    }
    return hs_script_peek(memory, va, bytes);
}

/* Copies a value of up to 8 bytes, zero-extended. */
static inline bool hs_script_read(struct hs_script_memory *memory, uint64_t va, uint32_t bytes,
                                  uint64_t *ret_value)
{
    const void *at = hs_script_at(memory, va, bytes);
    uint64_t value = 0;
    if (at) {
        memcpy(&value, at, bytes);
        *ret_value = value;
    }
    return at != NULL;
}

/* A value that is 0 where it cannot be read. */
static inline uint64_t hs_script_word(struct hs_script_memory *memory, uint64_t va)
{
    uint64_t value = 0;
    hs_script_read(memory, va, 8, &value);
    return value;
}

static inline uint32_t hs_script_half(struct hs_script_memory *memory, uint64_t va)
{
    uint64_t value = 0;
    hs_script_read(memory, va, 4, &value);
    return (uint32_t)value;
}

static inline uint8_t hs_script_byte(struct hs_script_memory *memory, uint64_t va)
{
    uint64_t value = 0;
    hs_script_read(memory, va, 1, &value);
    return (uint8_t)value;
}
