/*
 * Cuts under load: the collector takes snapshots of the client's own tables while threads change
 * them as fast as they can, stand still in the middle of a change, or are killed there.
 *
 *     test_cut [TIMES [TEST]]     TIMES times as many snapshots; 40: more than 10,000
 *
 * The live blocks of a cut must be a state that existed. The blocks of a writer are numbered; a
 * block's size is its number, and the number decides its stack (cut_writers.h). With more stacks
 * than blocks, every single block can be read from a snapshot. Then
 *
 *     window   each writer has `window` consecutive blocks, or one less, and no other block
 *     move     each writer has all its blocks, or lacks one or both of the two that it is moving
 *     cause    a block that was inserted because of another one is not there without it
 *     hand     blocks that one writer inserts and another removes are consecutive, at most `window`
 *
 * The same holds at the cut of the peak, because blocks that died before are not in it. A scan that
 * ignores epochs must fail the same checks; otherwise they would prove nothing.
 */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/region/capture.h"
#include "collect/region/cut.h"
#include "collect/region/record_scan.h"
#include "cut_writers.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/bits.h"

static unsigned times = 1;

/* --- what a snapshot must look like ----------------------------------------------------------- */

struct picture { /* of one writer at one instant */
    uint64_t oldest;
    uint64_t end; /* number of its newest block, + 1 */
    uint64_t count;
};

struct view {
    const struct writers_plan *plan;
    const struct hs_estimate *stacks; /* of all writers, WRITERS_STACKS_MAX each */
};

/* Are the blocks from `oldest` to `end` on their stacks, and nothing else? */
static bool are_neighbours(const struct view *view, uint32_t writer, const struct picture *picture)
{
    uint64_t step = view->plan->stack_count;
    for (uint64_t s = 0; s < step; s++) {
        const struct hs_estimate *found = &view->stacks[writer * WRITERS_STACKS_MAX + s];
        uint64_t first = picture->oldest + (s + step - picture->oldest % step) % step;
        uint64_t count = first < picture->end ? (picture->end - first - 1) / step + 1 : 0;
        uint64_t bytes = count * (first + 1) + step * (count * (count - 1) / 2) * (count > 0);
        if (found->count != (double)count || found->bytes != (double)bytes) {
            return false;
        }
    }
    return true;
}

static struct hs_estimate sum_of(const struct view *view, uint32_t writer)
{
    struct hs_estimate sum = { 0 };
    for (uint32_t s = 0; s < WRITERS_STACKS_MAX; s++) {
        sum.bytes += view->stacks[writer * WRITERS_STACKS_MAX + s].bytes;
        sum.count += view->stacks[writer * WRITERS_STACKS_MAX + s].count;
    }
    return sum;
}

static bool read_window(const struct view *view, uint32_t writer, struct picture *ret_picture)
{
    struct hs_estimate sum = sum_of(view, writer);
    double oldest = sum.count > 0 ? sum.bytes / sum.count - (sum.count + 1) / 2 : 0;
    uint64_t window = view->plan->window;
    if (oldest < 0 || oldest != floor(oldest)) {
        return false;
    }
    *ret_picture = (struct picture){ .oldest = (uint64_t)oldest,
                                     .end = (uint64_t)(oldest + sum.count),
                                     .count = (uint64_t)sum.count };
    bool is_full = ret_picture->count == window || ret_picture->count + 1 == window;
    bool is_filling = ret_picture->count < window && oldest == 0;
    bool is_handed = view->plan->kind == WRITERS_HAND && ret_picture->count <= window;
    return (is_full || is_filling || is_handed) && are_neighbours(view, writer, ret_picture);
}

/*
 * Moved blocks may be on any stack, so their sum says which are missing: n, m = n + window / 2, or
 * both.
 */
static bool read_moves(const struct view *view, uint32_t writer, struct picture *ret_picture)
{
    struct hs_estimate sum = sum_of(view, writer);
    double window = view->plan->window, all = window * (window + 1) / 2;
    double missing = all - sum.bytes;
    *ret_picture = (struct picture){ .end = (uint64_t)window, .count = (uint64_t)sum.count };
    if (sum.count == window) {
        return missing == 0;
    }
    if (sum.bytes == sum.count * (sum.count + 1) / 2) {
        ret_picture->end = (uint64_t)sum.count; /* still inserting its first blocks */
        return sum.count < window;
    }
    if (sum.count == window - 1) {
        return missing >= 1 && missing <= window;
    }
    double twice = missing - 2 - floor(window / 2); /* n + 1 + m + 1 */
    return sum.count == window - 2 && fmod(twice, 2) == 0 && twice >= 0 && twice / 2 < window / 2;
}

static bool is_consistent(const struct view *view, struct picture *ret_pictures)
{
    const struct writers_plan *plan = view->plan;
    uint32_t step = plan->kind == WRITERS_HAND ? 2 : 1;
    for (uint32_t i = 0; i < plan->writer_count; i += step) {
        bool is_good = plan->kind == WRITERS_MOVE ? read_moves(view, i, &ret_pictures[i])
                                                  : read_window(view, i, &ret_pictures[i]);
        if (!is_good) {
            return false;
        }
    }
    return plan->kind != WRITERS_CAUSAL || ret_pictures[1].end <= ret_pictures[0].end;
}

/* --- taking them ------------------------------------------------------------------------------ */

/* Where snapshots are taken, and the results so far. */
struct watch {
    struct writers_plan plan;
    struct writers_region source;
    struct hs_region region;
    struct hs_region_control_v1 *own_control;
    struct hs_estimate *stacks; /* room for the stacks of one view */
    uint64_t last_end[WRITERS_MAX];
    unsigned snapshot_count;
    unsigned peak_count; /* how many snapshots had a peak in the past */
    unsigned bad_count;
    unsigned faults; /* faults of all snapshots together */
};

/*
 * In one process, reader and writers also share one mapping, so that ThreadSanitizer sees their
 * accesses meet.
 */
static bool is_one_mapping;

int __real_hs_region_map_section(const struct hs_region *region, enum hs_section_id id,
                                 struct hs_region_map *ret_map);
int __wrap_hs_region_map_section(const struct hs_region *region, enum hs_section_id id,
                                 struct hs_region_map *ret_map);

int __wrap_hs_region_map_section(const struct hs_region *region, enum hs_section_id id,
                                 struct hs_region_map *ret_map)
{
    uint64_t count = hs_region_count(region, id);
    const void *data = is_one_mapping && count > 0 ? writers_section(id, count) : NULL;
    if (!data) {
        return __real_hs_region_map_section(region, id, ret_map);
    }
    *ret_map = (struct hs_region_map){ .data = data,
                                       .count = count,
                                       .elem_bytes = hs_section_elem_bytes(id) };
    return 0;
}

static void watch_open(struct watch *watch, const struct writers_region *source,
                       const struct writers_plan *plan)
{
    const char *why = "";
    *watch = (struct watch){ .plan = *plan, .source = *source };
    watch->stacks = calloc(WRITERS_MAX * WRITERS_STACKS_MAX, sizeof(*watch->stacks));
    assert_non_null(watch->stacks);
    if (hs_region_open(dup(source->fd), source->region_bytes, &watch->region, &why) != 0) {
        fail_msg("not opened: %s", why);
    }
    watch->own_control = watch->region.control;
    if (is_one_mapping) {
        watch->region.control = writers_control();
    }
}

static void watch_close(struct watch *watch)
{
    watch->region.control = watch->own_control;
    hs_region_close(&watch->region);
    free(watch->stacks);
}

/* What can be wrong with a snapshot. */
enum fault {
    FAULT_LIVE = 1 << 0,  /* a state that never existed */
    FAULT_PEAK = 1 << 1,  /* the same for the peak */
    FAULT_SUMS = 1 << 2,  /* the sums of stacks and of threads differ from the total */
    FAULT_ALLOC = 1 << 3, /* totals that do not match the live blocks */
    FAULT_TIME = 1 << 4,  /* older than the snapshot before, or than its own peak */
};

/* Checks a snapshot stack by stack, in total, and against earlier ones. */
static unsigned faults_of(struct watch *watch, const struct hs_snapshot *snap)
{
    const struct writers_plan *plan = &watch->plan;
    struct view view = { plan, watch->stacks };
    struct picture now[WRITERS_MAX], peak[WRITERS_MAX];
    const struct hs_snap_stack *first = &snap->stacks[watch->source.first_stack];
    uint32_t stack_count = WRITERS_MAX * WRITERS_STACKS_MAX;
    double alloc[WRITERS_MAX] = { 0 }, live_count = 0, thread_count = 0;
    for (uint32_t i = 0; i < stack_count; i++) {
        watch->stacks[i] = first[i].peak;
    }
    bool has_peak = snap->peak_time_mono_ns != snap->time_mono_ns;
    unsigned faults = is_consistent(&view, peak) ? 0 : FAULT_PEAK;
    for (uint32_t i = 0; i < stack_count; i++) {
        watch->stacks[i] = first[i].live;
        live_count += first[i].live.count;
        alloc[i / WRITERS_STACKS_MAX] += first[i].alloc.count;
    }
    for (uint32_t i = 0; i < snap->thread_count; i++) {
        thread_count += snap->threads[i].live.count;
    }
    faults |= is_consistent(&view, now) ? 0 : FAULT_LIVE;
    if (snap->bad_count != 0 || live_count != snap->live.count || thread_count != live_count) {
        faults |= FAULT_SUMS;
    }
    for (uint32_t i = 0; faults == 0 && i < plan->writer_count && plan->kind != WRITERS_MOVE; i++) {
        if (plan->kind == WRITERS_HAND && (i % 2 == 1 || now[i].count == 0)) {
            continue;
        }
        /* Up to two blocks may be missing from the totals: see test_capture.c. */
        faults |= fabs(alloc[i] - (double)now[i].end) > 2 ? FAULT_ALLOC : 0;
        faults |= now[i].end < watch->last_end[i] ? FAULT_TIME : 0;
        faults |= peak[i].end > now[i].end ? FAULT_TIME : 0;
        watch->last_end[i] = now[i].end;
    }
    watch->peak_count += has_peak;
    return faults;
}

static struct hs_snapshot *look(struct watch *watch, bool is_dead)
{
    struct hs_snapshot *snap = NULL;
    assert_int_equal(hs_capture(&watch->region, is_dead, 5000, &snap), 0);
    unsigned faults = faults_of(watch, snap);
    watch->bad_count += faults != 0;
    watch->faults |= faults;
    watch->snapshot_count++;
    return snap;
}

static void look_often(struct watch *watch, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        hs_snapshot_free(look(watch, false));
    }
}

/* The control: live blocks as a scan without epochs finds them. */
static bool is_naive_scan_good(struct watch *watch)
{
    uint32_t count = watch->source.first_stack + WRITERS_MAX * WRITERS_STACKS_MAX;
    struct hs_stack_sums *sums = aligned_alloc(64, count * sizeof(*sums));
    struct hs_estimate thread = { 0 };
    struct hs_region_map map;
    struct picture unused[WRITERS_MAX];
    struct view view = { &watch->plan, watch->stacks };
    assert_non_null(sums);
    memset(sums, 0, count * sizeof(*sums));
    assert_int_equal(hs_region_refresh(&watch->region), 0);
    assert_int_equal(hs_region_map_section(&watch->region, HS_SECTION_RECORDS, &map), 0);
    struct hs_record_scan scan = { .records = map.data,
                                   .record_bytes = map.elem_bytes,
                                   .record_count = map.count,
                                   .cut_epoch = HS_CUT_OF_DEAD,
                                   .stack_count = count,
                                   .thread_count = 1,
                                   .sums = sums,
                                   .threads = &thread };
    hs_record_scan_run(&scan);
    hs_region_unmap(&map);
    for (uint32_t i = 0; i < WRITERS_MAX * WRITERS_STACKS_MAX; i++) {
        watch->stacks[i] = sums[watch->source.first_stack + i].live;
    }
    free(sums);
    return is_consistent(&view, unused);
}

/* --- in one process --------------------------------------------------------------------------- */

/*
 * Runs in a child, because each game needs its own tables and peak. The child's exit status is 0 on
 * success.
 */
static int play_here(const char *name, const struct writers_plan *plan, unsigned rounds)
{
    struct writers_region source;
    struct watch watch;
    struct hs_snapshot *snap = NULL;
    unsigned bad_naive = 0, naive_count = 0;
    writers_open(&source);
    is_one_mapping = true;
    watch_open(&watch, &source, plan);
    writers_start(plan);
    look_often(&watch, rounds);
    /* On a busy machine a naive scan may run while no writer works, but not every time. */
    while ((times > 1 && naive_count < rounds) || (naive_count < 5000 && bad_naive < 3)) {
        bad_naive += !is_naive_scan_good(&watch);
        naive_count++;
    }
    writers_stop();
    print_message(
        "%s, window %u: %u of %u snapshots bad (%#x; %u with a peak of their own), %u of %u "
        "naive scans bad\n",
        name, plan->window, watch.bad_count, watch.snapshot_count, watch.faults, watch.peak_count,
        bad_naive, naive_count);
    bool is_empty = hs_capture(&watch.region, false, 5000, &snap) == 0 && snap->live.count == 0;
    hs_snapshot_free(snap);
    watch_close(&watch);
    return !is_empty || watch.bad_count > 0 || bad_naive < 3;
}

static void play_game(const char *name, const struct writers_plan *plan, unsigned rounds)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        status = play_here(name, plan, rounds);
        fflush(NULL);
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Under ThreadSanitizer everything takes a hundred times as long. */
static const struct writers_plan small_plans[] = {
    { WRITERS_WINDOW, 3, HS_IS_TSAN ? 50 : 1000, HS_IS_TSAN ? 64 : 1024 },
    { WRITERS_CAUSAL, 2, HS_IS_TSAN ? 50 : 1000, HS_IS_TSAN ? 64 : 1024 },
    { WRITERS_MOVE, 2, HS_IS_TSAN ? 50 : 1000, HS_IS_TSAN ? 64 : 1024 },
    { WRITERS_HAND, 2, HS_IS_TSAN ? 50 : 4000, HS_IS_TSAN ? 64 : 1024 },
};

static unsigned rounds_of(unsigned count)
{
    return count * times;
}

static void test_windows_have_no_gap(void **state)
{
    (void)state;
    play_game("window", &small_plans[0], rounds_of(40));
    if (!HS_IS_TSAN) {
        play_game("window", &(struct writers_plan){ WRITERS_WINDOW, 2, 30000, 1024 },
                  rounds_of(10));
    }
}

static void test_cause_is_there_before_its_effect(void **state)
{
    (void)state;
    play_game("cause", &small_plans[1], rounds_of(40));
}

static void test_what_moves_is_nowhere_twice(void **state)
{
    (void)state;
    play_game("move", &small_plans[2], rounds_of(40));
}

static void test_what_is_handed_over(void **state)
{
    (void)state;
    play_game("hand", &small_plans[3], rounds_of(40));
}

/* --- in a process of its own: stopped, stuck, killed ------------------------------------------ */

struct child {
    pid_t pid;
    struct watch watch;
};

static void child_start(struct child *child, const struct writers_plan *plan)
{
    int pipe_fds[2];
    struct writers_region source;
    char path[64];
    assert_int_equal(pipe(pipe_fds), 0);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        writers_open(&source);
        if (write(pipe_fds[1], &source, sizeof(source)) != sizeof(source)) {
            _exit(2);
        }
        writers_run(plan);
    }
    assert_int_equal(read(pipe_fds[0], &source, sizeof(source)), sizeof(source));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", child->pid, source.fd);
    source.fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(source.fd >= 0);
    watch_open(&child->watch, &source, plan);
    close(source.fd);
}

/* Kills the child; the region that it left is checked as well. */
static void child_end(struct child *child, struct watch *sum)
{
    kill(child->pid, SIGKILL);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
    hs_snapshot_free(look(&child->watch, true));
    sum->snapshot_count += child->watch.snapshot_count;
    sum->peak_count += child->watch.peak_count;
    sum->bad_count += child->watch.bad_count;
    sum->faults |= child->watch.faults;
    watch_close(&child->watch);
}

static void report(const char *name, unsigned count, const struct watch *sum)
{
    print_message("%s %u times: %u of %u snapshots bad (%u with a peak of their own)\n", name,
                  count, sum->bad_count, sum->snapshot_count, sum->peak_count);
    assert_int_equal(sum->bad_count, 0);
}

static void sleep_us(uint64_t us)
{
    nanosleep(&(struct timespec){ .tv_sec = (time_t)(us / 1000000),
                                  .tv_nsec = (long)(us % 1000000 * 1000) },
              NULL);
}

static uint64_t random_below(uint64_t limit)
{
    static uint64_t state;
    return hs_mix64(++state) % limit;
}

/*
 * Starts with empty tables, which grow during the test: alone, without locked instructions, and
 * together.
 */
static void test_tables_that_grow(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 2; count++) {
        struct child child;
        struct watch sum = { 0 };
        uint32_t window = times > 1 ? 300000 : 60000;
        child_start(&child, &(struct writers_plan){ WRITERS_WINDOW, count, window, 1024 });
        look_often(&child.watch, times > 1 ? 80 : 20);
        child_end(&child, &sum);
        report(count == 1 ? "growing, alone" : "growing, two", 1, &sum);
    }
}

static const struct writers_plan child_plans[] = {
    { WRITERS_WINDOW, 1, 500, 1024 }, { WRITERS_WINDOW, 3, 500, 1024 },
    { WRITERS_CAUSAL, 2, 500, 1024 }, { WRITERS_MOVE, 1, 500, 1024 },
    { WRITERS_HAND, 2, 500, 1024 },
};
#define CHILD_PLANS (sizeof(child_plans) / sizeof(child_plans[0]))

struct killer {
    pid_t pid;
    uint64_t wait_us;
};

static void *kill_later(void *arg)
{
    const struct killer *killer = arg;
    sleep_us(killer->wait_us);
    kill(killer->pid, SIGKILL);
    return NULL;
}

/*
 * The signal comes at any moment: usually while a cut is open, because one cut follows the other.
 */
static void test_killed(void **state)
{
    (void)state;
    struct watch sum = { 0 };
    unsigned count = 10 * times;
    for (unsigned i = 0; i < count; i++) {
        struct child child;
        pthread_t thread;
        siginfo_t info = { 0 };
        child_start(&child, &child_plans[i % CHILD_PLANS]);
        struct killer killer = { child.pid, random_below(20000) };
        assert_int_equal(pthread_create(&thread, NULL, kill_later, &killer), 0);
        while (info.si_pid == 0) {
            look_often(&child.watch, 1);
            waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOHANG | WNOWAIT);
        }
        pthread_join(thread, NULL);
        child_end(&child, &sum);
    }
    report("killed", count, &sum);
}

static bool is_same(const struct hs_snapshot *a, const struct hs_snapshot *b)
{
    bool is_equal = a->stack_count == b->stack_count;
    for (uint32_t i = 0; is_equal && i < a->stack_count; i++) {
        const struct hs_estimate *x = &a->stacks[i].live, *y = &b->stacks[i].live;
        is_equal = x->bytes == y->bytes && x->count == y->count;
    }
    return is_equal;
}

/* All snapshots of a stopped process are the same. */
static void test_stopped(void **state)
{
    (void)state;
    struct watch sum = { 0 };
    unsigned count = 0;
    for (size_t i = 0; i < CHILD_PLANS; i++) {
        struct child child;
        child_start(&child, &child_plans[i]);
        for (unsigned k = 0; k < 2 * times; k++) {
            look_often(&child.watch, 1);
            sleep_us(random_below(2000));
            kill(child.pid, SIGSTOP);
            assert_int_equal(waitpid(child.pid, NULL, WUNTRACED), child.pid);
            struct hs_snapshot *first = look(&child.watch, false);
            struct hs_snapshot *second = look(&child.watch, false);
            assert_true(is_same(first, second));
            hs_snapshot_free(first);
            hs_snapshot_free(second);
            kill(child.pid, SIGCONT);
            count++;
        }
        child_end(&child, &sum);
    }
    report("stopped", count, &sum);
}

/*
 * One thread stands in the middle of the client's code, for many cuts, while the others continue.
 */
static void test_one_thread_stuck(void **state)
{
    (void)state;
    struct watch sum = { 0 };
    unsigned count = 0;
    for (size_t i = 0; i < CHILD_PLANS; i++) {
        struct child child;
        child_start(&child, &child_plans[i]);
        int status;
        assert_int_equal(ptrace(PTRACE_SEIZE, child.pid, NULL, NULL), 0);
        for (unsigned k = 0; k < 3 * times; k++) {
            sleep_us(random_below(1000));
            assert_int_equal(ptrace(PTRACE_INTERRUPT, child.pid, NULL, NULL), 0);
            assert_int_equal(waitpid(child.pid, &status, __WALL), child.pid);
            /* Its blocks are at most one operation behind, whatever the others do. */
            look_often(&child.watch, 3);
            assert_int_equal(ptrace(PTRACE_CONT, child.pid, NULL, NULL), 0);
            count++;
        }
        child_end(&child, &sum);
    }
    report("one thread stuck", count, &sum);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        times = (unsigned)strtoul(argv[1], NULL, 10);
    }
    if (argc > 2) {
        cmocka_set_test_filter(argv[2]);
    }
    const struct CMUnitTest in_threads[] = {
        cmocka_unit_test(test_windows_have_no_gap),
        cmocka_unit_test(test_cause_is_there_before_its_effect),
        cmocka_unit_test(test_what_moves_is_nowhere_twice),
        cmocka_unit_test(test_what_is_handed_over),
    };
    const struct CMUnitTest in_children[] = {
        cmocka_unit_test(test_tables_that_grow),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_one_thread_stuck),
    };
    int failed = cmocka_run_group_tests(in_threads, NULL, NULL);
    /* ThreadSanitizer sees one process only. */
    return failed + (HS_IS_TSAN ? 0 : cmocka_run_group_tests(in_children, NULL, NULL));
}
