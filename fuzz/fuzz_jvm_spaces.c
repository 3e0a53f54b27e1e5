/* Fuzz target: memory in which a JVM's objects are looked for. The input is its words; one whose
 * upper half is BASE_MARK stands for an address of the rows of mappings. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ledger/jvm_memory.h"
#include "collect/ledger/jvm_perf_data.h"
#include "collect/ledger/jvm_spaces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE_MARK     UINT64_C(0xba5eba5e)
#define BASE_VA       UINT64_C(0x7f1000000000)
#define CONTEXT_WORDS (HS_JVM_WORDS_BEFORE + HS_JVM_WORDS_BEHIND)
#define WORDS_MAX     65536U

static const char maps[] = "687400000-68f200000 rw-p 00000000 00:00 0 \n"
                           "68f200000-800000000 ---p 00000000 00:00 0 \n"
                           "7f1000000000-7f1000100000 rw-p 00000000 00:00 0 \n"
                           "7f1000100000-7f1004000000 ---p 00000000 00:00 0 \n"
                           "7f1040000000-7f1040100000 rw-p 00000000 00:00 0 \n"
                           "7f1040100000-7f1080000000 ---p 00000000 00:00 0 \n"
                           "7f10c0000000-7f10c0010000 r--p 00000000 08:01 7 /libjvm.so\n"
                           "ffffffff600000-fffffffffff000 rw-p 00000000 00:00 0 \n";

static void check(const struct hs_jvm_spaces *spaces, const struct hs_mapping_rows *rows)
{
    struct hs_owned_ranges owned = { 0 };
    const struct hs_jvm_perf_data none = { .metaspace_bytes = 0 };
    for (size_t i = 0; i < spaces->count; i++) {
        const struct hs_jvm_space *space = &spaces->items[i];
        if (!hs_mapping_rows_cover(rows, space->start_va, space->end_va) ||
            space->kind > HS_JVM_SPACE_OTHER) {
            abort();
        }
    }
    if (hs_jvm_memory_match(&none, spaces, rows, &owned) < 0) {
        abort();
    }
    for (size_t i = 0; i < owned.count; i++) {
        if (owned.items[i].start_va >= owned.items[i].end_va ||
            (i > 0 && owned.items[i].start_va < owned.items[i - 1].end_va)) {
            abort();
        }
    }
    hs_owned_ranges_deinit(&owned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_address_space space;
    struct hs_mapping_rows rows;
    struct hs_jvm_spaces spaces = { 0 };
    size_t word_count = size / sizeof(uint64_t);
    uint64_t *words = malloc(size + sizeof(uint64_t));
    if (!words || word_count > WORDS_MAX ||
        hs_address_space_parse(maps, sizeof(maps) - 1, &space) < 0) {
        free(words);
        return 0;
    }
    if (hs_mapping_rows_init(&space, &rows) < 0) {
        abort();
    }
    memcpy(words, data, size);
    for (size_t i = 0; i < word_count; i++) {
        words[i] = words[i] >> 32 == BASE_MARK ? BASE_VA + (uint32_t)words[i] : words[i];
    }
    for (size_t i = 0; i + CONTEXT_WORDS <= word_count; i++) {
        uint64_t context[CONTEXT_WORDS]; /* reading beyond it is noticed */
        memcpy(context, words + i, sizeof(context));
        if (hs_jvm_spaces_take(&spaces, &rows, context) < 0) {
            abort();
        }
    }
    check(&spaces, &rows);
    hs_jvm_spaces_deinit(&spaces);
    hs_mapping_rows_deinit(&rows);
    hs_address_space_deinit(&space);
    free(words);
    return 0;
}
