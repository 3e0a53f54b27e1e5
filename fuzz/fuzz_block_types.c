/* Fuzz target: memory in which the types of blocks are looked for (test/unit/typed_memory.h). The
 * input is a byte whose bits say whether there are symbols, where PyType_Type may be, and whether a
 * page is gone; a byte: how many times 128 bytes of constants follow; and the heap. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "collect/types/block_types.h"
#include "typed_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HAS_SYMBOLS     1U
#define HAS_PYTHON      2U
#define IS_PYTHON_HEAP  4U
#define IS_PAGE_GONE    8U
#define CONSTANTS_UNIT  128U
#define BLOCKS          256U
#define READS_PER_BLOCK 4096U

static void make_memory(struct typed_memory *memory, const uint8_t *data, size_t size)
{
    unsigned flags = size > 0 ? data[0] : 0;
    size_t constant_bytes = size > 1 ? data[1] * CONSTANTS_UNIT : 0;
    size = size > 2 ? size - 2 : 0;
    constant_bytes = constant_bytes < size ? constant_bytes : size;
    size_t heap_bytes = size - constant_bytes;
    heap_bytes = heap_bytes < TYPED_BYTES ? heap_bytes : TYPED_BYTES;
    if (size > 0) {
        memcpy(memory->constants, data + 2, constant_bytes);
        memcpy(memory->heap, data + 2 + constant_bytes, heap_bytes);
    }
    memory->symbols[0] = (struct hs_type_symbol){ "_ZTV3Foo", TYPED_CONST_VA + 0x200, 0x60 };
    memory->symbols[1] = (struct hs_type_symbol){ "_ZTC3Bar0_3Foo", TYPED_CONST_VA + 0x280, 0x60 };
    memory->symbols[2] = (struct hs_type_symbol){ "_ZTVbroken", TYPED_CONST_VA + 0x300, 0x60 };
    memory->symbol_count = (flags & HAS_SYMBOLS) != 0 ? 3 : 0;
    memory->python_va = (flags & HAS_PYTHON) == 0       ? 0
                        : (flags & IS_PYTHON_HEAP) != 0 ? TYPED_HEAP_VA
                                                        : TYPED_CONST_VA + 0x400;
    memory->gone_va = (flags & IS_PAGE_GONE) != 0 ? TYPED_CONST_VA + TYPED_PAGE : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct typed_memory memory;
    struct hs_typed_block blocks[BLOCKS];
    struct hs_block_types types = { 0 };
    const struct hs_type_memory view = typed_view(&memory);
    memset(&memory, 0, sizeof(memory));
    make_memory(&memory, data, size);
    for (unsigned i = 0; i < BLOCKS; i++) {
        /* Some begin in the middle of a word, some end behind the memory. */
        uint64_t va = TYPED_HEAP_VA + i * 48 + (i % 16 == 15 ? 4 : 0);
        blocks[i] = (struct hs_typed_block){ va, (i * 24) % 200, 0, false };
    }
    check(hs_block_types_find(&view, blocks, BLOCKS, 0, &types) == 0);
    const struct hs_block_type_counts *counts = &types.counts;
    uint64_t named_count = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        check(blocks[i].type_idx <= hs_type_names_count(&types.names));
        check(blocks[i].type_idx == 0 || blocks[i].size_bytes >= 8);
        named_count += blocks[i].type_idx != 0;
    }
    check(counts->named_count == named_count && counts->late_count == 0);
    check(counts->named_count + counts->unknown_count + counts->unreadable_count == BLOCKS);
    check(hs_type_names_is_valid(&types.names));
    check(memory.read_count <= BLOCKS * READS_PER_BLOCK);
    hs_block_types_deinit(&types);
    return 0;
}
