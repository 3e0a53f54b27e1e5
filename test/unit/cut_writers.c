/* Threads that write the client's tables: see cut_writers.h. */
#include "cut_writers.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/tables/live.h"
#include "client/tables/region.h"
#include "client/tables/shared.h"
#include "client/tables/stacks.h"
#include "client/thread/thread.h"
#include "rt/bits.h"

static struct writers_plan plan;
static pthread_t threads[WRITERS_MAX];
static uint32_t first_stack;
static uint32_t is_over;
static uint64_t published[WRITERS_MAX]; /* by the first of a pair: number of blocks inserted */
static uint64_t consumed[WRITERS_MAX];  /* by the second: number of blocks removed */
static uint32_t has_ended[WRITERS_MAX];

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

/*
 * The same addresses are used again and again. Those of different writers are interleaved, so that
 * the writers share words of the filter.
 */
static uintptr_t addr_of(uint32_t writer_no, uint64_t slot)
{
    return (UINT64_C(1) << 40) + (slot * WRITERS_MAX + writer_no) * 16;
}

static uint32_t stack_of(uint32_t writer_no, uint64_t n)
{
    return first_stack + writer_no * WRITERS_STACKS_MAX + (uint32_t)(n % plan.stack_count);
}

/* Like record() in client/hooks/record.c. */
static void birth(uint32_t writer_no, uint64_t slot, uint64_t n, uint32_t stack_id)
{
    struct hs_live_block block = {
        .addr = addr_of(writer_no, slot),
        .size_bytes = n + 1,
        .weight_bytes = n + 1,
        .stack_id = stack_id,
        .epoch = hs_load_acquire(&hs_control_page.control.epoch),
    };
    require(hs_live_insert(hs_thread_self(), &block) == HS_LOSS_N);
    hs_stack_add(hs_stack_totals(stack_id, block.epoch), n + 1, 0, 1);
}

static void death(uint32_t writer_no, uint64_t slot)
{
    struct hs_thread *self = hs_thread_self();
    require(hs_live_remove_young(self, addr_of(writer_no, slot)) ||
            hs_live_remove(self, addr_of(writer_no, slot), NULL));
}

static bool has_time(void)
{
    return !hs_load_relaxed(&is_over);
}

static void play_window(uint32_t no)
{
    uint64_t window = plan.window, n = 0;
    bool is_causal = plan.kind == WRITERS_CAUSAL;
    while (has_time()) {
        if (is_causal && no == 1 && hs_load_acquire(&published[0]) <= n) {
            sched_yield();
            continue;
        }
        if (n >= window) {
            death(no, n % window);
        }
        birth(no, n % window, n, stack_of(no, n));
        n++;
        if (is_causal && no == 0) {
            hs_store_release(&published[0], n);
        }
    }
    for (uint64_t i = n > window ? n - window : 0; i < n; i++) {
        death(no, i % window);
    }
}

static void play_moves(uint32_t no)
{
    uint64_t window = plan.window, done = 0;
    for (uint64_t n = 0; n < window; n++) {
        birth(no, n, n, stack_of(no, n));
    }
    while (has_time()) {
        uint64_t random = hs_mix64(++done + ((uint64_t)no << 40));
        uint64_t n = random % (window / 2), other = window / 2 + n;
        /*
         * The two blocks exchange their records: a block that kept its own would look as if it had
         * not moved.
         */
        death(no, n);
        death(no, other);
        birth(no, n, n, stack_of(no, random >> 20));
        birth(no, other, other, stack_of(no, random >> 40));
    }
    for (uint64_t n = 0; n < window; n++) {
        death(no, n);
    }
}

static void play_giver(uint32_t no)
{
    uint64_t n = 0;
    while (has_time()) {
        if (n - hs_load_acquire(&consumed[no]) < plan.window) {
            birth(no, n % plan.window, n, stack_of(no, n));
            hs_store_release(&published[no], ++n);
        } else {
            sched_yield();
        }
    }
    hs_store_release(&has_ended[no], 1);
}

static void play_taker(uint32_t giver_no)
{
    for (uint64_t n = 0;;) {
        bool is_last = hs_load_acquire(&has_ended[giver_no]) != 0;
        if (hs_load_acquire(&published[giver_no]) > n) {
            death(giver_no, n % plan.window);
            hs_store_release(&consumed[giver_no], ++n);
        } else if (is_last) {
            return;
        } else {
            sched_yield();
        }
    }
}

static void *play(void *arg)
{
    uint32_t no = (uint32_t)(uintptr_t)arg;
    switch (plan.kind) {
    case WRITERS_WINDOW:
    case WRITERS_CAUSAL:
        play_window(no);
        break;
    case WRITERS_MOVE:
        play_moves(no);
        break;
    case WRITERS_HAND:
        if (no % 2 == 0) {
            play_giver(no);
        } else {
            play_taker(no - 1);
        }
        break;
    }
    return NULL;
}

void writers_open(struct writers_region *ret_region)
{
    require(!hs_region.header);
    require(hs_region_create(&ret_region->fd) == 0);
    hs_shared_init();
    require(hs_live_init() && hs_stacks_init());
    for (uint32_t i = 0; i < WRITERS_MAX * WRITERS_STACKS_MAX; i++) {
        uint32_t frame_id = hs_frame_intern(0x1000 + i, HS_MODULE_ID_MARKER, 0);
        struct hs_stack_key key = { .frame_ids = &frame_id, .frame_count = 1 };
        uint32_t id = hs_stack_intern(&key);
        first_stack = i == 0 ? id : first_stack;
        require(frame_id != HS_ID_NONE && id == first_stack + i);
    }
    ret_region->region_bytes = hs_region.file_bytes;
    ret_region->first_stack = first_stack;
}

struct hs_region_control_v1 *writers_control(void)
{
    return &hs_control_page.control;
}

const void *writers_section(enum hs_section_id section, uint64_t count)
{
    switch (section) { /* hs_region_at needs a constant section at each call */
    case HS_SECTION_STACKS:
        require(hs_region_at(HS_SECTION_STACKS, count - 1) != NULL);
        return hs_region_at(HS_SECTION_STACKS, 0);
    case HS_SECTION_RECORDS:
        require(hs_region_at(HS_SECTION_RECORDS, count - 1) != NULL);
        return hs_region_at(HS_SECTION_RECORDS, 0);
    default:
        return NULL;
    }
}

static void begin(const struct writers_plan *new_plan, uint32_t thread_count)
{
    plan = *new_plan;
    is_over = 0;
    for (uint32_t i = 0; i < plan.writer_count; i++) {
        published[i] = 0;
        consumed[i] = 0;
        has_ended[i] = 0;
    }
    for (uint32_t i = 0; i < thread_count; i++) {
        require(pthread_create(&threads[i], NULL, play, (void *)(uintptr_t)i) == 0);
    }
}

void writers_start(const struct writers_plan *new_plan)
{
    begin(new_plan, new_plan->writer_count);
}

void writers_stop(void)
{
    hs_store_relaxed(&is_over, 1);
    for (uint32_t i = 0; i < plan.writer_count; i++) {
        pthread_join(threads[i], NULL);
    }
    HS_ASSERT(hs_region_is_valid());
    HS_ASSERT(hs_stacks_is_valid());
    HS_ASSERT(hs_filter_is_valid());
    HS_ASSERT(hs_locate_is_valid());
    HS_ASSERT(hs_record_pool_is_valid());
    HS_ASSERT(hs_live_is_valid());
}

_Noreturn void writers_run(const struct writers_plan *new_plan)
{
    begin(new_plan, new_plan->writer_count - 1);
    play((void *)(uintptr_t)(plan.writer_count - 1));
    _exit(1); /* only a signal ends the process */
}
