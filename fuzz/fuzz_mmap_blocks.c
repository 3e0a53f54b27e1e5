/*
 * Fuzz target: ranges that a hostile process has recorded for the heap `mmap`, compared with its
 * mappings.
 *
 * The input is a list of 8 bytes each: a mapping (how far it lies behind the one before, its length
 * and what it is) or a range (its first page, its length, its stack; or an end of any value). The
 * parts that count must lie in order, each inside one anonymous mapping and inside a range, and the
 * stacks must add up to them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "collect/ledger/mmap_blocks.h"

#define BASE        UINT64_C(0x7f0000000000)
#define PAGE_BYTES  UINT64_C(4096)
#define MAPPINGS    256U
#define RANGES      256U
#define ENTRY_BYTES 8U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
    "", "[heap]", "[anon: x]", "/dev/zero (deleted)", "/lib/a.so", "[stack]", "/memfd:x (deleted)"
};

static uint16_t half(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static void add_mapping(struct hs_address_space *space, const uint8_t *at)
{
    uint64_t last_va = space->count ? space->items[space->count - 1].end_va : BASE;
    unsigned kind = at[1] % HS_COUNT_OF(paths);
    struct hs_mapping *mapping = &space->items[space->count++];
    *mapping = (struct hs_mapping){ .start_va = last_va + at[2] * PAGE_BYTES,
                                    .inode = kind == 3 || kind == 4 || kind == 6 };
    mapping->end_va = mapping->start_va + (1 + (uint64_t)half(at + 4)) * PAGE_BYTES;
    for (unsigned i = 0; i < kind; i++) {
        mapping->path_off += strlen(paths[i]) + 1;
    }
}

static void add_range(struct hs_mmap_blocks *ranges, const uint8_t *at)
{
    struct hs_mmap_block *range = &ranges->items[ranges->count++];
    *range = (struct hs_mmap_block){ .start_va = BASE + half(at + 2) * PAGE_BYTES + at[6] % 2,
                                     .stack_id = at[1] % 8 };
    range->end_va = range->start_va + half(at + 4) * PAGE_BYTES + at[6] / 2;
    if (at[6] == 255) { /* an end of any value; the reader accepts only those behind the start */
        range->end_va = UINT64_MAX - at[7];
    }
}

static void take(const uint8_t *data, size_t size, struct hs_address_space *space,
                 struct hs_mmap_blocks *ranges)
{
    for (; size >= ENTRY_BYTES; data += ENTRY_BYTES, size -= ENTRY_BYTES) {
        if (data[0] % 2 == 0 && space->count < MAPPINGS) {
            add_mapping(space, data);
        } else if (data[0] % 2 == 1 && ranges->count < RANGES) {
            add_range(ranges, data);
        }
    }
}

static bool is_inside(const struct hs_mmap_block *part, const struct hs_mmap_blocks *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const struct hs_mmap_block *range = &ranges->items[i];
        if (part->start_va >= range->start_va && part->end_va <= range->end_va &&
            part->stack_id == range->stack_id) {
            return true;
        }
    }
    return false;
}

static void check_parts(const struct hs_address_space *space, const struct hs_mmap_blocks *ranges,
                        struct hs_mmap_blocks *parts)
{
    uint64_t end_va = 0;
    for (size_t i = 0; i < parts->count; i++) {
        struct hs_mmap_block *part = &parts->items[i];
        const struct hs_mapping *mapping = hs_address_space_find(space, part->start_va);
        check(part->start_va >= end_va && part->start_va < part->end_va);
        check(mapping && part->end_va <= mapping->end_va);
        const char *path = hs_mapping_path(space, mapping);
        check(strcmp(path, "/lib/a.so") != 0 && strcmp(path, "[stack]") != 0);
        check(is_inside(part, ranges));
        end_va = part->end_va;
        part->rss_bytes = (part->end_va - part->start_va) / 2;
    }
}

static void check_stacks(const struct hs_mmap_blocks *parts)
{
    struct hs_ledger_stack *stacks;
    uint32_t count;
    uint64_t bytes = 0, ranges = 0, sum_bytes = 0;
    check(hs_mmap_blocks_by_stack(parts, &stacks, &count) == 0 && count <= 8);
    for (uint32_t i = 0; i < count; i++) {
        check(i == 0 || stacks[i].rss_bytes <= stacks[i - 1].rss_bytes);
        bytes += stacks[i].size_bytes;
        ranges += stacks[i].count;
    }
    for (size_t i = 0; i < parts->count; i++) {
        sum_bytes += parts->items[i].end_va - parts->items[i].start_va;
    }
    check(ranges == parts->count && bytes == sum_bytes);
    free(stacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_mapping mappings[MAPPINGS];
    struct hs_mmap_block recorded[RANGES];
    struct hs_address_space space = { .items = mappings, .paths = HS_BUF_INIT };
    struct hs_mmap_blocks ranges = { .items = recorded }, parts = { 0 };
    for (size_t i = 0; i < HS_COUNT_OF(paths); i++) {
        hs_buf_add(&space.paths, paths[i], strlen(paths[i]) + 1);
    }
    take(data, size, &space, &ranges);
    check(hs_mmap_blocks_clip(&space, &ranges, &parts) == 0);
    check_parts(&space, &ranges, &parts);
    check_stacks(&parts);
    hs_mmap_blocks_deinit(&parts);
    hs_buf_deinit(&space.paths);
    return 0;
}
