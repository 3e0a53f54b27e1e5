/*
 * Writes a description of the process to its region, because the collector may read the region long
 * after the process has ended.
 *
 * Threads   once for each region, before another process or thread knows of it.
 * Fails     what cannot be found, or has no room, stays empty.
 */
#pragma once

#include "client/host/env.h"
#include "fmt/region_layout.h"

/* Describes a process that has just started. */
void hs_process_info_write(struct hs_region_header_v2 *header, const struct hs_env *env);

/* Describes a process that runs already: its arguments may have been overwritten, and the collector
 * finds them out. */
void hs_process_info_write_late(struct hs_region_header_v2 *header);
