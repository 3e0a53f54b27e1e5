/*
 * The symbolizer finds functions, files and lines for addresses in modules.
 *
 * One call handles all modules of a profile, because the work is distributed over worker processes,
 * one module at a time. Workers are processes, not threads, because the files are as untrusted as
 * the target, and neither libelf nor libdw nor a demangler promises to survive every file. A worker
 * that crashes, needs too much memory or does not end is killed and costs the names of one module;
 * the profile is still written. What a worker sends back is checked like any other foreign data.
 *
 * Build ids decide: a file is used when its build id is the recorded one. When none was recorded,
 * the file at the path is used as it is. debug_files.h says where files are looked for.
 *
 * Requires  addresses are link-time addresses (run-time address minus load bias), and for frames
 *           that are not the innermost they already point into the call. For JIT code they are
 *           run-time addresses.
 * Threads   the caller's; the call blocks until all is done or the time is over. Uses fork().
 * Fails     -ENOMEM and errors of fork or pipe; a problem with a module is reported in its table.
 * See       docs/SYMBOLS.md
 */
#pragma once

#include <stddef.h>

#include "symbol/symbol_request.h"
#include "symbol/symbol_table.h"

/*
 * Looks up all addresses of all modules. *ret_tables receives `count` tables in the order of the
 * requests, with spans in the order of each request's addresses; hs_symbol_tables_free() frees
 * them. `options` may be NULL.
 */
int hs_symbolizer_run(const struct hs_symbol_options *options,
                      const struct hs_symbol_request *requests, size_t count,
                      struct hs_symbol_table **ret_tables);

/* Frees tables of hs_symbolizer_run(). NULL is fine. */
void hs_symbol_tables_free(struct hs_symbol_table *tables, size_t count);
