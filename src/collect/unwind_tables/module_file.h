/*
 * The file of a module, as far as its headers and its .eh_frame go: which code it has, and how much
 * of that its .eh_frame covers. Of a large module only the index of .eh_frame is read, if that
 * names functions everywhere.
 *
 * Every program has a few rules in its .eh_frame, from the C library's start-up code. So what
 * counts is the share of code that the rules cover, and not whether there is a section.
 *
 * Trust     the file is foreign: it is read, not mapped (it may become shorter at any moment), and
 *           all sizes are bounded.
 * Threads   no state.
 * Fails     -errno; -ENOEXEC: it is not a file of this processor's programs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fmt/unwind_table_layout.h"

#define HS_MODULE_FILE_CODES_MAX 16U

/* Link-time addresses of code: [start_sva, end_sva). */
struct hs_code_range {
    uint64_t start_sva, end_sva;
};

struct hs_module_file {
    /* The first executable segment: as in struct hs_module_v1. */
    uint64_t exec_off, exec_sva, exec_bytes;
    uint8_t build_id[HS_UNWIND_TABLE_BUILD_ID_BYTES]; /* its first bytes, if it is longer */
    uint8_t build_id_bytes;
    /* Sections with code; without section headers, segments. */
    struct hs_code_range codes[HS_MODULE_FILE_CODES_MAX];
    uint32_t code_count;
    struct hs_code_range *covered; /* by FDEs of .eh_frame, in the order of addresses; owned */
    size_t covered_count;
    uint64_t code_bytes;
    bool is_dense; /* it is large, and its .eh_frame was not read: it is for all of its code */
};

/* Opens the file at `path` as `pid` sees it, if it is the one with the number `inode`. `ret_path`
 * gets the path by which this process can open it. The descriptor, or -errno; -ESTALE: there is
 * another file now. */
int hs_module_file_open(pid_t pid, const char *path, uint64_t inode, char *ret_path,
                        size_t ret_path_bytes);

/* Reads the open file. The caller frees it with hs_module_file_deinit(). 0 or -errno. */
int hs_module_file_read(int fd, struct hs_module_file *ret_file);
void hs_module_file_deinit(struct hs_module_file *file);

/* Is there code, more than a little, that .eh_frame does not cover? */
bool hs_module_file_has_gaps(const struct hs_module_file *file);

/* Does an FDE of .eh_frame cover this address? */
bool hs_module_file_is_covered(const struct hs_module_file *file, uint64_t sva);
