/*
 * Makes the unwind table of a module (fmt/unwind_table_layout.h) from its files: from an .eh_frame
 * without a header, from .debug_frame in the module or in its debug file, or from .debug_frame or
 * .eh_frame in its mini debug info. The first of these that covers code which the module's own
 * .eh_frame does not cover is taken.
 *
 * The table has entries for that code only; the section goes into it as it is.
 *
 * Requires  a process of its own (table_worker.h): the files are mapped, and a file that becomes
 *           shorter meanwhile ends the process.
 * Threads   no state.
 * Fails     never as a whole: the result says why there is no table.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "collect/unwind_tables/module_file.h"
#include "fmt/unwind_table_layout.h"
#include "symbol/symbol_request.h"
#include "trace/unwind_source.h"
#include "util/buf.h"

/* A module of a process. */
struct hs_table_request {
    pid_t pid;
    const char *path; /* as the process sees it */
    uint64_t inode;
    uint64_t bias_va;
};

/* Makes the table in `table`, which is empty before, and of which `err` is 0 afterwards. It stays
 * empty unless the result is HS_UNWIND_REASON_NONE. */
enum hs_unwind_reason hs_table_make(const struct hs_table_request *request,
                                    const struct hs_symbol_options *options, struct hs_buf *table,
                                    enum hs_unwind_table_source *ret_source);
