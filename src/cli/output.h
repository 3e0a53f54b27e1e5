/*
 * The output of a command: the file of its -o, or standard output.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdint.h>

struct hs_buf;

/* Opens the output that `path` names, calls `fill` to write it, and gives the file its name when it
 * is complete. 0 or -errno: what `fill` returned, or an error of writing. ret_bytes: NULL, or the
 * number of bytes written. */
int hs_output_write(const char *path, int (*fill)(void *ctx, struct hs_buf *buf), void *ctx,
                    uint64_t *ret_bytes);

/* Returns the exit status for `err`, after a message about a failure. A reader that went away (`|
 * head`) is not an error. */
int hs_output_end(const char *path, int err);
