/*
 * Writes unwind tables into a region, for the client: the one section that the collector writes.
 *
 * A table is written behind those that are there, and then published in the control page; the
 * client's threads notice it at their next allocation, as they notice a change of settings. The
 * part in use is never changed. Another collector goes on behind it.
 *
 * Threads   one writer.
 * Fails     -ENOSPC: the section has no room, or the client is an older one without the section;
 *           otherwise -errno of writing.
 * See       fmt/unwind_table_layout.h
 */
#pragma once

#include <stdint.h>

#include "collect/region/region_reader.h"
#include "fmt/unwind_table_layout.h"

/* The size of the section, and the part of it that is in use, in bytes. 0: there is none. */
uint64_t hs_region_tables_size(const struct hs_region *region);
uint64_t hs_region_tables_used(const struct hs_region *region);

/* Writes a table at `off` in the section, behind the part in use: `bytes` of it, a multiple of 8.
 * The client does not see it before it is published. 0 or -errno. */
int hs_region_tables_write(const struct hs_region *region, uint64_t off, const void *table,
                           uint64_t bytes);

/* Publishes what was written up to `used_bytes`. */
void hs_region_tables_publish(struct hs_region *region, uint64_t used_bytes);

/* Copies the header of the table at *off, and moves *off to the next one. -ENOENT: there is none;
 * -EBADMSG: what is there is not a table. */
int hs_region_tables_next(const struct hs_region *region, uint64_t *off,
                          struct hs_unwind_table_v2 *ret_head);
