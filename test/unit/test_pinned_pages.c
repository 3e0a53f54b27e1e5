/* Which stacks keep pages, on heaps that are made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/ledger/pins_make.h"

#define PAGE UINT64_C(4096)
#define BASE UINT64_C(0x550000000000)

struct heap {
    struct hs_used_chunks chunks;
    struct hs_live_blocks blocks;
};

/* A main arena of resident pages. Every block is recorded. */
static void init(struct heap *heap, size_t page_count)
{
    *heap = (struct heap){ 0 };
    struct hs_residency residency = { .start_va = BASE, .page_count = page_count };
    size_t words = page_count / 64 + 1;
    residency.present = malloc(words * sizeof(uint64_t));
    residency.swapped = calloc(words, sizeof(uint64_t));
    residency.present_before = calloc(words, sizeof(uint32_t));
    residency.swapped_before = calloc(words, sizeof(uint32_t));
    memset(residency.present, 0xff, words * sizeof(uint64_t));
    for (size_t i = 1; i < words; i++) {
        residency.present_before[i] = (uint32_t)i * 64;
    }
    hs_used_chunks_add_piece(&heap->chunks, &(struct hs_used_piece){
                                                .start_va = BASE,
                                                .end_va = BASE + page_count * PAGE,
                                                .is_main = true,
                                                .has_top = true,
                                                .is_first = true,
                                                .residency = residency,
                                            });
    heap->blocks.items = calloc(4096, sizeof(heap->blocks.items[0]));
    heap->blocks.stack_count = 100;
    heap->blocks.widest_bytes = 1;
    heap->blocks.is_from_startup = true;
}

/* A chunk; `stack` 0: its block is not recorded. */
static void add(struct heap *heap, uint64_t off, uint64_t chunk_bytes, uint32_t stack)
{
    hs_used_chunks_add(&heap->chunks, BASE + off, chunk_bytes);
    if (stack != 0) {
        heap->blocks.items[heap->blocks.count++] =
            (struct hs_pair){ BASE + off + 16,
                              hs_live_block_pack(stack, chunk_bytes - 24, HS_LIVE_EXACT) };
    }
}

static struct hs_pinned_pages *make(struct heap *heap)
{
    struct hs_pinned_pages *pins;
    assert_int_equal(hs_pins_make(&heap->chunks, &heap->blocks, &pins), 0);
    hs_used_chunks_deinit(&heap->chunks);
    hs_live_blocks_deinit(&heap->blocks);
    return pins;
}

static const struct hs_pinning_stack *find(const struct hs_pinned_pages *pins, uint32_t stack_id)
{
    for (uint32_t i = 0; i < pins->stack_count; i++) {
        if (pins->stacks[i].stack_id == stack_id) {
            return &pins->stacks[i];
        }
    }
    fail();
    return NULL;
}

static void test_alone_and_together(void **state)
{
    (void)state;
    struct heap heap;
    init(&heap, 10);
    add(&heap, 0 * PAGE + 64, 64, 1);
    add(&heap, 1 * PAGE + 64, 64, 2);
    add(&heap, 2 * PAGE + 64, 64, 1);
    add(&heap, 2 * PAGE + 640, 64, 2);
    add(&heap, 3 * PAGE + 64, 64, 1);
    add(&heap, 3 * PAGE + 640, 64, 0);
    struct hs_pinned_pages *pins = make(&heap);
    assert_true(pins->is_exact);
    assert_int_equal(pins->page_count[0], 6);
    assert_int_equal(pins->page_count[1], 4);
    assert_int_equal(pins->unknown_page_bytes, PAGE);
    assert_int_equal(find(pins, 1)->gain.bytes, PAGE);
    assert_int_equal(find(pins, 2)->gain.bytes, PAGE);
    assert_int_equal(pins->stacks[1].set_gain.bytes, 3 * PAGE);
    assert_int_equal(pins->stacks[1].set_gain.low_bytes, 3 * PAGE);
    assert_int_equal(find(pins, 1)->block_count, 3);
    /* 24 bytes of each: malloc's word, and 16 that were not asked for. */
    assert_int_equal(find(pins, 1)->rounding_bytes, 3 * 24);
    assert_int_equal(pins->head_bytes, 5 * 8);
    hs_pinned_pages_free(pins);
}

/* A chunk at the end of a page keeps the next one too: a free neighbour's links are there. */
static void test_links(void **state)
{
    (void)state;
    struct heap heap;
    init(&heap, 4);
    add(&heap, PAGE - 96, 64, 1);
    struct hs_pinned_pages *pins = make(&heap);
    assert_int_equal(find(pins, 1)->gain.bytes, 2 * PAGE);
    hs_pinned_pages_free(pins);

    init(&heap, 4);
    add(&heap, PAGE - 112, 64, 1);
    pins = make(&heap);
    assert_int_equal(find(pins, 1)->gain.bytes, PAGE);
    hs_pinned_pages_free(pins);
}

/* What is in the list of a thread keeps its page, and belongs to no stack. */
static void test_cached(void **state)
{
    (void)state;
    struct heap heap;
    init(&heap, 4);
    add(&heap, 64, 64, 1);
    add(&heap, 256, 64, 0);
    hs_used_chunks_add_cached(&heap.chunks, BASE + 256);
    add(&heap, PAGE + 64, 64, 1);
    add(&heap, 2 * PAGE + 256, 64, 0);
    hs_used_chunks_add_cached(&heap.chunks, BASE + 2 * PAGE + 256);
    struct hs_pinned_pages *pins = make(&heap);
    assert_int_equal(find(pins, 1)->gain.bytes, PAGE);
    assert_int_equal(pins->cached_page_bytes, PAGE);
    hs_pinned_pages_free(pins);
}

/* Chunks that overlap, lie outside, or are out of order do no harm. */
static void test_hostile(void **state)
{
    (void)state;
    struct heap heap;
    init(&heap, 4);
    add(&heap, 2 * PAGE, 1 << 20, 1);
    add(&heap, 64, 2 * PAGE, 2);
    add(&heap, 128, 64, 3);
    hs_used_chunks_add(&heap.chunks, UINT64_MAX - 64, 4096);
    hs_used_chunks_add(&heap.chunks, 0, 4096);
    heap.blocks.items[heap.blocks.count++] = (struct hs_pair){ BASE + 80, UINT64_MAX };
    hs_pinned_pages_free(make(&heap));
}

/* Every 20th block is sampled: the interval contains what is true. */
static void test_sampled(void **state)
{
    (void)state;
    struct heap heap;
    init(&heap, 2000);
    heap.blocks.widest_bytes = heap.blocks.interval_bytes[1] = 4096;
    for (size_t i = 0; i < 2000; i++) {
        hs_used_chunks_add(&heap.chunks, BASE + i * PAGE + 1024, 224);
        if (i % 20 == 0) {
            heap.blocks.items[heap.blocks.count++] =
                (struct hs_pair){ BASE + i * PAGE + 1040, hs_live_block_pack(7, 210, 1) };
        }
    }
    struct hs_pinned_pages *pins = make(&heap);
    assert_false(pins->is_exact);
    assert_int_equal(pins->stack_count, 1);
    assert_int_equal(pins->stacks[0].gain.high_bytes, 2000 * PAGE);
    assert_in_range(pins->stacks[0].gain.low_bytes, 1800 * PAGE, 2000 * PAGE - 1);
    hs_pinned_pages_free(pins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_and_together),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_cached),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
