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

#include "rt/check.h"

#define HS_PAGE_BYTES       4096U
#define HS_REGION_BYTES_MAX (UINT64_C(1) << 46) /* half of a process's address space */
/* for memory that the client has handed out but not written yet */
#define HS_REGION_SLACK     (UINT64_C(8) << 20)
#define HS_SECTION_ALIGN    64U
#define HS_HEADER_BYTES_MAX (UINT64_C(1) << 20)

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
        region_bytes < HS_REGION_HEADER_OFF + sizeof(struct hs_region_header_v1)) {
        return "its memory has an impossible size";
    }
    *ret_bytes = region_bytes;
    return NULL;
}

static const char *find_section_fault(const struct hs_region *region, unsigned id,
                                      struct hs_section_v1 *section, uint64_t *claimed_bytes)
{
    uint64_t bytes, end;
    if (section->elem_bytes != hs_section_elem_bytes(id)) {
        return "a section has elements of an unknown size";
    }
    if (section->file_off % HS_SECTION_ALIGN != 0 ||
        section->file_off < HS_REGION_HEADER_OFF + sizeof(struct hs_region_header_v1) ||
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

static const char *find_header_fault(const struct hs_region *region,
                                     struct hs_region_header_v1 *header)
{
    uint64_t claimed_bytes = 0;
    if (header->magic != HS_REGION_MAGIC) {
        return "its memory is not a region";
    }
    if (header->version != HS_REGION_VERSION) {
        return "its region has a version that this heapscope cannot read";
    }
    if (header->header_bytes < sizeof(*header) || header->header_bytes > HS_HEADER_BYTES_MAX) {
        return "its region has an impossible header";
    }
    for (unsigned id = 0; id < HS_SECTION_N; id++) {
        const char *why = find_section_fault(region, id, &header->sections[id], &claimed_bytes);
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
    for (unsigned i = 0; i < HS_REGION_HEAPS; i++) {
        header->heaps[i].name[sizeof(header->heaps[i].name) - 1] = '\0';
    }
    return NULL;
}

static int load_header(struct hs_region *region, const char **ret_why)
{
    struct hs_region_header_v1 header;
    int r = read_at(region->fd, HS_REGION_HEADER_OFF, &header, sizeof(header));
    if (r < 0) {
        return r;
    }
    *ret_why = find_header_fault(region, &header);
    if (*ret_why) {
        return -EPROTO;
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

uint64_t hs_region_count(const struct hs_region *region, enum hs_section_id id)
{
    return region->header.sections[id].count;
}

int hs_region_read(const struct hs_region *region, enum hs_section_id id, uint64_t first,
                   uint64_t count, void *ret_elements)
{
    const struct hs_section_v1 *section = &region->header.sections[id];
    if (first > section->count || count > section->count - first) {
        return -ERANGE;
    }
    return read_at(region->fd, section->file_off + first * section->elem_bytes, ret_elements,
                   count * section->elem_bytes);
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
    const struct hs_section_v1 *section = &region->header.sections[id];
    struct hs_region_map map = { .count = section->count };
    HS_ASSERT(section->count <= section->max_count &&
              section->elem_bytes == hs_section_elem_bytes(id) &&
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
