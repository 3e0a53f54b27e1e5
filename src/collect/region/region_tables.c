/*
 * See region_tables.h.
 */
#include "collect/region/region_tables.h"

#include <errno.h>
#include <unistd.h>

#include "collect/region/region_control.h"
#include "rt/atomic.h"
#include "rt/check.h"

uint64_t hs_region_tables_size(const struct hs_region *region)
{
    return hs_region_section_of(region, HS_SECTION_UNWIND_TABLES)->max_count;
}

/* As the control page says, if that can be. */
uint64_t hs_region_tables_used(const struct hs_region *region)
{
    uint64_t used_bytes = hs_load_relaxed(&region->control->unwind_tables_bytes);
    uint64_t size_bytes = hs_region_tables_size(region);
    return used_bytes % 8 == 0 && used_bytes < size_bytes ? used_bytes : size_bytes;
}

int hs_region_tables_write(const struct hs_region *region, uint64_t off, const void *table,
                           uint64_t bytes)
{
    const char *from = table;
    uint64_t size_bytes = hs_region_tables_size(region);
    HS_ASSERT(bytes % 8 == 0);
    if (off > size_bytes || bytes > size_bytes - off) {
        return -ENOSPC;
    }
    off += hs_region_section_of(region, HS_SECTION_UNWIND_TABLES)->file_off;
    while (bytes > 0) {
        ssize_t written = pwrite(region->fd, from, bytes, (off_t)off);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? -errno : -EIO;
        }
        from += written;
        off += (uint64_t)written;
        bytes -= (uint64_t)written;
    }
    return 0;
}

void hs_region_tables_publish(struct hs_region *region, uint64_t used_bytes)
{
    if (used_bytes > hs_region_tables_used(region) && used_bytes <= hs_region_tables_size(region)) {
        /* ORDER unwind-tables: the tables before their size. */
        hs_store_release(&region->control->unwind_tables_bytes, used_bytes);
        hs_region_control_announce(region);
    }
}

int hs_region_tables_next(const struct hs_region *region, uint64_t *off,
                          struct hs_unwind_table_v2 *ret_head)
{
    uint64_t end = hs_region_tables_used(region);
    if (*off >= end || end - *off < sizeof(*ret_head)) {
        return -ENOENT;
    }
    ssize_t got =
        pread(region->fd, ret_head, sizeof(*ret_head),
              (off_t)(hs_region_section_of(region, HS_SECTION_UNWIND_TABLES)->file_off + *off));
    if (got != (ssize_t)sizeof(*ret_head) || ret_head->table_bytes < sizeof(*ret_head) ||
        ret_head->table_bytes % 8 != 0 || ret_head->table_bytes > end - *off ||
        ret_head->build_id_bytes > sizeof(ret_head->build_id)) {
        return -EBADMSG;
    }
    *off += ret_head->table_bytes;
    return 0;
}
