/*
 * Who this is: the collector may look when the process is long gone.
 *
 * Threads   once for each region, before anybody else knows of it.
 * Fails     what cannot be had, or has no room, stays empty.
 */
#pragma once

#include "client/env.h"
#include "fmt/region_layout.h"

/* From the start of the process. */
void hs_process_info_write(struct hs_region_header_v1 *header, const struct hs_env *env);

/* Of one that runs already: its arguments may have been overwritten, and are for the collector to find out. */
void hs_process_info_write_late(struct hs_region_header_v1 *header);
