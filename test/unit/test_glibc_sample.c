/* A sample of a large heap, compared with all of it, and with what glibc says of it. */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/glibc_heap.h"
#include "rt/bits.h"

#define MIB          (UINT64_C(1) << 20)
#define BLOCKS_MAX   (UINT64_C(4) << 20)
#define RECORDED_MAX (UINT64_C(1) << 20)
/* A block is recorded about once in so many bytes. */
#define INTERVAL_BYTES 4096U

/* What the child shares. */
struct said {
    struct mallinfo2 info;
    uint64_t free_bytes; /* of all arenas, by malloc_info */
    uint64_t recorded_count;
    uint64_t recorded_va[RECORDED_MAX];
};

static struct said *said;
static void **blocks;
static uint64_t block_count;
static uint64_t seed = 1;

static uint64_t next_random(void)
{
    return hs_mix64(seed++);
}

static void add_block(size_t size_bytes)
{
    void *block = malloc(size_bytes);
    memset(block, 1, size_bytes);
    blocks[block_count++] = block;
}

static void free_block(uint64_t i)
{
    free(blocks[i]);
    blocks[i] = NULL;
}

static void fill(uint64_t bytes, size_t size_min_bytes, size_t size_max_bytes)
{
    for (uint64_t sum = 0; sum < bytes && block_count < BLOCKS_MAX;) {
        size_t size_bytes = size_min_bytes + next_random() % (size_max_bytes - size_min_bytes + 1);
        add_block(size_bytes);
        sum += size_bytes + 16;
    }
}

static void make_comb(void)
{
    fill(300 * MIB, 1000, 1000);
    for (uint64_t i = 0; i < block_count; i++) {
        if (i % 8 != 0) {
            free_block(i);
        }
    }
}

/* From its end to its start, below a block that stays. Their heads stay where they are. */
static void make_end(void)
{
    fill(300 * MIB, 500, 500);
    for (uint64_t i = block_count - 1; i-- > block_count / 3;) {
        free_block(i);
    }
}

static void make_mix(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    for (unsigned i = 0; i < 10; i++) {
        uint64_t first = block_count;
        fill(30 * MIB, 20, 400);
        fill(15 * MIB, 1000, 20000);
        fill(i % 3 * MIB, 300000, 500000);
        for (uint64_t k = first; k < block_count; k++) {
            if (next_random() % 14 < i) {
                free_block(k);
            }
        }
    }
}

static void *work(void *arg)
{
    (void)arg;
    fill(75 * MIB, 300, 3000);
    return NULL;
}

static void make_arenas(void)
{
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
        pthread_join(threads[i], NULL);
    }
    for (uint64_t i = 0; i < block_count; i++) {
        if (next_random() % 3 == 0) {
            free_block(i);
        }
    }
}

static void record(void)
{
    for (uint64_t i = 0; i < block_count; i++) {
        if (blocks[i] && next_random() % INTERVAL_BYTES < malloc_usable_size(blocks[i])) {
            said->recorded_va[said->recorded_count++] = (uint64_t)(uintptr_t)blocks[i];
        }
    }
}

/* Some heads are overwritten: of one block in 24,000. A walk over all of the heap gives up after
 * 64, and a sample of one part in eight misses all 60 once in 3000 times. */
static void make_broken(void)
{
    fill(300 * MIB, 200, 200);
    record();
    for (uint64_t i = 1000; i < block_count; i += 24000) {
        memset((char *)blocks[i] - 16, 0xff, 16);
    }
}

/* What is recorded lies inside of blocks, where the heads make no sense. */
static void make_foreign(void)
{
    fill(300 * MIB, 1000, 1000);
    record();
    for (uint64_t i = 0; i < said->recorded_count; i++) {
        said->recorded_va[i] += 64;
    }
}

/* The same, but there is a head, with nothing behind it. */
static void make_false(void)
{
    static const uint64_t head[2] = { 0, 0x101 };
    make_foreign();
    for (uint64_t i = 0; i < block_count; i++) {
        memcpy((char *)blocks[i] + 48, head, sizeof(head));
    }
}

/* A head of all chunks but the first is overwritten. */
static void make_ruins(void)
{
    fill(300 * MIB, 1000, 1000);
    record();
    for (uint64_t i = 1; i < block_count; i++) {
        memset((char *)blocks[i] - 16, (int)next_random(), 16);
    }
}

static pid_t start(void (*make)(void))
{
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    said->recorded_count = 0;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        make();
        if (said->recorded_count == 0) {
            record();
            said->info = mallinfo2();
        }
        if (write(ends[1], &byte, 1) == 1) {
            pause();
        }
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return pid;
}

static void take_recorded(struct hs_live_blocks *ret_blocks)
{
    *ret_blocks =
        (struct hs_live_blocks){ .count = said->recorded_count, .widest_bytes = INTERVAL_BYTES };
    ret_blocks->items = calloc(ret_blocks->count + 1, sizeof(ret_blocks->items[0]));
    assert_non_null(ret_blocks->items);
    for (size_t i = 0; i < ret_blocks->count; i++) {
        ret_blocks->items[i].key = said->recorded_va[i];
    }
    assert_int_equal(hs_sort_pairs(ret_blocks->items, ret_blocks->count), 0);
}

struct both {
    struct hs_glibc_heap whole, sampled;
};

static void read_both(void (*make)(void), struct both *ret_both)
{
    pid_t pid = start(make);
    struct hs_address_space space;
    struct hs_glibc_place place;
    struct hs_live_blocks recorded;
    take_recorded(&recorded);
    print_message("arena %zu, recorded %zu\n", said->info.arena, recorded.count);
    assert_int_equal(hs_address_space_read(pid, &space), 0);
    assert_true(hs_glibc_place_find(pid, &space, &place));
    assert_int_equal(hs_glibc_heap_read(pid, &space, &place, NULL, NULL, &ret_both->whole), 0);
    assert_int_equal(hs_glibc_heap_read(pid, &space, &place, &recorded, NULL, &ret_both->sampled),
                     0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    hs_address_space_deinit(&space);
    hs_live_blocks_deinit(&recorded);
    print_message("copied %llu KiB, of all %llu KiB\n",
                  (unsigned long long)ret_both->sampled.copied_bytes / 1024,
                  (unsigned long long)ret_both->whole.copied_bytes / 1024);
}

static void deinit(struct both *both)
{
    hs_glibc_heap_deinit(&both->whole);
    hs_glibc_heap_deinit(&both->sampled);
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Both have the same sums over all states, and each estimate is near the truth. Returns by how many
 * margins the worst differs. */
static double check_near(const struct both *both)
{
    const struct hs_malloc_space *whole = &both->whole.space, *sampled = &both->sampled.space;
    struct hs_malloc_sum sums[2] = { 0 };
    double worst = 0;
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        const struct hs_malloc_sum *a = &whole->sums[i], *b = &sampled->sums[i];
        uint64_t by = difference(a->resident_bytes, b->resident_bytes);
        print_message("%zu: %llu chunks, %llu resident; estimated %llu, %llu ± %llu\n", i,
                      (unsigned long long)a->count, (unsigned long long)a->resident_bytes,
                      (unsigned long long)b->count, (unsigned long long)b->resident_bytes,
                      (unsigned long long)b->margin_bytes);
        sums[0].bytes += a->bytes;
        sums[0].resident_bytes += a->resident_bytes;
        sums[1].bytes += b->bytes;
        sums[1].resident_bytes += b->resident_bytes;
        double margins = (double)by / (double)(b->margin_bytes ? b->margin_bytes : 128 * 1024);
        worst = margins > worst ? margins : worst;
        assert_true(b->margin_bytes < 40 * MIB);
    }
    uint64_t trim_by = difference(whole->trim_bytes, sampled->trim_bytes);
    print_message("trim %llu; estimated %llu ± %llu\n", (unsigned long long)whole->trim_bytes,
                  (unsigned long long)sampled->trim_bytes,
                  (unsigned long long)sampled->trim_margin_bytes);
    assert_int_equal(sums[0].bytes, sums[1].bytes);
    assert_int_equal(sums[0].resident_bytes, sums[1].resident_bytes);
    assert_true(trim_by <= 2 * sampled->trim_margin_bytes);
    return worst;
}

/* A sanitizer serves malloc itself. */
static bool has_glibc_heap(void)
{
    free(malloc(100));
    return mallinfo2().arena > 0;
}

static void check(void (*make)(void))
{
    struct both both;
    if (!has_glibc_heap()) {
        skip();
    }
    read_both(make, &both);
    assert_true(both.whole.space.part_share <= 1 && both.sampled.space.part_share >= 8);
    assert_true(both.sampled.copied_bytes < 80 * MIB);
    /* 1 in 20 differs by more than a margin, and 1 in 10,000 by more than two. */
    assert_true(check_near(&both) < 2);
    deinit(&both);
}

static void test_comb(void **state)
{
    (void)state;
    check(make_comb);
}

static void test_end(void **state)
{
    (void)state;
    check(make_end);
}

static void test_mix(void **state)
{
    (void)state;
    check(make_mix);
}

static void test_arenas(void **state)
{
    (void)state;
    check(make_arenas);
}

/* What cannot be read is told, and little else is lost. */
static void test_broken(void **state)
{
    struct both both;
    (void)state;
    if (!has_glibc_heap()) {
        skip();
    }
    read_both(make_broken, &both);
    for (unsigned i = 0; i < 3 && both.sampled.space.sums[HS_MALLOC_UNREADABLE].bytes == 0; i++) {
        deinit(&both);
        read_both(make_broken, &both);
    }
    const struct hs_malloc_sum *sums = both.sampled.space.sums;
    print_message("unreadable: %llu ± %llu bytes\n",
                  (unsigned long long)sums[HS_MALLOC_UNREADABLE].resident_bytes,
                  (unsigned long long)sums[HS_MALLOC_UNREADABLE].margin_bytes);
    assert_true(both.sampled.space.part_share >= 8);
    assert_true(sums[HS_MALLOC_UNREADABLE].resident_bytes < MIB);
    assert_true(sums[HS_MALLOC_UNREADABLE].resident_bytes > 0);
    assert_true(check_near(&both) < 2);
    deinit(&both);
}

static void test_foreign(void **state)
{
    struct both both;
    (void)state;
    if (!has_glibc_heap()) {
        skip();
    }
    read_both(make_foreign, &both);
    assert_true(both.sampled.space.part_share >= 8);
    assert_int_equal(both.sampled.space.sums[HS_MALLOC_UNREADABLE].bytes, 0);
    assert_true(check_near(&both) < 2);
    deinit(&both);
}

/* All of a heap is read where the recorded blocks are no chunks. */
static void test_false(void **state)
{
    struct both both;
    (void)state;
    if (!has_glibc_heap()) {
        skip();
    }
    read_both(make_false, &both);
    assert_true(both.sampled.space.part_share <= 1);
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        const struct hs_malloc_sum *a = &both.whole.space.sums[i];
        const struct hs_malloc_sum *b = &both.sampled.space.sums[i];
        assert_int_equal(a->count, b->count);
        assert_int_equal(a->bytes, b->bytes);
        assert_int_equal(a->resident_bytes, b->resident_bytes);
    }
    deinit(&both);
}

static void test_ruins(void **state)
{
    struct both both;
    (void)state;
    if (!has_glibc_heap()) {
        skip();
    }
    read_both(make_ruins, &both);
    assert_true(both.sampled.space.sums[HS_MALLOC_UNREADABLE].resident_bytes > 290 * MIB);
    deinit(&both);
}

static int set_up(void **state)
{
    (void)state;
    said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    blocks = mmap(NULL, BLOCKS_MAX * sizeof(blocks[0]), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return said == MAP_FAILED || blocks == MAP_FAILED ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comb),   cmocka_unit_test(test_end),
        cmocka_unit_test(test_mix),    cmocka_unit_test(test_arenas),
        cmocka_unit_test(test_broken), cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_false),  cmocka_unit_test(test_ruins),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
