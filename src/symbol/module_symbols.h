/*
 * All names of one module, in this process: what a worker of the symbolizer does for each request.
 *
 * Threads   none.
 * Fails     -ENOMEM. Anything wrong with the module's files is the table's reason.
 */
#pragma once

#include "symbol/symbolizer.h"

int hs_module_symbols_find(const struct hs_symbol_options *options,
                           const struct hs_symbol_request *request,
                           struct hs_symbol_table *ret_table);
