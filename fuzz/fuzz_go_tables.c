/*
 * Fuzz target: the data of a program in which tables of Go's runtime are looked for. The input is
 * that data and what it points to; in it, a word whose upper half is BASE_MARK stands for an
 * address of the memory, whose entry for the first arena is in the input, too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/ledger/go_tables.h"
#include "collect/ledger/residency.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE_MARK    UINT64_C(0xba5eba5e)
#define HEAP_VA      UINT64_C(0) /* the middle of the table of arenas */
#define INPUT_OFF    UINT64_C(0x1000000)
#define INPUT_BYTES  UINT64_C(0x400000)
#define DATA_BYTES   UINT64_C(0x10000)
#define MEMORY_BYTES UINT64_C(0x30000000)

static struct {
    uint8_t *bytes;
    uint64_t start_va;
    int pagemap_fd;
    struct hs_address_space space;
    struct hs_mapping_rows rows;
} memory;

static void make_memory(void)
{
    char text[128];
    memory.bytes = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory.bytes == MAP_FAILED) {
        abort();
    }
    memory.start_va = (uint64_t)(uintptr_t)memory.bytes;
    memory.pagemap_fd = hs_residency_open(getpid());
    int bytes = snprintf(text, sizeof(text), "%llx-%llx rw-p 00000000 00:00 0 \nRss: 4 kB\n",
                         (unsigned long long)memory.start_va,
                         (unsigned long long)memory.start_va + MEMORY_BYTES);
    if (hs_address_space_parse(text, (size_t)bytes, &memory.space) < 0 ||
        hs_mapping_rows_init(&memory.space, &memory.rows) < 0) {
        abort();
    }
}

static void fill(const uint8_t *data, size_t size)
{
    uint8_t *input = memory.bytes + INPUT_OFF;
    size = size < INPUT_BYTES ? size : INPUT_BYTES;
    memcpy(input, data, size);
    for (size_t off = 0; off + sizeof(uint64_t) <= size; off += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, input + off, sizeof(word));
        if (word >> 32 == BASE_MARK) {
            word = memory.start_va + (uint32_t)word;
            memcpy(input + off, &word, sizeof(word));
        }
    }
}

static void look(const struct hs_remote_window *window)
{
    struct hs_owned_ranges owned = { 0 };
    uint64_t data_va = memory.start_va + INPUT_OFF;
    const struct hs_go_program program = {
        window, memory.pagemap_fd, &memory.rows, HEAP_VA, HEAP_VA + 1, data_va, data_va + DATA_BYTES
    };
    if (hs_go_tables_find(&program, &owned) < 0 || hs_owned_ranges_settle(&owned) < 0) {
        abort();
    }
    for (size_t i = 0; i < owned.count; i++) {
        const struct hs_owned_range *range = &owned.items[i];
        if (range->start_va < memory.start_va || range->start_va >= range->end_va ||
            range->end_va > memory.start_va + MEMORY_BYTES ||
            (i > 0 && range->start_va < owned.items[i - 1].end_va)) {
            abort();
        }
    }
    hs_owned_ranges_deinit(&owned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_remote_window window;
    if (!memory.bytes) {
        make_memory();
    }
    if (memory.pagemap_fd < 0 || hs_remote_window_open(getpid(), &window) < 0) {
        return 0;
    }
    fill(data, size);
    look(&window);
    madvise(memory.bytes + INPUT_OFF, INPUT_BYTES, MADV_DONTNEED);
    hs_remote_window_close(&window);
    return 0;
}
