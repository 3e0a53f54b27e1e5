/*
 * Fuzz target: memory in which the ledger looks for owners. The input is the memory; in it, a word
 * whose upper half is BASE_MARK stands for an address of that memory. Pages of V8, tables of
 * jemalloc, pools of pymalloc, segments of mimalloc and the client's own list are looked for.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/ledger/client_ranges.h"
#include "collect/ledger/jemalloc_memory.h"
#include "collect/ledger/mimalloc_segments.h"
#include "collect/ledger/pymalloc_memory.h"
#include "collect/ledger/residency.h"
#include "collect/ledger/v8_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_BYTES UINT64_C(0x400000)
#define MEMORY_ALIGN UINT64_C(0x2000000) /* of the owner with the largest units */
#define BASE_MARK    UINT64_C(0xba5eba5e)

static struct {
    uint8_t *bytes;
    uint64_t start_va;
    int pagemap_fd;
    struct hs_remote_window window;
    struct hs_address_space space;
} memory;

static void make_memory(void)
{
    char text[128];
    uint8_t *all = mmap(NULL, MEMORY_BYTES + MEMORY_ALIGN, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        abort();
    }
    uint64_t off = -(uint64_t)(uintptr_t)all % MEMORY_ALIGN;
    memory.bytes = all + off;
    memory.start_va = (uint64_t)(uintptr_t)memory.bytes;
    memory.pagemap_fd = hs_residency_open(getpid());
    int bytes = snprintf(text, sizeof(text), "%llx-%llx rw-p 00000000 00:00 0 \nRss: 4 kB\n",
                         (unsigned long long)memory.start_va,
                         (unsigned long long)memory.start_va + MEMORY_BYTES);
    if (hs_address_space_parse(text, (size_t)bytes, &memory.space) < 0) {
        abort();
    }
}

static void fill(const uint8_t *data, size_t size)
{
    size = size < MEMORY_BYTES ? size : MEMORY_BYTES;
    memcpy(memory.bytes, data, size);
    for (size_t off = 0; off + sizeof(uint64_t) <= size; off += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, memory.bytes + off, sizeof(word));
        if (word >> 32 == BASE_MARK) {
            word = memory.start_va + (uint32_t)word;
            memcpy(memory.bytes + off, &word, sizeof(word));
        }
    }
}

/* What is found lies in the memory, and nothing twice. */
static void check(struct hs_owned_ranges *owned)
{
    if (hs_owned_ranges_settle(owned) < 0) {
        abort();
    }
    for (size_t i = 0; i < owned->count; i++) {
        const struct hs_owned_range *range = &owned->items[i];
        if (range->start_va < memory.start_va || range->end_va > memory.start_va + MEMORY_BYTES ||
            range->start_va >= range->end_va ||
            (i > 0 && range->start_va < owned->items[i - 1].end_va)) {
            abort();
        }
    }
    hs_owned_ranges_deinit(owned);
}

static void look(void)
{
    struct hs_owned_ranges owned = { 0 };
    struct hs_va_ranges gaps = { 0 };
    if (hs_v8_memory_find(&memory.window, memory.pagemap_fd, &memory.space, &owned) < 0) {
        abort();
    }
    check(&owned);
    if (hs_owned_ranges_gaps(&owned, &memory.space, &gaps) < 0 || gaps.count != 1 ||
        hs_jemalloc_memory_find(&memory.window, memory.pagemap_fd, &gaps, &owned) < 0) {
        abort();
    }
    check(&owned);
    uint64_t used_bytes = 0;
    if (hs_pymalloc_memory_find(&memory.window, memory.pagemap_fd, &gaps, &owned, &used_bytes) <
            0 ||
        used_bytes > MEMORY_BYTES) {
        abort();
    }
    check(&owned);
    const char *names[] = { "known" };
    hs_mimalloc_segments_find(&memory.window, memory.pagemap_fd, &gaps, names[0], names);
    hs_va_ranges_deinit(&gaps);
    if (hs_client_ranges_read(&memory.window, memory.start_va, &owned) < 0 ||
        hs_owned_ranges_settle(&owned) < 0) {
        abort();
    }
    hs_owned_ranges_deinit(&owned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!memory.bytes) {
        make_memory();
    }
    if (memory.pagemap_fd < 0 || hs_remote_window_open(getpid(), &memory.window) < 0) {
        return 0;
    }
    fill(data, size);
    look();
    madvise(memory.bytes, MEMORY_BYTES, MADV_DONTNEED);
    hs_remote_window_close(&memory.window);
    return 0;
}
