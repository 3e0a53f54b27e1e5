/*
 * Opens a region and hands out its parts, with bounds checked. All of the collector's distrust is
 * here.
 *
 * The file belongs to a process that may be broken, dying or hostile, and that goes on writing
 * while it is read. So everything with a fixed place (header, strings, frames) is copied with
 * pread, and only the copy is used: nothing can change between check and use, and a read of a hole
 * allocates nothing. Only what changes during the read (totals, records, control page) is mapped,
 * and each of its words is loaded once.
 *
 * No number from the file alone decides how much memory is allocated or touched: the sections
 * together may claim at most twice what the file really occupies, plus a fixed slack. The reason is
 * that touching a hole of a mapped memfd allocates a page, and that a sparse file of terabytes is
 * cheap to make.
 *
 * Versions. Both layouts are read, and the header is handed out in the form of version 2: sections
 * that version 1 does not have are empty, and hs_region_read_heaps reads the heaps of either. A
 * section may have longer elements than this program knows: their first fields are those that it
 * knows.
 *
 * Holds     a section that is handed out lies inside the file, is 64-byte aligned, and has elements
 *           at least as long as this program knows them. Mappings never fault: the file is a sealed
 *           memfd on tmpfs.
 * Threads   one region, one thread; the writers are another process.
 * Fails     -EPROTO: not a region that this program can read (ret_why of open has the reason);
 *           otherwise -errno.
 * See       fmt/region_layout.h, docs/FORMAT.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/region_layout.h"
#include "fmt/region_layout_v1.h"

struct hs_heap_selection;

struct hs_record_types;

struct hs_region {
    int fd; /* owned by this struct; -1: closed */
    uint64_t file_bytes;
    struct hs_region_control_v1 *control; /* mapped, shared, writable; never trusted */
    struct hs_region_header_v2 header;    /* a checked copy, from the last open or refresh */
    /* What the session that records it selects, not owned: snapshots leave out samples of other
     * heaps, which a program took before it read the control page. NULL: all heaps. */
    const struct hs_heap_selection *heaps;
    /* This session is the first, and its selection was in force from the first sample on: each heap
     * has had one interval, unless a budget has changed all of them. */
    bool has_one_selection;
    /* For parts by type, not owned. NULL: types are not known. */
    const struct hs_record_types *types;
    /* Snapshots have a list of the live blocks; if block_epoch_max is not 0, of those that were
     * born by the cut of that epoch. */
    bool has_blocks;
    uint64_t block_epoch_max;
};

/* Part of a section, mapped read-only. */
struct hs_region_map {
    const void *data; /* NULL: the section is empty */
    uint64_t count;
    size_t elem_bytes; /* distance of the elements */
    void *base;        /* start of the mapping */
    size_t base_bytes;
};

/* Opens a region, and takes ownership of `fd` on success. `region_bytes`: the size that the hello
 * named. `ret_why` (may be NULL) gets a constant text when the result is -EPROTO. */
int hs_region_open(int fd, uint64_t region_bytes, struct hs_region *ret_region,
                   const char **ret_why);
/* Closes the region. A zeroed struct with fd -1 is allowed. */
void hs_region_close(struct hs_region *region);

/* Copies and checks the header again: counts have grown, the name may have changed. 0, or see
 * Fails. */
int hs_region_refresh(struct hs_region *region);

/* Bytes of memory that the file really occupies; 0 when that cannot be found out. */
uint64_t hs_region_resident_bytes(const struct hs_region *region);

/* Where a section lies, as of the last refresh. max_count 0: the region has no such section. */
const struct hs_section_v1 *hs_region_section_of(const struct hs_region *region,
                                                 enum hs_section_id id);
/* The number of elements of a section, as of the last refresh. */
uint64_t hs_region_count(const struct hs_region *region, enum hs_section_id id);

/* Copies elements [first, first + count) of a section. 0; -ERANGE when they do not all exist; or
 * see Fails. */
int hs_region_read(const struct hs_region *region, enum hs_section_id id, uint64_t first,
                   uint64_t count, void *ret_elements);

/* Copies a NUL-terminated text from the section BYTES, at most `max_bytes` long. An offset or text
 * that makes no sense gives "". The caller frees it. 0 or -ENOMEM. */
int hs_region_read_text(const struct hs_region *region, uint32_t off, size_t max_bytes,
                        char **ret_text);

/* Copies the heaps that have names; the others are zero. Returns how many elements were written, at
 * most HS_REGION_HEAPS, or see Fails. */
int hs_region_read_heaps(const struct hs_region *region,
                         struct hs_heap_v2 ret_heaps[HS_REGION_HEAPS]);

/* Maps a whole section, read-only. 0 or -errno. The caller calls hs_region_unmap. */
int hs_region_map_section(const struct hs_region *region, enum hs_section_id id,
                          struct hs_region_map *ret_map);
/* Removes the mapping. An empty map is allowed. */
void hs_region_unmap(struct hs_region_map *map);

/* Element `i` of a mapped section. */
static inline const void *hs_region_map_at(const struct hs_region_map *map, uint64_t i)
{
    return (const char *)map->data + i * map->elem_bytes;
}
