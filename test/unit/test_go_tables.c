/*
 * collect/ledger/go_tables.h: tables of Go's runtime are found by what the executable's data points
 * to, and only if all of it fits together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/go_tables.h"
#include "collect/ledger/residency.h"
#include "rt/base.h"
#include "trace/ledger.h"

#define HEAP_VA    UINT64_C(0xc000000000)
#define ARENA      UINT64_C(0x4000000)
#define HEAP_PAGE  UINT64_C(8192)
#define KIB        UINT64_C(1024)
#define MIB        (KIB * 1024)
#define SPANS_OFF  (2 * MIB) /* in the description of an arena */
#define DATA_WORDS 4096U

/* Where each thing is, in one mapping. */
#define TABLE_OFF   UINT64_C(0)
#define ARENA0_OFF  (32 * MIB)
#define ARENA1_OFF  (ARENA0_OFF + 3 * MIB)
#define PIECES_OFF  (ARENA1_OFF + 3 * MIB)
#define BITS_OFF    (PIECES_OFF + MIB)
#define CHUNKS_OFF  (BITS_OFF + MIB)
#define LEVELS_OFF  (CHUNKS_OFF + 4 * MIB)
#define DATA_OFF    (LEVELS_OFF + 640 * MIB)
#define MEMORY_SIZE (DATA_OFF + MIB)

/* Words of the data. */
enum { AT_TABLE = 9, AT_PIECES = 100, AT_BITS = 200, AT_SUMMARIES = 500 };

static struct {
    uint8_t *bytes;
    uint64_t va;
    uint64_t *data;
} memory;

static uint64_t *words_at(uint64_t off)
{
    return (uint64_t *)(void *)(memory.bytes + off);
}

static void make_span(uint64_t arena_off, uint64_t index, uint64_t at_off, uint64_t heap_va)
{
    words_at(arena_off + SPANS_OFF)[index] = memory.va + at_off;
    uint64_t *span = words_at(at_off);
    span[3] = heap_va;
    span[4] = 1;
}

static void make_summaries(void)
{
    uint64_t *slices = memory.data + AT_SUMMARIES, off = LEVELS_OFF;
    for (unsigned level = 0; level < 5; level++) {
        slices[3 * level] = memory.va + off;
        slices[3 * level + 1] = UINT64_C(1) << (14 + 3 * level);
        slices[3 * level + 2] = UINT64_C(1) << (14 + 3 * level);
        off += UINT64_C(8) << (14 + 3 * level);
    }
    slices[15 + 70] = memory.va + CHUNKS_OFF;
}

static int open_memory(void **state)
{
    (void)state;
    memory.bytes = mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(memory.bytes, MAP_FAILED);
    memory.va = (uint64_t)(uintptr_t)memory.bytes;
    memory.data = words_at(DATA_OFF);
    memset(memory.data, 0xff, DATA_WORDS * sizeof(uint64_t));
    uint64_t first = (HEAP_VA + (UINT64_C(1) << 47)) / ARENA;
    words_at(TABLE_OFF)[first] = memory.va + ARENA0_OFF;
    words_at(TABLE_OFF)[first + 1] = memory.va + ARENA1_OFF;
    make_span(ARENA0_OFF, 3, PIECES_OFF + 0x100, HEAP_VA + 3 * HEAP_PAGE);
    make_span(ARENA1_OFF, 0, PIECES_OFF + 0x300, HEAP_VA + ARENA);
    words_at(PIECES_OFF + 0x100)[9] = memory.va + BITS_OFF + 0x20; /* the bitmap of a span */
    words_at(PIECES_OFF + 256 * KIB)[0] = memory.va + PIECES_OFF;  /* the newest comes first */
    words_at(BITS_OFF)[0] = 0x100;
    words_at(BITS_OFF + 64 * KIB)[0] = 0x100;
    words_at(BITS_OFF + 64 * KIB)[1] = memory.va + BITS_OFF;
    words_at(BITS_OFF + 128 * KIB)[0] = 0x100; /* another list */
    memory.data[AT_TABLE] = memory.va + TABLE_OFF;
    memory.data[AT_PIECES] = memory.va + PIECES_OFF + 256 * KIB;
    memory.data[AT_BITS] = memory.va + BITS_OFF + 64 * KIB;
    memory.data[AT_BITS + 3] = memory.va + BITS_OFF + 128 * KIB;
    make_summaries();
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    return munmap(memory.bytes, MEMORY_SIZE);
}

static struct hs_owned_ranges find(void)
{
    struct hs_address_space space;
    struct hs_mapping_rows rows;
    struct hs_remote_window window;
    struct hs_owned_ranges owned = { 0 };
    int pagemap_fd = hs_residency_open(getpid());
    assert_int_equal(hs_address_space_read(getpid(), &space), 0);
    assert_int_equal(hs_mapping_rows_init(&space, &rows), 0);
    assert_int_equal(hs_remote_window_open(getpid(), &window), 0);
    uint64_t data_va = memory.va + DATA_OFF;
    const struct hs_go_program program = {
        .window = &window,
        .pagemap_fd = pagemap_fd,
        .rows = &rows,
        .heap_start_va = HEAP_VA,
        .heap_end_va = HEAP_VA + 2 * ARENA,
        .data_start_va = data_va,
        .data_end_va = data_va + DATA_WORDS * sizeof(uint64_t),
    };
    assert_int_equal(hs_go_tables_find(&program, &owned), 0);
    assert_int_equal(hs_owned_ranges_settle(&owned), 0);
    hs_remote_window_close(&window);
    hs_mapping_rows_deinit(&rows);
    hs_address_space_deinit(&space);
    close(pagemap_fd);
    return owned;
}

static bool is_owned(const struct hs_owned_ranges *owned, uint64_t off)
{
    const struct hs_owned_range *range = hs_owned_ranges_find(owned, memory.va + off);
    assert_true(!range ||
                (range->kind == HS_LEDGER_RUNTIME && strcmp(range->name, "Go runtime") == 0));
    return range != NULL;
}

static void test_all_is_found(void **state)
{
    (void)state;
    static const struct {
        uint64_t start_off, bytes;
    } parts[] = {
        { TABLE_OFF, 32 * MIB },
        { ARENA0_OFF, SPANS_OFF + 64 * KIB + 4 * KIB },
        { ARENA1_OFF, SPANS_OFF + 64 * KIB + 4 * KIB },
        { PIECES_OFF, 512 * KIB },
        { BITS_OFF, 192 * KIB },
        { CHUNKS_OFF, MIB },
        { LEVELS_OFF, (UINT64_C(8) << 14) + (UINT64_C(8) << 17) + (UINT64_C(8) << 20) +
                          (UINT64_C(8) << 23) + (UINT64_C(8) << 26) },
    };
    struct hs_owned_ranges owned = find();
    for (size_t i = 0; i < HS_COUNT_OF(parts); i++) {
        uint64_t end_off = parts[i].start_off + parts[i].bytes;
        print_message("part %zu\n", i);
        assert_true(is_owned(&owned, parts[i].start_off));
        assert_true(is_owned(&owned, end_off - 1));
        assert_true(end_off == ARENA0_OFF || !is_owned(&owned, end_off));
    }
    assert_false(is_owned(&owned, DATA_OFF));
    hs_owned_ranges_deinit(&owned);
}

/* What is changed, and what is not found then. */
static void test_each_word_counts(void **state)
{
    (void)state;
    uint64_t *first = words_at(TABLE_OFF) + (HEAP_VA + (UINT64_C(1) << 47)) / ARENA;
    const struct {
        uint64_t *word, value, lost_off, kept_off;
    } changes[] = {
        { memory.data + AT_SUMMARIES + 4, (UINT64_C(1) << 17) + 1, LEVELS_OFF, BITS_OFF },
        { memory.data + AT_SUMMARIES + 5, 1 << 18, CHUNKS_OFF, BITS_OFF },
        { memory.data + AT_SUMMARIES + 12, 4096, LEVELS_OFF, BITS_OFF },
        { first, 0, TABLE_OFF, LEVELS_OFF },
        { first, memory.va + ARENA1_OFF, PIECES_OFF, LEVELS_OFF },
        { first + 1, 0, ARENA1_OFF, ARENA0_OFF },
        { words_at(ARENA0_OFF + SPANS_OFF) + 3, 0, PIECES_OFF, LEVELS_OFF },
        { words_at(PIECES_OFF + 0x100) + 3, HEAP_VA, TABLE_OFF, LEVELS_OFF },
        { words_at(PIECES_OFF + 0x100) + 4, 0, ARENA0_OFF, LEVELS_OFF },
        { words_at(PIECES_OFF + 0x100) + 9, 0, BITS_OFF, PIECES_OFF },
        { words_at(PIECES_OFF), 4096, PIECES_OFF, BITS_OFF },
        { words_at(PIECES_OFF), memory.va + PIECES_OFF, PIECES_OFF, LEVELS_OFF }, /* a circle */
        { words_at(BITS_OFF), 64 * KIB + 1, BITS_OFF, PIECES_OFF },
        { words_at(BITS_OFF) + 1, 4096, BITS_OFF + 128 * KIB, PIECES_OFF },
        { memory.data + AT_BITS + 3, 0, BITS_OFF + 128 * KIB, BITS_OFF },
    };
    for (size_t i = 0; i < HS_COUNT_OF(changes); i++) {
        uint64_t before = *changes[i].word;
        *changes[i].word = changes[i].value;
        struct hs_owned_ranges owned = find();
        print_message("change %zu\n", i);
        assert_false(is_owned(&owned, changes[i].lost_off));
        assert_true(is_owned(&owned, changes[i].kept_off));
        hs_owned_ranges_deinit(&owned);
        *changes[i].word = before;
    }
}

/* A large span begins in one arena and reaches into the next. */
static void test_a_span_in_two_arenas(void **state)
{
    (void)state;
    uint64_t *span = words_at(PIECES_OFF + 0x300);
    span[3] = HEAP_VA + ARENA - HEAP_PAGE;
    span[4] = 2;
    struct hs_owned_ranges owned = find();
    assert_true(is_owned(&owned, ARENA1_OFF));
    hs_owned_ranges_deinit(&owned);
    span[4] = 1;
    owned = find();
    assert_false(is_owned(&owned, ARENA1_OFF));
    hs_owned_ranges_deinit(&owned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_is_found, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(test_each_word_counts, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(test_a_span_in_two_arenas, open_memory, close_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
