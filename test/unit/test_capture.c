/*
 * Tests of collect/capture, cut and record_scan on a region written by region_writer.c.
 *
 * How consistency is proved: each player holds exactly `window` blocks. Block n is inserted, then
 * block n - window is removed. Block n has n bytes, so a window without gaps has the sum of an
 * arithmetic series. One block too many, too few, or from another moment breaks it. A scan that
 * ignores epochs must fail the same check; otherwise the test would prove nothing.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/region/capture.h"
#include "collect/region/cut.h"
#include "collect/region/open_cut.h"
#include "collect/region/record_scan.h"
#include "region_writer.h"
#include "rt/atomic.h"
#include "rt/base.h"

#define PLAYERS 4U

/* Under ThreadSanitizer a scan takes a hundred times as long. */
#define SCALE       (HS_IS_TSAN ? 16U : 1U)
#define SPARE_SLOTS (32000U / SCALE) /* how many tombstones a player may have while a cut is open */

static struct hs_region open_region(const struct region_writer *w)
{
    struct hs_region region;
    const char *why = "";
    if (hs_region_open(region_writer_dup(w), w->file_bytes, &region, &why) != 0) {
        fail_msg("not opened: %s", why);
    }
    return region;
}

static struct hs_snapshot *capture(struct hs_region *region, bool is_dead)
{
    struct hs_snapshot *snap = NULL;
    assert_int_equal(hs_capture(region, is_dead, 5000, &snap), 0);
    assert_non_null(snap);
    return snap;
}

static void test_known_heap_is_read_exactly(void **state)
{
    (void)state;
    struct region_writer w;
    struct player p;
    region_writer_init(&w, &(struct region_plan){ 1024, 4096 });
    uint32_t module = region_writer_module(&w, "/bin/writer", 0x10000, 0x8000);
    uint32_t leaf = region_writer_frame(&w, 0x10010, module, HS_FRAME_EXACT);
    uint32_t caller = region_writer_frame(&w, 0x10020, module, 0);
    uint32_t end =
        region_writer_frame(&w, HS_FRAME_PC_END + HS_STACK_END_NO_INFO, 0, HS_FRAME_MARKER);
    uint32_t a = region_writer_stack(&w, (uint32_t[]){ leaf, caller, end }, 3);
    uint32_t b = region_writer_stack(&w, (uint32_t[]){ caller }, 1);
    player_init(&p, &w, 1, 0, 1024);
    w.header->sections[HS_SECTION_RECORDS].count = 1024;
    player_birth(&p, a, 10000, 0);
    uint32_t dead = player_birth(&p, a, 20000, 0);
    player_birth(&p, b, 100, 2);
    player_death(&p, dead);

    struct hs_region region = open_region(&w);
    for (int is_dead = 0; is_dead < 2; is_dead++) {
        struct hs_snapshot *snap = capture(&region, is_dead != 0);
        double one_in = 1 / (1 - exp(-100.0 / 4096));
        assert_int_equal(snap->stack_count, 2);
        assert_true(snap->stacks[a].live.bytes == 10000 && snap->stacks[a].live.count == 1);
        assert_true(snap->stacks[a].alloc.bytes == 30000 && snap->stacks[a].alloc.count == 2);
        assert_true(snap->stacks[a].alloc.bytes_var == 0);
        assert_true(snap->stacks[b].live.bytes == 8192);
        assert_true(snap->stacks[b].live.bytes_var == 8192.0 * 4096);
        assert_true(fabs(snap->stacks[b].live.count - one_in) < 1e-9);
        assert_true(fabs(snap->stacks[b].live.count_var - one_in * (one_in - 1)) < 1e-6);
        assert_true(snap->live.bytes == 18192 && snap->alloc.bytes == 38192);
        assert_true(snap->threads[1].live.bytes == 18192 && snap->threads[1].tid == 101);
        assert_int_equal(snap->stacks[a].frame_count, 3);
        const struct hs_snap_frame *frames = snap->frames;
        assert_int_equal(frames[snap->stacks[a].frame_ids[0]].rel_pc, 0x8010);
        assert_int_equal(frames[snap->stacks[a].frame_ids[1]].rel_pc, 0x801f);
        assert_int_equal(frames[snap->stacks[a].frame_ids[2]].pc, 257);
        assert_string_equal(snap->modules[module].path, "/bin/writer");
        assert_string_equal(snap->exe, "/bin/writer");
        assert_string_equal(snap->heaps[0].name, "libc.malloc");
        assert_int_equal(snap->bad_count, 0);
        assert_int_equal(snap->peak_time_mono_ns, 5000);
        hs_snapshot_free(snap);
    }
    /*
     * The first of the two cuts changed the parity: from now on, allocations are added to the other
     * totals.
     */
    player_birth(&p, a, 5000, 0);
    struct hs_snapshot *snap = capture(&region, false);
    assert_true(snap->stacks[a].alloc.bytes == 35000 && snap->stacks[a].live.bytes == 15000);
    assert_int_equal(w.control->snapshot_epoch, 0);
    hs_snapshot_free(snap);
    hs_region_close(&region);
    player_deinit(&p);
    region_writer_deinit(&w);
}

/* A stack of another heap. */
static uint32_t stack_in(struct region_writer *w, uint8_t heap_id, uint32_t frame)
{
    uint32_t id = region_writer_stack(w, &frame, 1);
    struct hs_stack_v1 *stack = region_writer_at(w, HS_SECTION_STACKS, id);
    stack->heap_id = heap_id;
    return id;
}

/* Totals do not say at which interval they were sampled. */
static void test_each_heap_has_the_error_of_its_interval(void **state)
{
    (void)state;
    struct region_writer w;
    struct player p;
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    uint32_t module = region_writer_module(&w, "/bin/writer", 0x10000, 0x8000);
    uint32_t frame = region_writer_frame(&w, 0x10010, module, HS_FRAME_EXACT);
    const char *const names[] = { "fine", "coarse", "off" };
    const uint64_t intervals[] = { 4096, 64, 65536, HS_INTERVAL_OFF };
    uint32_t stacks[4] = { stack_in(&w, 0, frame) };
    for (uint8_t i = 1; i < 4; i++) {
        uint8_t heap = region_writer_heap(&w, names[i - 1], HS_HEAP_NAMED);
        struct hs_heap_v2 *of = region_writer_at(&w, HS_SECTION_HEAPS, heap);
        of->interval_bytes = intervals[i];
        stacks[i] = stack_in(&w, heap, frame);
    }
    player_init(&p, &w, 1, 0, 64);
    w.header->sections[HS_SECTION_RECORDS].count = 64;
    for (unsigned i = 0; i < 4; i++) {
        player_birth(&p, stacks[i], 100, 1);
    }
    w.header->interval_bytes[2] = 64;
    w.header->interval_bytes[3] = 65536;
    w.header->interval_count = 4;
    struct hs_region region = open_region(&w);
    region.has_one_selection = true;
    struct hs_snapshot *snap = capture(&region, true);
    for (unsigned i = 0; i < 3; i++) {
        const struct hs_estimate *alloc = &snap->stacks[stacks[i]].alloc;
        assert_true(alloc->bytes_var == alloc->bytes * (double)intervals[i]);
    }
    /* Nobody knows at which interval it was recorded when it was. */
    assert_true(snap->stacks[stacks[3]].alloc.bytes_var ==
                snap->stacks[stacks[3]].alloc.bytes * 65536);
    hs_snapshot_free(snap);

    /* Any heap may have had the interval of another session, or one from before a budget. */
    for (int turn = 0; turn < 2; turn++) {
        region.has_one_selection = turn == 1;
        w.header->interval_bytes[4] = 16;
        w.header->interval_count = 4 + (uint32_t)turn;
        snap = capture(&region, true);
        for (unsigned i = 0; i < 4; i++) {
            const struct hs_estimate *alloc = &snap->stacks[stacks[i]].alloc;
            assert_true(alloc->bytes_var == alloc->bytes * 65536);
        }
        hs_snapshot_free(snap);
    }
    hs_region_close(&region);
    player_deinit(&p);
    region_writer_deinit(&w);
}

/* Takes the cut of a heap's own peak, as the client does. */
static void mark_heap_peak(struct region_writer *w, uint8_t heap_id, int64_t bytes)
{
    struct hs_heap_v2 *heap = region_writer_at(w, HS_SECTION_HEAPS, heap_id);
    heap->peak_epoch = w->control->epoch;
    w->control->epoch += 2;
    heap->peak_bytes = heap->peak_most_bytes = bytes;
    heap->peak_time_ns = 3000;
}

static void test_carved_heaps_are_not_in_the_totals(void **state)
{
    (void)state;
    struct region_writer w;
    struct player p;
    region_writer_init(&w, &(struct region_plan){ 1024, 1 });
    uint8_t pool = region_writer_heap(&w, "pool", HS_HEAP_CARVED);
    uint8_t other = region_writer_heap(&w, "other", 0);
    uint32_t module = region_writer_module(&w, "/bin/writer", 0x10000, 0);
    uint32_t frame = region_writer_frame(&w, 0x10010, module, 0);
    uint32_t of_malloc = stack_in(&w, 0, frame);
    uint32_t of_pool = stack_in(&w, pool, frame);
    uint32_t of_other = stack_in(&w, other, frame);
    player_init(&p, &w, 1, 0, 1024);
    w.header->sections[HS_SECTION_RECORDS].count = 1024;
    player_birth(&p, of_malloc, 1000, 0);
    uint32_t first = player_birth(&p, of_pool, 300, 0);
    player_birth(&p, of_pool, 400, 0);
    player_birth(&p, of_other, 50, 0);
    mark_heap_peak(&w, pool, 700);
    /* The block dies after its heap's peak: it leaves a tombstone for that. */
    struct hs_record_v1 *record = region_writer_at(&w, HS_SECTION_RECORDS, first);
    record->word = HS_RECORD_WORD(w.control->epoch, 0, 0, HS_RECORD_DEAD | HS_RECORD_IN_PEAK);

    struct hs_region region = open_region(&w);
    for (int is_dead = 0; is_dead < 2; is_dead++) {
        struct hs_snapshot *snap = capture(&region, is_dead != 0);
        assert_int_equal(snap->heap_count, 3);
        assert_true(snap->live.bytes == 1050 && snap->alloc.bytes == 1050);
        assert_true(snap->peak.bytes == 1050 && snap->threads[1].live.bytes == 1050);
        const struct hs_snap_heap *heap = &snap->heaps[pool];
        assert_true(heap->is_carved && !snap->heaps[other].is_carved);
        assert_true(heap->live.bytes == 400 && heap->live.count == 1);
        assert_true(heap->alloc.bytes == 700 && heap->alloc.count == 2);
        assert_true(heap->peak.bytes == 700 && heap->peak.count == 2);
        assert_int_equal(heap->peak_time_mono_ns, 3000);
        assert_int_equal(heap->peak_short_bytes, 0);
        assert_true(snap->stacks[of_pool].peak.bytes == 700);
        assert_true(snap->heaps[other].live.bytes == 50);
        assert_int_equal(snap->bad_count, 0);
        hs_snapshot_free(snap);
    }
    /* More lives than at the last marked peak: the peak is now. */
    player_birth(&p, of_pool, 350, 0);
    struct hs_snapshot *snap = capture(&region, false);
    assert_true(snap->heaps[pool].peak.bytes == 750 && snap->live.bytes == 1050);
    assert_int_equal(snap->heaps[pool].peak_time_mono_ns, 5000);
    hs_snapshot_free(snap);
    /* A target cannot claim that malloc's heap is a carved one. */
    ((struct hs_heap_v2 *)region_writer_at(&w, HS_SECTION_HEAPS, 0))->flags |= HS_HEAP_CARVED;
    snap = capture(&region, false);
    assert_true(snap->live.bytes == 1050 && !snap->heaps[0].is_carved);
    hs_snapshot_free(snap);
    hs_region_close(&region);
    player_deinit(&p);
    region_writer_deinit(&w);
}

static void test_peak_is_the_heap_of_that_moment(void **state)
{
    (void)state;
    struct region_writer w;
    struct player p;
    region_writer_init(&w, &(struct region_plan){ 1024, 4096 });
    uint32_t first = region_writer_stacks(&w, 3);
    player_init(&p, &w, 1, 0, 1024);
    w.header->sections[HS_SECTION_RECORDS].count = 1024;
    uint32_t x = player_birth(&p, first, 5000, 0);
    uint32_t y = player_birth(&p, first + 1, 7000, 0);
    region_writer_peak(&w, 12000);
    player_birth(&p, first + 2, 100, 0); /* allocated after the cut */
    player_death(&p, x);
    player_death(&p, y);
    struct hs_region region = open_region(&w);
    struct hs_snapshot *snap = capture(&region, false);
    assert_true(snap->live.bytes == 100 && snap->peak.bytes == 12000 && snap->peak.count == 2);
    assert_true(snap->stacks[first].peak.bytes == 5000 && snap->stacks[first].live.bytes == 0);
    assert_true(snap->stacks[first + 1].peak.bytes == 7000);
    assert_true(snap->stacks[first + 2].peak.bytes == 0);
    assert_int_equal(snap->peak_time_mono_ns, 777);
    hs_snapshot_free(snap);
    /* Now more is live than at the peak that the client knows. */
    player_birth(&p, first + 2, 50000, 0);
    snap = capture(&region, true);
    assert_true(snap->peak.bytes == 50100 && snap->stacks[first].peak.bytes == 0);
    assert_int_equal(snap->peak_time_mono_ns, 5000);
    hs_snapshot_free(snap);
    hs_region_close(&region);
    player_deinit(&p);
    region_writer_deinit(&w);
}

/*
 * At the cut, allocations may be in the records and not yet in the totals: then more would be live,
 * or at the peak, than was ever allocated.
 */
static void test_allocated_is_never_less_than_live_or_at_the_peak(void **state)
{
    (void)state;
    struct region_writer w;
    struct player p;
    region_writer_init(&w, &(struct region_plan){ 1024, 4096 });
    uint32_t first = region_writer_stacks(&w, 3);
    player_init(&p, &w, 1, 0, 1024);
    w.header->sections[HS_SECTION_RECORDS].count = 1024;
    uint32_t gone[] = { player_birth(&p, first, 5000, 0), player_birth(&p, first, 100, 2) };
    player_birth(&p, first + 1, 7000, 0);
    region_writer_peak(&w, 20192);
    player_death(&p, gone[0]);
    player_death(&p, gone[1]);
    player_birth(&p, first + 2, 300, 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct hs_stack_v1 *stack = region_writer_at(&w, HS_SECTION_STACKS, first + i);
        memset(stack->totals, 0, sizeof(stack->totals));
    }
    struct hs_region region = open_region(&w);
    for (int is_dead = 0; is_dead < 2; is_dead++) {
        struct hs_snapshot *snap = capture(&region, is_dead != 0);
        const struct hs_snap_stack *stacks = snap->stacks + first;
        assert_true(stacks[0].live.bytes == 0 && stacks[0].peak.bytes == 13192);
        assert_true(stacks[0].alloc.bytes == 13192 && stacks[0].alloc.bytes_var == 8192.0 * 4096);
        assert_true(stacks[0].alloc.count == stacks[0].peak.count && stacks[0].peak.count > 1);
        assert_true(stacks[0].alloc.count_var == stacks[0].peak.count_var);
        assert_true(stacks[1].live.bytes == 7000 && stacks[1].alloc.bytes == 7000);
        assert_true(stacks[1].alloc.count == 1);
        assert_true(stacks[2].alloc.bytes == 300 && stacks[2].alloc.count == 1);
        assert_true(snap->alloc.bytes == 13192 + 7000 + 300);
        hs_snapshot_free(snap);
    }
    hs_region_close(&region);
    player_deinit(&p);
    region_writer_deinit(&w);
}

/*
 * While the client marks a peak, its time is 0. A capture waits for the mark by taking another cut,
 * at most four times; each cut adds 2 to the epoch. Then this moment counts as the peak.
 */
static void test_a_peak_that_moves_is_read_again(void **state)
{
    (void)state;
    struct region_writer w;
    struct player p;
    region_writer_init(&w, &(struct region_plan){ 1024, 4096 });
    uint32_t first = region_writer_stacks(&w, 1);
    player_init(&p, &w, 1, 0, 1024);
    w.header->sections[HS_SECTION_RECORDS].count = 1024;
    uint32_t x = player_birth(&p, first, 5000, 0);
    region_writer_peak(&w, 5000);
    player_death(&p, x);
    struct hs_region region = open_region(&w);
    uint64_t epoch_before = w.control->epoch;
    hs_snapshot_free(capture(&region, false));
    uint64_t step = w.control->epoch - epoch_before;

    w.control->peak_time_ns = 0;
    struct hs_snapshot *snap = capture(&region, false);
    assert_int_equal(w.control->epoch - epoch_before, 5 * step);
    assert_true(snap->peak.bytes == 0 && snap->peak_time_mono_ns == 5000);
    hs_snapshot_free(snap);
    /* A dead process moves no peak. */
    hs_snapshot_free(capture(&region, true));
    assert_int_equal(w.control->epoch - epoch_before, 5 * step);
    hs_region_close(&region);
    player_deinit(&p);
    region_writer_deinit(&w);
}

/* What happens while the cut is open: a death, a birth, and perhaps a new peak. */
struct later {
    struct region_writer *w;
    struct player *p;
    uint32_t dies;
    uint32_t stack;
    int64_t peak_bytes; /* 0: no new peak */
    int result;
    unsigned call_count;
};

static int go_on(void *ctx, const struct hs_open_cut *cut)
{
    struct later *later = ctx;
    (void)cut;
    later->call_count++;
    player_death(later->p, later->dies);
    player_birth(later->p, later->stack, 70000, 0);
    if (later->peak_bytes != 0) {
        region_writer_peak(later->w, later->peak_bytes);
    }
    return later->result;
}

/* The instant is that of the call, whatever the process does until its region has been read. */
static void test_an_instant_that_is_fixed(void **state)
{
    (void)state;
    static const struct {
        bool has_peak;
        int64_t new_peak_bytes;
        double peak_bytes; /* of the snapshot */
    } cases[] = {
        { true, 0, 12000 },     /* the peak before the instant */
        { true, 80000, 0 },     /* it is lost, as the client has moved it: unknown */
        { false, 80000, 7000 }, /* there was none: this instant is the peak */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct region_writer w;
        struct player p;
        struct hs_snapshot *snap = NULL;
        region_writer_init(&w, &(struct region_plan){ 1024, 4096 });
        uint32_t first = region_writer_stacks(&w, 2);
        player_init(&p, &w, 1, 0, 1024);
        w.header->sections[HS_SECTION_RECORDS].count = 1024;
        uint32_t x = player_birth(&p, first, 5000, 0);
        struct later later = { &w, &p, 0, first, cases[i].new_peak_bytes, 0, 0 };
        later.dies = player_birth(&p, first + 1, 7000, 0);
        if (cases[i].has_peak) {
            region_writer_peak(&w, 12000);
        }
        player_death(&p, x);
        struct hs_region region = open_region(&w);
        assert_int_equal(hs_capture_opened(&region, false, 5000, go_on, &later, &snap), 0);
        assert_int_equal(later.call_count, 1);
        assert_true(snap->live.bytes == 7000 && snap->alloc.bytes == 12000);
        assert_true(snap->peak.bytes == cases[i].peak_bytes);
        assert_true((snap->peak_time_mono_ns == 0) == (cases[i].peak_bytes == 0));
        hs_snapshot_free(snap);
        snap = capture(&region, false);
        assert_true(snap->live.bytes == 70000 && snap->alloc.bytes == 82000);
        hs_snapshot_free(snap);
        hs_region_close(&region);
        player_deinit(&p);
        region_writer_deinit(&w);
    }
}

struct killed {
    struct later later;
    int saved_fd;
};

/* Saves the cut, and is then killed. */
static int be_killed(void *ctx, const struct hs_open_cut *cut)
{
    const struct killed *killed = ctx;
    struct stat st;
    int fd;
    if (hs_open_cut_save(cut, "after load", &fd) == 0 && fstat(fd, &st) == 0) {
        lseek(fd, 0, SEEK_SET);
        sendfile(killed->saved_fd, fd, NULL, (size_t)st.st_size);
    }
    _exit(0);
}

/* Opens a cut in another process, which does not read it. Returns the cut as it was saved. */
static int leave_open(struct hs_region *region)
{
    struct killed killed = { .saved_fd = memfd_create("saved", MFD_CLOEXEC) };
    struct hs_snapshot *snap;
    pid_t pid = fork();
    if (pid == 0) {
        hs_capture_opened(region, false, 5000, be_killed, &killed, &snap);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return killed.saved_fd;
}

/* The next collector reads the instant of a cut that was left open, whatever has happened since. */
static void test_a_cut_that_was_saved(void **state)
{
    (void)state;
    struct region_writer w;
    struct player p;
    struct hs_snapshot *snap = NULL;
    char byte = 'x';
    region_writer_init(&w, &(struct region_plan){ 1024, 4096 });
    uint32_t first = region_writer_stacks(&w, 2);
    player_init(&p, &w, 1, 0, 1024);
    w.header->sections[HS_SECTION_RECORDS].count = 1024;
    uint32_t x = player_birth(&p, first, 5000, 0);
    struct later later = { &w, &p, 0, first, 0, 0, 0 };
    later.dies = player_birth(&p, first + 1, 7000, 0);
    region_writer_peak(&w, 12000);
    player_death(&p, x);
    struct hs_region region = open_region(&w);
    int fd = leave_open(&region);
    go_on(&later, NULL);
    assert_int_equal(hs_capture_saved(&region, fd, &snap), 0);
    assert_string_equal(snap->name, "after load");
    assert_int_equal(snap->time_mono_ns, 5000);
    assert_true(snap->live.bytes == 7000 && snap->alloc.bytes == 12000 &&
                snap->peak.bytes == 12000);
    hs_snapshot_free(snap);
    snap = capture(&region, false);
    assert_true(snap->live.bytes == 70000 && snap->alloc.bytes == 82000);
    hs_snapshot_free(snap);
    /* The cut has been read, or another one was opened. */
    assert_int_equal(hs_capture_saved(&region, fd, &snap), -ESTALE);
    close(fd);
    fd = leave_open(&region);
    hs_snapshot_free(capture(&region, false));
    assert_int_equal(hs_capture_saved(&region, fd, &snap), -ESTALE);
    /* It is not what this version writes. */
    assert_int_equal(pwrite(fd, &byte, 1, 0), 1);
    assert_int_equal(hs_capture_saved(&region, fd, &snap), -EBADMSG);
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_int_equal(hs_capture_saved(&region, fd, &snap), -EBADMSG);
    close(fd);
    hs_region_close(&region);
    player_deinit(&p);
    region_writer_deinit(&w);
}

static void test_an_instant_that_nobody_wants(void **state)
{
    (void)state;
    struct region_writer w;
    struct player p;
    struct hs_snapshot *snap = NULL;
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    uint32_t first = region_writer_stacks(&w, 1);
    player_init(&p, &w, 1, 0, 64);
    w.header->sections[HS_SECTION_RECORDS].count = 64;
    struct later later = { &w, &p, 0, first, 0, -ECANCELED, 0 };
    later.dies = player_birth(&p, first, 5000, 0);
    struct hs_region region = open_region(&w);
    assert_int_equal(hs_capture_opened(&region, false, 1, go_on, &later, &snap), -ECANCELED);
    assert_null(snap);
    assert_int_equal(later.call_count, 1);
    assert_int_equal(w.control->snapshot_epoch, 0); /* no cut stays open */
    hs_region_close(&region);
    player_deinit(&p);
    region_writer_deinit(&w);
}

static void test_a_cut_left_open_is_taken_over(void **state)
{
    (void)state;
    struct region_writer w;
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    region_writer_stacks(&w, 1);
    struct hs_region region = open_region(&w);
    w.control->snapshot_epoch = 1;
    struct hs_snapshot *snap = capture(&region, false);
    assert_int_equal(w.control->snapshot_epoch, 0);
    assert_int_equal(w.control->epoch, 3);
    hs_snapshot_free(snap);
    w.control->epoch = UINT64_MAX;
    snap = NULL;
    assert_true(hs_capture(&region, false, 1, &snap) < 0);
    assert_null(snap);
    hs_region_close(&region);
    region_writer_deinit(&w);
}

/* --- consistency while threads write ------------------------------------------------------ */

struct game {
    struct region_writer w;
    uint32_t first_stack;
    uint32_t window;
    uint32_t is_over;
    uint64_t published; /* by the first of the causal pair */
    bool is_causal;
    uint64_t moves[PLAYERS];
};

struct seat {
    struct game *game;
    struct player player;
    uint32_t no;
};

static void *play(void *arg)
{
    struct seat *seat = arg;
    struct game *game = seat->game;
    uint32_t window = game->window;
    uint32_t *slots = calloc(window + 1, sizeof(*slots));
    uint64_t n = 0;
    while (!hs_load_relaxed(&game->is_over)) {
        if (game->is_causal && seat->no == 1 && hs_load_acquire(&game->published) <= n) {
            continue;
        }
        /* Each move goes to another one of this player's own 16 stacks. */
        uint32_t stack = game->first_stack + seat->no * 16 + (uint32_t)(n % 16);
        uint32_t slot = player_birth(&seat->player, stack, n + 1, 0);
        if (slot == UINT32_MAX) {
            continue; /* all slots are tombstones until the snapshot is done */
        }
        slots[n % (window + 1)] = slot;
        if (n >= window) {
            player_death(&seat->player, slots[(n - window) % (window + 1)]);
        }
        n++;
        if (game->is_causal && seat->no == 0) {
            hs_store_release(&game->published, n);
        }
    }
    game->moves[seat->no] = n;
    free(slots);
    return NULL;
}

/* Are these the blocks a+1 .. a+count? If so, returns a + count. */
static bool find_window(double bytes, double count, uint32_t window, uint64_t *ret_newest)
{
    if (count != window && count != window + 1 && count > window) {
        return false;
    }
    double a = count > 0 ? (bytes - count * (count + 1) / 2) / count : 0;
    if (a < 0 || a != floor(a) || (count < window && a != 0)) {
        return false;
    }
    *ret_newest = (uint64_t)(a + count);
    return true;
}

/* A thread that is not listed has no live blocks. */
static struct hs_estimate live_of(const struct hs_snapshot *snap, uint32_t tid)
{
    for (uint32_t i = 1; i < snap->thread_count; i++) {
        if (snap->threads[i].tid == tid) {
            assert_true(snap->threads[i].live.count > 0);
            return snap->threads[i].live;
        }
    }
    return (struct hs_estimate){ 0 };
}

static bool is_consistent(const struct game *game, const struct hs_snapshot *snap)
{
    uint64_t newest[PLAYERS] = { 0 };
    for (uint32_t i = 0; i < PLAYERS; i++) {
        struct hs_estimate live = live_of(snap, 101 + i);
        if (!find_window(live.bytes, live.count, game->window, &newest[i])) {
            return false;
        }
        double alloc = 0, on_stacks = 0;
        for (uint32_t s = 0; s < 16; s++) {
            alloc += snap->stacks[game->first_stack + i * 16 + s].alloc.count;
            on_stacks += snap->stacks[game->first_stack + i * 16 + s].live.count;
        }
        /*
         * Two births may be in the records but not in the totals: the one that was in progress at
         * the cut, and one that was in progress at the cut before, whose sum was copied first.
         */
        if (on_stacks != live.count || fabs(alloc - (double)newest[i]) > 2) {
            return false;
        }
    }
    return !game->is_causal || newest[1] <= newest[0];
}

/* The control: the result of a scan without epochs. */
static bool is_naive_scan_consistent(const struct game *game, struct hs_region *region)
{
    struct hs_estimate threads[PLAYERS + 1] = { { 0 } };
    struct hs_stack_sums *sums = aligned_alloc(64, RW_STACKS_MAX * sizeof(*sums));
    struct hs_region_map map;
    uint64_t newest[PLAYERS] = { 0 };
    bool is_good = true;
    assert_non_null(sums);
    memset(sums, 0, RW_STACKS_MAX * sizeof(*sums));
    assert_int_equal(hs_region_map_section(region, HS_SECTION_RECORDS, &map), 0);
    struct hs_record_scan scan = { .records = map.data,
                                   .record_bytes = map.elem_bytes,
                                   .record_count = map.count,
                                   .cut_epoch = HS_CUT_OF_DEAD,
                                   .stack_count = RW_STACKS_MAX,
                                   .thread_count = PLAYERS + 1,
                                   .sums = sums,
                                   .threads = threads };
    hs_record_scan_run(&scan);
    hs_region_unmap(&map);
    free(sums);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        is_good &=
            find_window(threads[i + 1].bytes, threads[i + 1].count, game->window, &newest[i]);
    }
    return is_good && (!game->is_causal || newest[1] <= newest[0]);
}

static void play_game(uint32_t window, bool is_causal, unsigned rounds)
{
    static struct game game;
    static struct seat seats[PLAYERS];
    pthread_t threads[PLAYERS];
    unsigned bad = 0, bad_naive = 0, naive_rounds = 0;
    uint32_t slots = window + SPARE_SLOTS;
    memset(&game, 0, sizeof(game));
    game.window = window;
    game.is_causal = is_causal;
    region_writer_init(&game.w, &(struct region_plan){ (uint64_t)slots * PLAYERS, 4096 });
    game.first_stack = region_writer_stacks(&game.w, 16 * PLAYERS);
    game.w.header->sections[HS_SECTION_RECORDS].count = (uint64_t)slots * PLAYERS;
    /* All slots are handed out: touch them, so that their pages exist as with a client. */
    memset(region_writer_at(&game.w, HS_SECTION_RECORDS, 0), 0,
           (size_t)slots * PLAYERS * sizeof(struct hs_record_v1));
    for (uint32_t i = 0; i < PLAYERS; i++) {
        seats[i] = (struct seat){ .game = &game, .no = i };
        player_init(&seats[i].player, &game.w, i + 1, i * slots, slots);
    }
    struct hs_region region = open_region(&game.w);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, play, &seats[i]), 0);
    }
    for (unsigned i = 0; i < rounds; i++) {
        struct hs_snapshot *snap = capture(&region, false);
        bad += !is_consistent(&game, snap);
        hs_snapshot_free(snap);
    }
    /* On a busy machine a naive scan may run while no player works, but not every time. */
    while (naive_rounds < 1000 && bad_naive < 3) {
        bad_naive += !is_naive_scan_consistent(&game, &region);
        naive_rounds++;
    }
    hs_store_relaxed(&game.is_over, 1);
    uint64_t moves = 0;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        pthread_join(threads[i], NULL);
        moves += game.moves[i];
        player_deinit(&seats[i].player);
    }
    print_message("window %u%s: %u of %u cuts bad, %u of %u naive scans bad, %llu moves\n", window,
                  is_causal ? " causal" : "", bad, rounds, bad_naive, naive_rounds,
                  (unsigned long long)moves);
    assert_int_equal(bad, 0);
    assert_int_equal(bad_naive, 3);
    hs_region_close(&region);
    region_writer_deinit(&game.w);
}

static void test_cuts_add_up_while_threads_write(void **state)
{
    (void)state;
    play_game(1000, false, 100 / SCALE);
    play_game(20000 / SCALE, false, 60 / SCALE);
}

static void test_cuts_keep_cause_before_effect(void **state)
{
    (void)state;
    play_game(1000, true, 100 / SCALE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_heap_is_read_exactly),
        cmocka_unit_test(test_each_heap_has_the_error_of_its_interval),
        cmocka_unit_test(test_carved_heaps_are_not_in_the_totals),
        cmocka_unit_test(test_peak_is_the_heap_of_that_moment),
        cmocka_unit_test(test_allocated_is_never_less_than_live_or_at_the_peak),
        cmocka_unit_test(test_a_peak_that_moves_is_read_again),
        cmocka_unit_test(test_an_instant_that_is_fixed),
        cmocka_unit_test(test_an_instant_that_nobody_wants),
        cmocka_unit_test(test_a_cut_that_was_saved),
        cmocka_unit_test(test_a_cut_left_open_is_taken_over),
        cmocka_unit_test(test_cuts_add_up_while_threads_write),
        cmocka_unit_test(test_cuts_keep_cause_before_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
