/*
 * How the memory of a JVM is read: a function that its user provides. In the target it reads the
 * process's own memory, where that can be read; in tests it reads an image.
 *
 * Trust     nothing that is read is trusted: pointers may lead anywhere, so every read is one of
 *           these, and may fail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_hotspot_memory {
    /* Copies the bytes at `va`. False: not all of them can be read. */
    bool (*read)(void *ctx, uint64_t va, void *ret_bytes, size_t byte_count);
    void *ctx;
};

/* Reads bytes. */
static inline bool hs_hotspot_read(const struct hs_hotspot_memory *memory, uint64_t va,
                                   void *ret_bytes, size_t byte_count)
{
    return va != 0 && memory->read(memory->ctx, va, ret_bytes, byte_count);
}

/* Reads a number of 64 bits. */
static inline bool hs_hotspot_word(const struct hs_hotspot_memory *memory, uint64_t va,
                                   uint64_t *ret_word)
{
    return hs_hotspot_read(memory, va, ret_word, sizeof(*ret_word));
}

/* Reads a number of 32 bits. */
static inline bool hs_hotspot_int(const struct hs_hotspot_memory *memory, uint64_t va,
                                  uint32_t *ret_int)
{
    return hs_hotspot_read(memory, va, ret_int, sizeof(*ret_int));
}
