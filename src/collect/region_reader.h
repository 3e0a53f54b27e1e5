/*
 * Opens a region and hands out its parts, bounds-checked. All the distrust of the collector lives here.
 *
 * The file belongs to a process that may be broken, dying or hostile, and goes on writing while we
 * read. So: what has a fixed place (header, strings, frames) is copied out with pread, and only the
 * copy is looked at: nothing can change between check and use, and a read of a hole allocates
 * nothing. Only what changes while we look (totals, records, control page) is mapped, and each word
 * of it is loaded once.
 *
 * No number from the file decides alone how much we allocate or touch: together the sections may
 * claim at most twice what the file really occupies plus a fixed slack, since touching a hole of a
 * mapped memfd allocates a page, and a sparse file of terabytes is cheap to make.
 *
 * Holds     a section handed out lies inside the file, is 64-byte aligned and has elements of the
 *           size we were compiled with. Mappings never fault: the file is a sealed memfd on tmpfs.
 * Threads   one region, one thread; the writers are another process.
 * Fails     -EPROTO not a region that we can read (reason in ret_why of open), -errno else.
 * See       fmt/region_layout.h, docs/FORMAT.md
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fmt/region_layout.h"

struct hs_region {
    int fd; /* owned; -1: closed */
    uint64_t file_bytes;
    struct hs_region_control_v1 *control; /* mapped, shared, writable; never trusted */
    struct hs_region_header_v1 header;    /* a checked copy, as of the last open or refresh */
};

/* Part of a section, mapped read-only. */
struct hs_region_map {
    const void *data; /* NULL: empty */
    uint64_t count;
    void *base; /* of the mapping */
    size_t base_bytes;
};

/* Takes ownership of `fd` on success. `region_bytes`: what the hello said. `ret_why` (may be NULL)
 * gets a constant text when the answer is -EPROTO. */
int hs_region_open(int fd, uint64_t region_bytes, struct hs_region *ret_region,
                   const char **ret_why);
/* Fine on a zeroed struct with fd -1. */
void hs_region_close(struct hs_region *region);

/* Copies and checks the header again: counts have grown, the name may have changed. */
int hs_region_refresh(struct hs_region *region);

/* Bytes of memory the file really takes; 0 when that cannot be asked. */
uint64_t hs_region_resident_bytes(const struct hs_region *region);

/* Elements of a section as of the last refresh. */
uint64_t hs_region_count(const struct hs_region *region, enum hs_section_id id);

/* Copies elements [first, first + count). -ERANGE when they aren't all there. */
int hs_region_read(const struct hs_region *region, enum hs_section_id id, uint64_t first,
                   uint64_t count, void *ret_elements);

/* Copies a NUL-terminated text from BYTES, at most `max_bytes` long; an offset or text that makes no
 * sense gives "". The caller frees it. -ENOMEM. */
int hs_region_read_text(const struct hs_region *region, uint32_t off, size_t max_bytes,
                        char **ret_text);

int hs_region_map_section(const struct hs_region *region, enum hs_section_id id,
                          struct hs_region_map *ret_map);
void hs_region_unmap(struct hs_region_map *map);
