/*
 * collect/ledger/jvm_spaces.h and mapping_rows.h: objects of a JVM that describe what it has
 * reserved are recognized, wherever they lie, and nothing else is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/jvm_memory.h"
#include "collect/ledger/jvm_perf_data.h"
#include "collect/ledger/jvm_spaces.h"
#include "collect/ledger/residency.h"
#include "rt/base.h"
#include "trace/ledger.h"

#define BEFORE HS_JVM_WORDS_BEFORE
#define WORDS  (HS_JVM_WORDS_BEFORE + HS_JVM_WORDS_BEHIND)
#define TABLE  UINT64_C(0x7f2000001000) /* of virtual functions, in the library */
#define A      UINT64_C(0x7f1000000000)
#define HEAP   UINT64_C(0x687400000)
#define BITS   UINT64_C(0x55a000000000)

/* A row of 64 MiB, one of 1 GiB, a heap, and the library. */
static const char maps[] = "687400000-68f200000 rw-p 00000000 00:00 0 \n"
                           "68f200000-800000000 ---p 00000000 00:00 0 \n"
                           "7f1000000000-7f1000100000 rw-p 00000000 00:00 0 \n"
                           "7f1000100000-7f1004000000 ---p 00000000 00:00 0 \n"
                           "7f1040000000-7f1040100000 rw-p 00000000 00:00 0 \n"
                           "7f1040100000-7f1080000000 ---p 00000000 00:00 0 \n"
                           "7f2000000000-7f2000010000 r--p 00000000 08:01 7 /jvm/lib/libjvm.so\n";

struct fixture {
    struct hs_address_space space;
    struct hs_mapping_rows rows;
    struct hs_jvm_spaces spaces;
};

static void open_maps(struct fixture *fixture)
{
    *fixture = (struct fixture){ .spaces = { 0 } };
    assert_int_equal(hs_address_space_parse(maps, sizeof(maps) - 1, &fixture->space), 0);
    assert_int_equal(hs_mapping_rows_init(&fixture->space, &fixture->rows), 0);
}

static void close_maps(struct fixture *fixture)
{
    hs_jvm_spaces_deinit(&fixture->spaces);
    hs_mapping_rows_deinit(&fixture->rows);
    hs_address_space_deinit(&fixture->space);
}

static size_t count_of(struct fixture *fixture, const uint64_t *words)
{
    fixture->spaces.count = 0;
    assert_int_equal(hs_jvm_spaces_take(&fixture->spaces, &fixture->rows, words), 0);
    return fixture->spaces.count;
}

static void test_rows(void **state)
{
    (void)state;
    struct fixture fixture;
    open_maps(&fixture);
    assert_true(hs_mapping_rows_cover(&fixture.rows, A, A + 0x4000000));
    assert_true(hs_mapping_rows_cover(&fixture.rows, A + 0x1000, A + 0x200000));
    assert_false(hs_mapping_rows_cover(&fixture.rows, A, A + 0x4001000));
    assert_false(hs_mapping_rows_cover(&fixture.rows, A - 0x1000, A + 0x1000));
    assert_false(hs_mapping_rows_cover(&fixture.rows, A, A));
    assert_false(hs_mapping_rows_cover(&fixture.rows, A + 0x1000, A));
    close_maps(&fixture);
}

/* --- the forms -------------------------------------------------------------------------------- */

static const struct form {
    const char *name;
    uint64_t words[WORDS]; /* [BEFORE] is the first address */
    uint64_t start_va, end_va;
    enum hs_jvm_space_kind kind;
    size_t space_count;
    const char *checked; /* for each word: '.' if the object is none with another number there */
} forms[] = {
    { "VirtualSpace",
      { 0,
        0,
        0,
        0,
        0,
        0,
        A,
        A + 0x100000,
        A,
        A + 0x5000,
        0,
        A,
        A + 0x5000,
        A + 0x100000,
        A,
        A + 0x100000,
        A + 0x100000,
        0x1000,
        0x1000,
        0x1000 },
      A,
      A + 0x100000,
      HS_JVM_SPACE_OTHER,
      1,
      "      .... ........." },
    { "PSVirtualSpace",
      { 0, 0, 0, 0, TABLE, 0x200000, A, A + 0x100000, A + 0x1000, A + 0x5000 },
      A,
      A + 0x100000,
      HS_JVM_SPACE_OTHER,
      1,
      "    ......" },
    { "G1PageBasedVirtualSpace",
      { 0, 0, 0, 0, 0, 0, A, A + 0x100800, 0, 0x1000, BITS, 0x100 },
      A,
      A + 0x100000,
      HS_JVM_SPACE_OTHER,
      0, /* its end is no page */
      "" },
    { "G1PageBasedVirtualSpace",
      { 0, 0, 0, 0, 0, 0, A, A + 0x100000, 0, 0x1000, BITS, 0x100 },
      A,
      A + 0x100000,
      HS_JVM_SPACE_OTHER,
      1,
      "      .. . ." },
    { "VirtualSpaceNode of JDK 17",
      { 0, 0, 0, 0, 0, 0, A, 0x4000000, 0, 0x1000000, 0x1000, 0, 1, 0, A, 0x800000, 0x200000 },
      A,
      A + 0x4000000,
      HS_JVM_SPACE_METASPACE,
      1,
      "      .. .    .." },
    { "VirtualSpaceNode of JDK 25",
      { 0, 0, 0, 0, 0, 0, A + 0x40000000, 0x40000000, 0x1000000, 0x1000, 0, BITS, A + 0x40000000,
        0x8000000, 0x200000 },
      A + 0x40000000,
      A + 0x80000000,
      HS_JVM_SPACE_CLASSES,
      1,
      "      ....  .." },
    { "CardTable of JDK 17",
      { HEAP, 0x2f180000, 0xbc6000, 0xbc5fff, 0x1000, 0xbc7000, A },
      A,
      A + 0xbc7000,
      HS_JVM_SPACE_OTHER,
      2,
      ".. .." },
    { "CardTable of JDK 25",
      { 0, 0, HEAP, 0x2f180000, 0x1000, 0xbc6000, A },
      A,
      A + 0xbc6000,
      HS_JVM_SPACE_OTHER,
      2,
      "  ....." },
    { "CollectedHeap of JDK 17",
      { 0, 0, TABLE, 0, 0, 0, HEAP, 0x2f180000 },
      HEAP,
      0x800000000,
      HS_JVM_SPACE_HEAP,
      1,
      "  .   .." },
    { "CollectedHeap of JDK 25",
      { TABLE, 0, 0, 0, 0, 0, HEAP, 0x2f180000 },
      HEAP,
      0x800000000,
      HS_JVM_SPACE_HEAP,
      1,
      ".     .." },
    { "the stack of a thread", { TABLE, 0, 0, 0, 0, 0, A, 0x100000 }, 0, 0, 0, 0, "" },
    { "a vector", { 0, 0, 0, 0, 0, 0, A, A + 0x1000, A + 0x1000, 0, 0 }, 0, 0, 0, 0, "" },
};

static void test_forms(void **state)
{
    (void)state;
    struct fixture fixture;
    open_maps(&fixture);
    for (size_t i = 0; i < HS_COUNT_OF(forms); i++) {
        const struct form *form = &forms[i];
        print_message("%s\n", form->name);
        assert_int_equal(count_of(&fixture, form->words), form->space_count);
        if (form->space_count > 0) {
            assert_int_equal(fixture.spaces.items[0].start_va, form->start_va);
            assert_int_equal(fixture.spaces.items[0].end_va, form->end_va);
            assert_int_equal(fixture.spaces.items[0].kind, form->kind);
        }
        if (form->space_count == 2) {
            assert_int_equal(fixture.spaces.items[1].start_va, HEAP);
            assert_int_equal(fixture.spaces.items[1].end_va, 0x800000000);
            assert_int_equal(fixture.spaces.items[1].kind, HS_JVM_SPACE_HEAP);
        }
    }
    close_maps(&fixture);
}

/* A number that fits nothing, and one that is much too large. */
static void test_each_word_counts(void **state)
{
    (void)state;
    static const uint64_t others[] = { 12345, UINT64_MAX - 4095, UINT64_C(0xfff0000000000000) };
    struct fixture fixture;
    open_maps(&fixture);
    for (size_t i = 0; i < HS_COUNT_OF(forms); i++) {
        for (size_t at = 0; at < strlen(forms[i].checked); at++) {
            for (size_t other = 0; other < HS_COUNT_OF(others); other++) {
                uint64_t words[WORDS];
                memcpy(words, forms[i].words, sizeof(words));
                words[at] = others[other];
                if (forms[i].checked[at] == '.') {
                    print_message("%s, word %zu\n", forms[i].name, at);
                    assert_int_equal(count_of(&fixture, words), 0);
                } else {
                    count_of(&fixture, words); /* it ends */
                }
            }
        }
    }
    close_maps(&fixture);
}

/* --- in a process ----------------------------------------------------------------------------- */

static struct hs_jvm_spaces find_in_this_process(const struct hs_owned_ranges *owned)
{
    struct hs_address_space space;
    struct hs_mapping_rows rows;
    struct hs_remote_window window;
    struct hs_jvm_spaces spaces = { 0 };
    int pagemap_fd = hs_residency_open(getpid());
    assert_int_equal(hs_address_space_read(getpid(), &space), 0);
    assert_int_equal(hs_mapping_rows_init(&space, &rows), 0);
    assert_int_equal(hs_remote_window_open(getpid(), &window), 0);
    assert_int_equal(hs_jvm_spaces_find(&window, pagemap_fd, &rows, owned, &spaces), 0);
    hs_remote_window_close(&window);
    hs_mapping_rows_deinit(&rows);
    hs_address_space_deinit(&space);
    close(pagemap_fd);
    return spaces;
}

static size_t times_described(const struct hs_owned_ranges *owned, uint64_t start_va)
{
    struct hs_jvm_spaces spaces = find_in_this_process(owned);
    size_t times = 0;
    for (size_t i = 0; i < spaces.count; i++) {
        times += spaces.items[i].start_va == start_va ? 1 : 0;
    }
    hs_jvm_spaces_deinit(&spaces);
    return times;
}

/* The memory is read in pieces of 16 KiB. */
static void test_an_object_in_two_pieces(void **state)
{
    (void)state;
    struct hs_owned_ranges owned = { 0 };
    uint8_t *memory =
        mmap(NULL, 0x40000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *all = (uint64_t *)(void *)memory;
    memset(memory, 1, 0x10000);
    uint64_t start_va = (uint64_t)(uintptr_t)memory + 0x20000;
    for (size_t back = 0; back <= 2 * WORDS; back++) {
        uint64_t *w = all + 2 * 0x4000 / sizeof(*w) - back;
        const uint64_t words[] = {
            start_va, start_va + 0x10000, start_va, start_va, 0,      start_va, start_va,
            start_va, start_va,           start_va, 0,        0x1000, 0x1000,   0x1000
        };
        memcpy(w, words, sizeof(words));
        w[10] = start_va + 0x10000;
        assert_int_equal(times_described(&owned, start_va), 1);
        memset(w, 1, sizeof(words));
    }
    munmap(memory, 0x40000);
}

/* --- who owns what ---------------------------------------------------------------------------- */

static const char *name_at(const struct hs_owned_ranges *owned, uint64_t va)
{
    const struct hs_owned_range *range = hs_owned_ranges_find(owned, va);
    return range ? range->name : "";
}

/* The JVM publishes nothing before its first collection. */
static void test_names(void **state)
{
    (void)state;
    struct fixture fixture;
    struct hs_owned_ranges owned = { 0 };
    const struct hs_jvm_perf_data none = { .metaspace_bytes = 0 };
    struct hs_jvm_space items[] = {
        { A + 0x40000000, A + 0x80000000, HS_JVM_SPACE_CLASSES },
        { HEAP + 0x100000, HEAP + 0x200000, HS_JVM_SPACE_OTHER }, /* a part of the heap */
        { HEAP, 0x800000000, HS_JVM_SPACE_HEAP },
        { A, A + 0x1000, HS_JVM_SPACE_OTHER },
    };
    open_maps(&fixture);
    const struct hs_jvm_spaces spaces = { items, HS_COUNT_OF(items), HS_COUNT_OF(items) };
    assert_int_equal(hs_jvm_memory_match(&none, &spaces, &fixture.rows, &owned), 0);
    assert_string_equal(name_at(&owned, A + 0x40000000), "JVM class space");
    assert_string_equal(name_at(&owned, HEAP + 0x100000), "JVM heap");
    assert_string_equal(name_at(&owned, A), "JVM internal memory");
    assert_string_equal(name_at(&owned, A + 0x1000), "");
    hs_owned_ranges_deinit(&owned);
    close_maps(&fixture);
}

/* A class space of the size of a piece of metaspace is told from one by what is published. */
static void test_a_small_class_space(void **state)
{
    (void)state;
    struct fixture fixture;
    struct hs_owned_ranges owned = { 0 };
    const struct hs_jvm_perf_data data = { .class_space_max_bytes = 0x4000000 };
    struct hs_jvm_space item = { A, A + 0x4000000, HS_JVM_SPACE_METASPACE };
    open_maps(&fixture);
    const struct hs_jvm_spaces spaces = { &item, 1, 1 };
    assert_int_equal(hs_jvm_memory_match(&data, &spaces, &fixture.rows, &owned), 0);
    assert_string_equal(name_at(&owned, A), "JVM class space");
    hs_owned_ranges_deinit(&owned);
    close_maps(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_each_word_counts),
        cmocka_unit_test(test_an_object_in_two_pieces),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_a_small_class_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
