/*
 * How far link-time addresses of a module's code are from the offsets in its file.
 *
 * Whoever knows only the line of /proc/PID/maps that an address is in can tell its offset in the file. Names are
 * looked up by link-time address, which most linkers, but not all, make the same number; a program that is
 * not position independent never has it so. The file's own segment table knows.
 *
 * Threads   no state.
 * Fails     -errno of opening, -ENOENT when no executable segment holds the offset.
 */
#pragma once

#include <stdint.h>

/* link-time address = offset in the file + *ret_shift, for code at `file_off`. */
int hs_elf_shift(const char *path, uint64_t file_off, uint64_t *ret_shift);
