/*
 * The types of a recorded process's live blocks as a program, for tests.
 *
 *     hs-types COLLECTOR_PID PID [MS]
 *
 * Opens the region of process PID among the descriptors of its collector, takes the records of all
 * live blocks, and prints a line `count TAB bytes TAB c++|python TAB name` for each type. Then
 * follows a line that begins with `#`: what was found of how many blocks, and the CPU time of
 * reading the records and of finding the types, in microseconds. A block whose record has changed
 * meanwhile has no type.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/ledger/address_space.h"
#include "collect/region/live_records.h"
#include "collect/types/block_types.h"
#include "rt/clock.h"

static bool open_region(const char *folder, const char *name, long pid, struct hs_region *region)
{
    char path[512], link[512] = "";
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (readlink(path, link, sizeof(link) - 1) < 0 || strncmp(link, "/memfd:", 7) != 0) {
        return false;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0 ||
        hs_region_open(fd, (uint64_t)status.st_size, region, NULL) < 0) {
        return false;
    }
    return region->header.pid == pid;
}

static bool find_region(const char *collector, long pid, struct hs_region *region)
{
    char folder[64];
    bool is_found = false;
    snprintf(folder, sizeof(folder), "/proc/%s/fd", collector);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && !is_found && (entry = readdir(dir));) {
        is_found = open_region(folder, entry->d_name, pid, region);
    }
    return is_found;
}

struct taken {
    struct hs_typed_block *blocks;
    uint64_t *indices, *words; /* of the records */
    size_t count;
};

static void take_records(const struct hs_live_records *records, struct taken *taken)
{
    struct hs_live_record live;
    uint64_t count = records->records.count + 1;
    taken->blocks = calloc(count, sizeof(*taken->blocks));
    taken->indices = calloc(count, sizeof(*taken->indices));
    taken->words = calloc(count, sizeof(*taken->words));
    for (uint64_t i = 0; i < records->records.count; i++) {
        if (hs_live_record_view(records, i, &live)) {
            taken->blocks[taken->count] = (struct hs_typed_block){ live.va, live.size_bytes, 0 };
            taken->indices[taken->count] = i;
            taken->words[taken->count++] = live.word;
        }
    }
}

static void print(const struct hs_block_types *types, const struct hs_live_records *records,
                  const struct taken *taken)
{
    uint32_t name_count = hs_type_names_count(&types->names);
    uint64_t *counts = calloc(name_count + 1, sizeof(*counts));
    uint64_t *bytes = calloc(name_count + 1, sizeof(*bytes));
    for (size_t i = 0; i < taken->count; i++) {
        struct hs_live_record live;
        bool is_same = hs_live_record_view(records, taken->indices[i], &live) &&
                       live.word == taken->words[i] && live.va == taken->blocks[i].va;
        uint32_t idx = is_same ? taken->blocks[i].type_idx : 0;
        counts[idx]++;
        bytes[idx] += taken->blocks[i].size_bytes;
    }
    for (uint32_t i = 1; i <= name_count; i++) {
        printf("%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n", counts[i], bytes[i],
               hs_type_names_language(&types->names, i) == HS_TYPE_CXX ? "c++" : "python",
               hs_type_names_text(&types->names, i));
    }
}

int main(int argc, char **argv)
{
    struct hs_region region;
    struct hs_live_records records;
    struct hs_address_space space;
    struct hs_block_types types = { 0 };
    struct taken taken = { .count = 0 };
    long pid = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (argc < 3 || !find_region(argv[1], pid, &region) || hs_region_refresh(&region) < 0 ||
        hs_live_records_open(&region, &records) < 0) {
        fprintf(stderr, "hs-types: there is no region of process %ld\n", pid);
        return 1;
    }
    uint64_t start_ns = hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    take_records(&records, &taken);
    uint64_t taken_ns = hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t max_ns = argc > 3 ? strtoull(argv[3], NULL, 10) * UINT64_C(1000000) : 0;
    int r = hs_address_space_read((pid_t)pid, &space);
    r = r == 0 ? hs_block_types_read((pid_t)pid, &space, taken.blocks, taken.count, max_ns, &types)
               : r;
    uint64_t found_ns = hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (r < 0) {
        fprintf(stderr, "hs-types: process %ld: %s\n", pid, strerror(-r));
        return 1;
    }
    print(&types, &records, &taken);
    const struct hs_block_type_counts *counts = &types.counts;
    printf("# looked %" PRIu64 " named %" PRIu64 " unknown %" PRIu64 " unreadable %" PRIu64
           " late %" PRIu64 " records_us %" PRIu64 " types_us %" PRIu64 " search_us %" PRIu64 "\n",
           counts->looked_count, counts->named_count, counts->unknown_count,
           counts->unreadable_count, counts->late_count, (taken_ns - start_ns) / 1000,
           (found_ns - taken_ns) / 1000, counts->cpu_ns / 1000);
    return 0;
}
