/*
 * How V8's memory is read: a function that its user provides. In the target it reads the process's
 * own memory, where that can be read; in tests it reads an image.
 *
 * Trust     nothing that is read is trusted: pointers may lead anywhere, so every read is one of
 *           these, and may fail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_js_memory {
    /* Copies the bytes at `va`. False: not all of them can be read. */
    bool (*read)(void *ctx, uint64_t va, void *ret_bytes, size_t byte_count);
    void *ctx;
};
