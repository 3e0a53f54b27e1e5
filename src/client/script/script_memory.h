/*
 * Reading the memory of an interpreter that runs in this process.
 *
 * A sample may be taken while the interpreter changes its structures, and a table of offsets may be
 * wrong for an interpreter that was built otherwise. So a pointer is followed only to a page that
 * can be read (client/host/readable_pages.h).
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

struct hs_readable_pages;

struct hs_script_memory {
    /* Where `bytes` bytes at `va` can be read, now. NULL: nowhere. */
    const void *(*look)(struct hs_script_memory *memory, uint64_t va, uint32_t bytes);
    struct hs_readable_pages *pages; /* look's */
};

/* The memory of this process. */
void hs_script_memory_init(struct hs_script_memory *memory, struct hs_readable_pages *pages);

/* --- hot -------------------------------------------------------------------------------------- */

static inline const void *hs_script_at(struct hs_script_memory *memory, uint64_t va, uint32_t bytes)
{
    return memory->look(memory, va, bytes);
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
