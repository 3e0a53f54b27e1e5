/*
 * Converts offsets in a module's file into link-time addresses.
 *
 * A reader that knows only the line of /proc/PID/maps with an address can compute the offset in the
 * file. Names are looked up by link-time address. Most linkers make the two equal, but not all, and
 * in a program that is not position independent they always differ. The segment table of the file
 * has the difference.
 *
 * Threads   no state.
 * Fails     -errno of opening; -ENOENT when no executable segment contains the offset.
 */
#pragma once

#include <stdint.h>

/* Link-time address = offset in the file + *ret_shift, for code at `file_off`. */
int hs_elf_shift(const char *path, uint64_t file_off, uint64_t *ret_shift);
