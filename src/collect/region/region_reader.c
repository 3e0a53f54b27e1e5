/*
 * Reads a region that may be hostile: see region_reader.h.
 */
#include "collect/region/region_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"

#define HS_PAGE_BYTES       4096U
#define HS_REGION_BYTES_MAX (UINT64_C(1) << 46) /* half of a process's address space */
/* for memory that the client has handed out but not written yet */
#define HS_REGION_SLACK     (UINT64_C(8) << 20)
#define HS_SECTION_ALIGN    64U
#define HS_HEADER_BYTES_MAX (UINT64_C(1) << 20)
#define HS_ELEM_BYTES_MAX   4096U

/* The header of either version begins with the same fields. */
#define HS_HEADER_COMMON_BYTES offsetof(struct hs_region_header_v2, sections)
/* Version 2 as it was at first. */
#define HS_HEADER_V2_BYTES_MIN offsetof(struct hs_region_header_v2, own_ranges_va)
/* Version 2 without the sections that came later, one after the other. */
#define HS_HEADER_V2_RANGES_END   offsetof(struct hs_region_header_v2, later_sections)
#define HS_HEADER_V2_SECTIONS_END offsetof(struct hs_region_header_v2, python_state)
_Static_assert(HS_HEADER_COMMON_BYTES == offsetof(struct hs_region_header_v1, sections), "common");

/* Reads exactly `bytes`; a file that ends early is broken. */
static int read_at(int fd, uint64_t off, void *ret_data, size_t bytes)
{
    char *to = ret_data;
    while (bytes > 0) {
        ssize_t got = pread(fd, to, bytes, (off_t)off);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            return -EPROTO;
        }
        to += got;
        off += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

/* A descriptor from another process may be anything: a file that shrinks, a file on a file system
 * that never answers. Only memfds have seals, and only on tmpfs do mappings of a memfd never
 * fault. */
static const char *find_file_fault(int fd, uint64_t region_bytes, uint64_t *ret_bytes)
{
    struct stat st;
    struct statfs fs;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK)) {
        return "its memory is not a sealed memfd";
    }
    if (fstatfs(fd, &fs) != 0 || fs.f_type != TMPFS_MAGIC) {
        return "its memory is not ordinary shared memory";
    }
    if (fstat(fd, &st) != 0 || st.st_size < 0 || (uint64_t)st.st_size != region_bytes) {
        return "its memory does not have the size that it claims";
    }
    if (region_bytes > HS_REGION_BYTES_MAX ||
        region_bytes < HS_REGION_HEADER_OFF + HS_HEADER_COMMON_BYTES) {
        return "its memory has an impossible size";
    }
    *ret_bytes = region_bytes;
    return NULL;
}

static const char *find_section_fault(const struct hs_region *region,
                                      struct hs_region_header_v2 *header, unsigned id,
                                      uint64_t *claimed_bytes)
{
    struct hs_section_v1 *section = hs_region_section(header, id);
    uint64_t bytes, end;
    uint32_t known_bytes = hs_section_elem_bytes(id);
    bool may_be_longer = known_bytes >= 8;
    if (section->elem_bytes < known_bytes || section->elem_bytes > HS_ELEM_BYTES_MAX ||
        (section->elem_bytes != known_bytes && (!may_be_longer || section->elem_bytes % 8 != 0))) {
        return "a section has elements of an unknown size";
    }
    if (section->file_off % HS_SECTION_ALIGN != 0 ||
        section->file_off < HS_REGION_HEADER_OFF + header->header_bytes ||
        __builtin_mul_overflow(section->max_count, (uint64_t)section->elem_bytes, &bytes) ||
        __builtin_add_overflow(section->file_off, bytes, &end) || end > region->file_bytes) {
        return "a section does not lie inside its memory";
    }
    /* Writers increment the count before they see that the section is full. */
    if (section->count > section->max_count) {
        section->count = section->max_count;
    }
    *claimed_bytes += section->count * section->elem_bytes; /* each <= file_bytes: no overflow */
    return NULL;
}

static const char *find_version_fault(const struct hs_region_header_v2 *header)
{
    if (header->magic != HS_REGION_MAGIC) {
        return "its memory is not a region";
    }
    if (header->version != 1 && header->version != HS_REGION_VERSION) {
        return "its region has a version that this heapscope cannot read";
    }
    size_t least_bytes =
        header->version == 1 ? sizeof(struct hs_region_header_v1) : HS_HEADER_V2_BYTES_MIN;
    if (header->header_bytes < least_bytes || header->header_bytes > HS_HEADER_BYTES_MAX) {
        return "its region has an impossible header";
    }
    return NULL;
}

/* Of the array in the header. */
static unsigned section_count(const struct hs_region_header_v2 *header)
{
    return header->version == 1 ? HS_SECTION_N_V1 : HS_SECTION_N_V2;
}

static const char *find_content_fault(const struct hs_region *region,
                                      struct hs_region_header_v2 *header)
{
    uint64_t claimed_bytes = 0;
    for (unsigned id = 0; id < section_count(header); id++) {
        const char *why = find_section_fault(region, header, id, &claimed_bytes);
        if (why) {
            return why;
        }
    }
    for (unsigned id = HS_SECTION_N_V2; id < HS_SECTION_N; id++) {
        /* LIFETIMES has holes, and is only ever copied: what it claims is no memory. */
        uint64_t unused = 0;
        uint64_t *claimed = id == HS_SECTION_LIFETIMES ? &unused : &claimed_bytes;
        const char *why = hs_region_section(header, id)->max_count > 0
                              ? find_section_fault(region, header, id, claimed)
                              : NULL;
        if (why) {
            return why;
        }
    }
    if (claimed_bytes > 2 * hs_region_resident_bytes(region) + HS_REGION_SLACK) {
        return "its region claims more data than it holds";
    }
    if (header->interval_count > HS_REGION_INTERVALS) {
        header->interval_count = HS_REGION_INTERVALS;
    }
    header->comm[sizeof(header->comm) - 1] = '\0';
    return NULL;
}

/* Fields that the headers of older clients do not have stay 0. */
static int read_newer_fields(const struct hs_region *region, struct hs_region_header_v2 *header)
{
    if (header->version != HS_REGION_VERSION || header->header_bytes < HS_HEADER_V2_RANGES_END) {
        return 0;
    }
    size_t end = header->header_bytes < sizeof(*header) ? header->header_bytes : sizeof(*header);
    if (end < HS_HEADER_V2_SECTIONS_END) {
        end -= (end - HS_HEADER_V2_RANGES_END) % sizeof(header->later_sections[0]);
    }
    int r = read_at(region->fd, HS_REGION_HEADER_OFF + HS_HEADER_V2_BYTES_MIN,
                    &header->own_ranges_va, end - HS_HEADER_V2_BYTES_MIN);
    for (unsigned id = HS_SECTION_N_V2; id < HS_SECTION_N; id++) {
        struct hs_section_v1 *section = hs_region_section(header, id);
        if (section->max_count == 0) {
            *section = (struct hs_section_v1){ .file_off = 0 };
        }
    }
    return r;
}

static int load_header(struct hs_region *region, const char **ret_why)
{
    struct hs_region_header_v2 header = { .magic = 0 };
    *ret_why = NULL;
    int r = read_at(region->fd, HS_REGION_HEADER_OFF, &header, HS_HEADER_COMMON_BYTES);
    if (r < 0) {
        return r;
    }
    *ret_why = find_version_fault(&header);
    if (!*ret_why) {
        r = read_at(region->fd, HS_REGION_HEADER_OFF + HS_HEADER_COMMON_BYTES, header.sections,
                    section_count(&header) * sizeof(header.sections[0]));
        r = r < 0 ? r : read_newer_fields(region, &header);
        *ret_why = r < 0 ? NULL : find_content_fault(region, &header);
    }
    if (r < 0 || *ret_why) {
        return r < 0 ? r : -EPROTO;
    }
    region->header = header;
    return 0;
}

int hs_region_open(int fd, uint64_t region_bytes, struct hs_region *ret_region,
                   const char **ret_why)
{
    struct hs_region region = { .fd = fd };
    const char *why = find_file_fault(fd, region_bytes, &region.file_bytes);
    int r = why ? -EPROTO : load_header(&region, &why);
    if (r == 0) {
        void *control = mmap(NULL, HS_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                             HS_REGION_CONTROL_OFF);
        if (control == MAP_FAILED) {
            r = errno == EPERM ? -EPROTO : -errno;
            why = "its memory is sealed against writing";
        } else {
            region.control = control;
            *ret_region = region;
        }
    }
    if (r == -EPROTO && ret_why) {
        *ret_why = why ? why : "its memory ends too early";
    }
    return r;
}

void hs_region_close(struct hs_region *region)
{
    if (region->control) {
        munmap(region->control, HS_PAGE_BYTES);
        region->control = NULL;
    }
    if (region->fd >= 0) {
        close(region->fd);
        region->fd = -1;
    }
}

int hs_region_refresh(struct hs_region *region)
{
    const char *why;
    return load_header(region, &why);
}

uint64_t hs_region_resident_bytes(const struct hs_region *region)
{
    struct stat st;
    if (fstat(region->fd, &st) != 0 || st.st_blocks < 0) {
        return 0;
    }
    return (uint64_t)st.st_blocks * 512;
}

const struct hs_section_v1 *hs_region_section_of(const struct hs_region *region,
                                                 enum hs_section_id id)
{
    /* It only finds the place. */
    return hs_region_section((struct hs_region_header_v2 *)(uintptr_t)&region->header, id);
}

uint64_t hs_region_count(const struct hs_region *region, enum hs_section_id id)
{
    return hs_region_section_of(region, id)->count;
}

int hs_region_read(const struct hs_region *region, enum hs_section_id id, uint64_t first,
                   uint64_t count, void *ret_elements)
{
    const struct hs_section_v1 *section = hs_region_section_of(region, id);
    uint32_t known_bytes = hs_section_elem_bytes(id);
    if (first > section->count || count > section->count - first) {
        return -ERANGE;
    }
    uint64_t off = section->file_off + first * section->elem_bytes;
    if (section->elem_bytes == known_bytes) {
        return read_at(region->fd, off, ret_elements, count * known_bytes);
    }
    int r = 0;
    for (uint64_t i = 0; r == 0 && i < count; i++) {
        r = read_at(region->fd, off + i * section->elem_bytes,
                    (char *)ret_elements + i * known_bytes, known_bytes);
    }
    return r;
}

/* Version 1 has the names of its heaps in the header. */
static int read_old_heaps(const struct hs_region *region, struct hs_heap_v2 *ret_heaps)
{
    struct hs_heap_v1 old[HS_REGION_HEAPS_V1];
    int r = read_at(region->fd, HS_REGION_HEADER_OFF + offsetof(struct hs_region_header_v1, heaps),
                    old, sizeof(old));
    for (unsigned i = 0; r == 0 && i < HS_REGION_HEAPS_V1; i++) {
        memcpy(ret_heaps[i].name, old[i].name, sizeof(old[i].name));
        ret_heaps[i].flags = old[i].name[0] ? HS_HEAP_NAMED : 0;
    }
    return r < 0 ? r : HS_REGION_HEAPS_V1;
}

/* Finds out which of `count` elements are whole. */
static int find_named(const struct hs_region *region, uint64_t count,
                      struct hs_heap_v2 room[HS_REGION_HEAPS], bool ret_is_named[HS_REGION_HEAPS])
{
    int r = hs_region_read(region, HS_SECTION_HEAPS, 0, count, room);
    for (uint64_t i = 0; r == 0 && i < count; i++) {
        /* ORDER heap: an element that says so is whole in every later copy. */
        ret_is_named[i] = (hs_load_acquire(&room[i].flags) & HS_HEAP_NAMED) != 0;
    }
    return r;
}

static int read_new_heaps(const struct hs_region *region, struct hs_heap_v2 *ret_heaps)
{
    bool is_named[HS_REGION_HEAPS] = { false };
    uint64_t count = hs_region_count(region, HS_SECTION_HEAPS);
    count = count < HS_REGION_HEAPS ? count : HS_REGION_HEAPS;
    int r = find_named(region, count, ret_heaps, is_named);
    if (r == 0) {
        r = hs_region_read(region, HS_SECTION_HEAPS, 0, count, ret_heaps);
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!is_named[i]) {
            ret_heaps[i] = (struct hs_heap_v2){ .flags = 0 };
        }
    }
    return r < 0 ? r : (int)count;
}

int hs_region_read_heaps(const struct hs_region *region,
                         struct hs_heap_v2 ret_heaps[HS_REGION_HEAPS])
{
    memset(ret_heaps, 0, HS_REGION_HEAPS * sizeof(*ret_heaps));
    int r = region->header.version == 1 ? read_old_heaps(region, ret_heaps)
                                        : read_new_heaps(region, ret_heaps);
    for (int i = 0; i < r; i++) {
        ret_heaps[i].name[sizeof(ret_heaps[i].name) - 1] = '\0';
    }
    return r;
}

int hs_region_read_text(const struct hs_region *region, uint32_t off, size_t max_bytes,
                        char **ret_text)
{
    uint64_t there = hs_region_count(region, HS_SECTION_BYTES);
    uint64_t left = off < there ? there - off : 0;
    size_t want = left < max_bytes ? (size_t)left : max_bytes;
    char *text = malloc(want + 1);
    if (!text) {
        return -ENOMEM;
    }
    if (want > 0 && hs_region_read(region, HS_SECTION_BYTES, off, want, text) < 0) {
        want = 0;
    }
    text[want] = '\0';
    /* Most texts are far shorter than the longest allowed one. */
    char *fitting = realloc(text, strlen(text) + 1);
    *ret_text = fitting ? fitting : text;
    return 0;
}

int hs_region_map_section(const struct hs_region *region, enum hs_section_id id,
                          struct hs_region_map *ret_map)
{
    const struct hs_section_v1 *section = hs_region_section_of(region, id);
    struct hs_region_map map = { .count = section->count, .elem_bytes = section->elem_bytes };
    HS_ASSERT(section->count <= section->max_count &&
              (section->elem_bytes >= hs_section_elem_bytes(id) || section->count == 0) &&
              section->file_off % HS_SECTION_ALIGN == 0);
    if (section->count > 0) {
        uint64_t skip = section->file_off % HS_PAGE_BYTES;
        map.base_bytes = (size_t)(section->count * section->elem_bytes + skip);
        map.base = mmap(NULL, map.base_bytes, PROT_READ, MAP_SHARED, region->fd,
                        (off_t)(section->file_off - skip));
        if (map.base == MAP_FAILED) {
            return -errno;
        }
        map.data = (const char *)map.base + skip;
    }
    *ret_map = map;
    return 0;
}

void hs_region_unmap(struct hs_region_map *map)
{
    if (map->base) {
        munmap(map->base, map->base_bytes);
    }
    *map = (struct hs_region_map){ 0 };
}
