/*
 * What a command writes to the file of its -o, or to standard output.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdint.h>

struct hs_buf;

/* Opens what `path` names, has it filled by `fill`, and gives it its name when it is whole. 0 or -errno: what `fill`
 * returns, or what writing met. ret_bytes: NULL, or how much was written. */
int hs_output_write(const char *path, int (*fill)(void *ctx, struct hs_buf *buf), void *ctx,
                    uint64_t *ret_bytes);

/* The exit status; a failure is told. A reader that went away (`| head`) is not worth a word. */
int hs_output_end(const char *path, int err);
