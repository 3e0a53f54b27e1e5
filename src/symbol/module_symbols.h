/*
 * Finds all names of one module, in this process: the work of a symbolizer's worker for one
 * request.
 *
 * Threads   none.
 * Fails     -ENOMEM. When anything is wrong with the module's files, the table says so as its
 *           reason.
 */
#pragma once

#include "symbol/symbol_request.h"
#include "symbol/symbol_table.h"

/* Fills the table of a request. 0 or -ENOMEM. The caller frees what the table owns. */
int hs_module_symbols_find(const struct hs_symbol_options *options,
                           const struct hs_symbol_request *request,
                           struct hs_symbol_table *ret_table);
