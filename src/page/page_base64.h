/*
 * base64 (RFC 4648) between two buffers: a sink of one buffer that writes text into another.
 *
 * Threads   one writer.
 * Fails     as the outer buffer does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hs_buf;

struct hs_page_base64 {
    struct hs_buf *out;
    uint8_t rest[3]; /* bytes that are not yet a whole group */
    unsigned rest_count;
};

/* A hs_buf_sink_fn; ctx is the struct hs_page_base64. */
int hs_page_base64_sink(void *ctx, const void *data, size_t bytes);
/* Writes the last group; call it once, after the last byte. Returns 0 or -errno. */
int hs_page_base64_finish(struct hs_page_base64 *base64);
