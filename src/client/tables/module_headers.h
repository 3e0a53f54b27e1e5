/*
 * What the headers of a loaded object say about it, read in the memory of the process.
 *
 * Threads   any, while the object stays loaded.
 * Fails     never: what the headers do not say, or cannot be read, stays as it was.
 */
#pragma once

#include <stdint.h>

#include "fmt/region_layout.h"
#include "unwind/module.h"

/* Fills in what comes from program headers: in *module, whose addresses are set, the executable
 * segment and the build id; in *unwind where code and unwind information are. `eh_frame_va`: where
 * the loader says that the latter is; 0: it does not. */
void hs_module_headers_describe(uint64_t eh_frame_va, struct hs_module_v1 *module,
                                struct hs_unwind_module *unwind);
