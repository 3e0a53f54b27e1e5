/*
 * Fuzz target: the memory of a process, read as the heap of its C library and as a thread's lists
 * of free blocks; and the text of its smaps.
 *
 * The input is the memory: its bytes are at BASE, in this process, which is read as another one
 * would be. The last byte chooses the release of the C library. A walk over all of it must count
 * each byte in one state.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "collect/ledger/glibc_free_lists.h"
#include "collect/ledger/glibc_heap.h"
#include "collect/ledger/zeroed_data.h"

/* The inputs contain addresses. */
#define BASE       UINT64_C(0x200000000000)
#define BYTES_MAX  8192U
#define PAGE_BYTES 4096U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum_of(const struct hs_malloc_space *space)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        bytes += space->sums[i].bytes;
    }
    return bytes;
}

static void walk(struct hs_remote_window *window, const struct hs_glibc_links *links, size_t size)
{
    const struct hs_glibc_piece piece = {
        .start_va = BASE,
        .end_va = BASE + size / 16 * 16,
        .has_top = true,
        .top_va = BASE + size / 32 * 16,
    };
    struct hs_residency residency;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || hs_residency_read(fd, piece.start_va, piece.end_va, &residency) < 0) {
        close(fd);
        return;
    }
    struct hs_glibc_wanted wanted = { .size_bytes = links->thread_chunk_bytes };
    struct hs_glibc_free_lists lists = { 0 };
    struct hs_malloc_space space = { 0 };
    hs_glibc_walk(window, &residency, &piece, NULL, 0, &wanted, &space);
    check(sum_of(&space) == piece.end_va - piece.start_va);
    for (size_t i = 0; i < wanted.count; i++) {
        hs_glibc_free_lists_add_thread(window, links, wanted.chunk_va[i], &lists);
    }
    hs_glibc_free_lists_deinit(&lists);
    hs_residency_deinit(&residency);
    free(wanted.chunk_va);
    close(fd);
}

/* The same with a sample of all parts, and with one of some. Recorded blocks are anywhere. */
static void walk_parts(struct hs_remote_window *window, const uint8_t *data, size_t size)
{
    const struct hs_glibc_piece piece = { .start_va = BASE, .end_va = BASE + size / 16 * 16 };
    struct hs_pair recorded[8];
    struct hs_residency residency;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || hs_residency_read(fd, piece.start_va, piece.end_va, &residency) < 0) {
        close(fd);
        return;
    }
    for (size_t i = 0; i < 8; i++) {
        recorded[i].key = BASE + size / 8 * i + data[i] / 16 * 16U;
    }
    const struct hs_live_blocks blocks = { .items = recorded, .count = 8 };
    check(hs_sort_pairs(recorded, 8) == 0);
    for (unsigned shift = 0; shift < 4; shift++) {
        struct hs_glibc_sample sample = { .shift = shift, .blocks = &blocks };
        struct hs_glibc_wanted wanted = { 0 };
        struct hs_malloc_space space = { 0 };
        hs_glibc_walk_parts(window, &residency, &piece, NULL, 0, &wanted, &sample, &space);
        check(sample.part_count <= 1 && (shift > 0 || sample.part_count == 1));
        check(sum_of(&sample.seen) == sample.part_count * (piece.end_va - piece.start_va));
        if (sample.part_count > 0) {
            hs_glibc_sample_finish(&sample, &space);
            check(sum_of(&space) == piece.end_va - piece.start_va);
        }
        hs_glibc_sample_deinit(&sample);
        free(wanted.chunk_va);
    }
    hs_residency_deinit(&residency);
    close(fd);
}

static void read_heap(const struct hs_address_space *space, unsigned minor, size_t size)
{
    struct hs_glibc_place place = { BASE, BASE + size, 2, minor };
    struct hs_glibc_heap heap;
    if (hs_glibc_heap_read(getpid(), space, &place, NULL, NULL, &heap) == 0) {
        for (size_t i = 0; i < heap.arenas.count; i++) {
            check(heap.arenas.items[i].start_va < heap.arenas.items[i].end_va);
        }
        hs_glibc_heap_deinit(&heap);
    }
}

static void read_text(const uint8_t *data, size_t size)
{
    struct hs_address_space space;
    if (hs_address_space_parse((const char *)data, size, &space) == 0) {
        for (size_t i = 0; i < space.count; i++) {
            check(space.items[i].start_va < space.items[i].end_va);
            check(i == 0 || space.items[i - 1].end_va <= space.items[i].start_va);
            check(hs_address_space_find(&space, space.items[i].start_va) == &space.items[i]);
        }
        hs_address_space_deinit(&space);
    }
}

static void read_memory(const uint8_t *data, size_t size, uint8_t choice)
{
    char line[256];
    struct hs_address_space space;
    struct hs_remote_window window;
    struct hs_glibc_links links;
    unsigned minor = 27 + choice % 16;
    size_t map_bytes = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    int n = snprintf(line, sizeof(line), "%llx-%llx rw-p 00000000 00:00 0\nRss: %zu kB\n",
                     (unsigned long long)BASE, (unsigned long long)(BASE + map_bytes),
                     map_bytes / 1024);
    if (hs_address_space_parse(line, (size_t)n, &space) == 0) {
        read_heap(&space, minor, size);
        if (hs_remote_window_open(getpid(), &window) == 0) {
            hs_zeroed_data_end(&window, &space.items[0]);
            if (hs_glibc_links_of(2, minor, &links)) {
                walk(&window, &links, size);
            }
            walk_parts(&window, data, size);
            hs_remote_window_close(&window);
        }
        hs_address_space_deinit(&space);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_text(data, size);
    size = size < BYTES_MAX ? size : BYTES_MAX;
    if (size < 64) {
        return 0;
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    void *memory = mmap((void *)(uintptr_t)BASE, BYTES_MAX, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED) {
        return 0;
    }
    memcpy(memory, data, size);
    read_memory(data, size, data[size - 1]);
    munmap(memory, BYTES_MAX);
    return 0;
}
