/*
 * Tests of src/sources on a made-up /proc: what is written when, and what is written when a file
 * cannot be read.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sources/sources_state.h"
#include "trace_bytes.h"

#define PID       77
#define SECOND_NS UINT64_C(1000000000)
#define START_NS  (1000 * SECOND_NS)

struct world {
    char folder[64];
    struct hs_buf trace;
    struct hs_trace_writer *writer;
    struct hs_sources *sources;
    struct hs_source_process *process;
};

static void put(const struct world *w, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", w->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(const struct world *w, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", w->folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int drop_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void drop(const struct world *w, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", w->folder, name);
    assert_int_equal(nftw(path, drop_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void put_status(const struct world *w, unsigned rss_kb, unsigned thread_count)
{
    char text[256];
    snprintf(text, sizeof(text),
             "Tgid:\t77\nUid:\t1 2 1 1\nNSpid:\t77 5\nVmHWM:\t%u kB\nVmRSS:\t%u kB\nThreads:\t%u\n",
             rss_kb, rss_kb, thread_count);
    put(w, "77/status", text);
}

static void put_stat(const struct world *w, char state, unsigned user_ticks, unsigned start)
{
    char text[256];
    snprintf(text, sizeof(text), "77 (p) %c 1 1 1 0 -1 0 10 0 0 0 %u 0 0 0 20 0 1 0 %u 1 1", state,
             user_ticks, start);
    put(w, "77/stat", text);
}

static struct world *begin(const struct hs_sources_settings *settings)
{
    struct world *w = calloc(1, sizeof(*w));
    char path[256];
    snprintf(w->folder, sizeof(w->folder), "/tmp/test_sources.XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    make_folder(w, "77");
    make_folder(w, "77/task");
    make_folder(w, "77/task/77");
    put(w, "77/task/77/comm", "first\n");
    put(w, "77/oom_score_adj", "-17\n");
    put(w, "77/smaps_rollup", "Rss: 60 kB\nPss: 40 kB\n");
    snprintf(path, sizeof(path), "%s/77/cmdline", w->folder);
    FILE *file = fopen(path, "w");
    assert_int_equal(fwrite("prog\0--all", 1, 11, file), 11);
    fclose(file);
    put_status(w, 100, 1);
    put_stat(w, 'S', 0, 5);
    w->writer = writer_to(&w->trace, 7);
    assert_int_equal(hs_sources_new(settings, w->writer, &w->sources), 0);
    w->sources->folder = w->folder;
    return w;
}

static void look(struct world *w, uint64_t after_ns)
{
    hs_sources_look(w->sources, &w->process, PID, NULL, START_NS + after_ns);
}

static void end(struct world *w)
{
    hs_source_process_free(w->process);
    hs_sources_free(w->sources);
    hs_trace_writer_free(w->writer);
    drop(w, "");
    hs_buf_deinit(&w->trace);
    free(w);
}

/* What is in the trace so far. Figures are those of the last packet that has them. */
struct seen {
    unsigned counter_packets, trees, process_count, thread_count, smaps_count, system_count;
    unsigned rss_count, user_count, pss_count, unread_count;
    uint64_t rss_kb, hwm_kb, user_ns, pss_kb, last_ns;
    int64_t oom_score_adj;
    int32_t nspid;
    char names[64]; /* of threads, one after the other */
    char cmdline[64], unread[64], why[64];
    bool is_comm;
    unsigned live_count;
    uint64_t live_bytes;
    bool has_memory_alone; /* the last packet had the resident memory and no other memory */
};

static void take_process(const Hs__Pb__ProcessStats__Process *from, struct seen *seen)
{
    seen->counter_packets++;
    assert_int_equal(from->pid, PID);
    assert_true(seen->process_count > 0);
#define TAKE(field, to, count)                                                                     \
    if (from->has_##field) {                                                                       \
        seen->to = from->field;                                                                    \
        seen->count++;                                                                             \
    }
    TAKE(vm_rss_kb, rss_kb, rss_count)
    TAKE(runtime_user_mode, user_ns, user_count)
    TAKE(smr_pss_kb, pss_kb, pss_count)
#undef TAKE
    seen->hwm_kb = from->has_vm_hwm_kb ? from->vm_hwm_kb : seen->hwm_kb;
    seen->oom_score_adj = from->has_oom_score_adj ? from->oom_score_adj : seen->oom_score_adj;
    seen->has_memory_alone = from->has_vm_rss_kb;
}

static void take_tree(const Hs__Pb__ProcessTree *tree, struct seen *seen)
{
    seen->trees++;
    for (size_t i = 0; i < tree->n_processes; i++) {
        const Hs__Pb__ProcessTree__Process *process = tree->processes[i];
        seen->process_count++;
        seen->is_comm = process->cmdline_is_comm;
        seen->nspid = process->n_nspid > 0 ? process->nspid[0] : 0;
        seen->cmdline[0] = '\0';
        for (size_t k = 0; k < process->n_cmdline; k++) {
            strncat(seen->cmdline, process->cmdline[k], 20);
            strncat(seen->cmdline, "|", 2);
        }
    }
    for (size_t i = 0; i < tree->n_threads; i++) {
        seen->thread_count++;
        assert_int_equal(tree->threads[i]->tgid, PID);
        strncat(seen->names, tree->threads[i]->name ? tree->threads[i]->name : "-", 20);
        strncat(seen->names, "|", 2);
    }
}

static struct seen read_all(struct world *w)
{
    struct seen seen = { 0 };
    struct hs_trace_reader *reader;
    const Hs__Pb__TracePacket *packet;
    assert_int_equal(hs_trace_writer_flush(w->writer, NULL), 0);
    assert_int_equal(hs_trace_reader_new(w->trace.data, w->trace.bytes, &reader), 0);
    while (hs_trace_reader_next(reader, &packet) > 0) {
        for (size_t i = 0; packet->process_stats && i < packet->process_stats->n_processes; i++) {
            take_process(packet->process_stats->processes[i], &seen);
            seen.last_ns = packet->timestamp;
            seen.has_memory_alone &= packet->heapscope_counters == NULL;
        }
        if (packet->heapscope_counters && packet->heapscope_counters->has_live_bytes) {
            seen.live_bytes = packet->heapscope_counters->live_bytes;
            seen.live_count++;
        }
        if (packet->process_tree) {
            take_tree(packet->process_tree, &seen);
        }
        seen.smaps_count += packet->smaps_packet != NULL;
        seen.system_count += packet->sys_stats != NULL;
        if (packet->heapscope && packet->heapscope->unread) {
            seen.unread_count++;
            snprintf(seen.unread, sizeof(seen.unread), "%s", packet->heapscope->unread->file);
            snprintf(seen.why, sizeof(seen.why), "%s", packet->heapscope->unread->why);
        }
    }
    hs_trace_reader_free(reader);
    return seen;
}

static struct hs_sources_settings each_second(void)
{
    struct hs_sources_settings settings = hs_sources_default();
    settings.is_thinning = false;
    return settings;
}

/* --- a process -------------------------------------------------------------------------------- */

static void test_who_it_is_comes_first(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    struct world *w = begin(&settings);
    look(w, 0);
    struct seen seen = read_all(w);
    assert_int_equal(seen.process_count, 1);
    assert_string_equal(seen.cmdline, "prog|--all|");
    assert_false(seen.is_comm);
    assert_int_equal(seen.nspid, 5);
    assert_string_equal(seen.names, "first|");
    assert_int_equal(seen.rss_kb, 100);
    assert_int_equal(seen.oom_score_adj, -17);
    assert_int_equal(seen.pss_count, 0); /* only at dumps */
    assert_int_equal(seen.last_ns, START_NS + TEST_BOOT_AHEAD_NS);
    end(w);
}

static void test_only_what_changed(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    struct world *w = begin(&settings);
    look(w, 0);
    look(w, SECOND_NS);
    assert_int_equal(read_all(w).counter_packets, 1);
    put_stat(w, 'S', 3, 5);
    look(w, SECOND_NS + SECOND_NS / 2); /* too early */
    assert_int_equal(read_all(w).counter_packets, 1);
    look(w, 2 * SECOND_NS);
    struct seen seen = read_all(w);
    assert_int_equal(seen.counter_packets, 2);
    assert_int_equal(seen.user_ns, 30000000);
    assert_int_equal(seen.rss_count, 1);
    put_status(w, 101, 1);
    look(w, 3 * SECOND_NS);
    seen = read_all(w);
    assert_int_equal(seen.rss_kb, 101);
    assert_true(seen.has_memory_alone);
    assert_int_equal(seen.user_count, 2);
    end(w);
}

/* A heap that holds *ctx bytes; UINT64_MAX: nobody knows. */
static bool read_heap(void *ctx, uint64_t *ret_live_bytes)
{
    *ret_live_bytes = *(uint64_t *)ctx;
    return *ret_live_bytes != UINT64_MAX;
}

static void test_live_memory(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    struct world *w = begin(&settings);
    uint64_t live_bytes = 5000;
    const struct hs_source_heap heap = { .read = read_heap, .ctx = &live_bytes };
    const struct {
        uint64_t live_bytes;
        unsigned written_count;
        uint64_t written_bytes;
    } steps[] = {
        { 5000, 1, 5000 }, { 5000, 1, 5000 }, { 0, 2, 0 }, { UINT64_MAX, 2, 0 }, { 7, 3, 7 }
    };
    for (unsigned i = 0; i < HS_COUNT_OF(steps); i++) {
        live_bytes = steps[i].live_bytes;
        hs_sources_look(w->sources, &w->process, PID, &heap, START_NS + i * SECOND_NS);
        struct seen seen = read_all(w);
        assert_int_equal(seen.live_count, steps[i].written_count);
        assert_int_equal(seen.live_bytes, steps[i].written_bytes);
    }
    /* What it held at its end is still there when the process is not. */
    uint64_t peak_bytes = 0;
    live_bytes = 3;
    put_stat(w, 'Z', 0, 5);
    w->process = hs_sources_end(w->sources, w->process, START_NS + 9 * SECOND_NS, &peak_bytes);
    assert_int_equal(read_all(w).live_bytes, 3);
    end(w);
}

static void test_dumps_have_shares_of_pages(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    settings.with_smaps_at_dumps = true;
    struct world *w = begin(&settings);
    put(w, "77/smaps", "1000-2000 r-xp 0 fe:00 1 /lib/x\nSize: 4 kB\nRss: 4 kB\n");
    look(w, 0);
    hs_sources_dump(w->sources, &w->process, PID, NULL, START_NS + 1, true);
    struct seen seen = read_all(w);
    assert_int_equal(seen.pss_kb, 40);
    assert_int_equal(seen.smaps_count, 1);
    end(w);
}

static void test_shares_of_pages_each_time(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    settings.with_smaps_rollup = true;
    struct world *w = begin(&settings);
    look(w, 0);
    hs_source_walk_take(w->sources, w->process, true);
    assert_int_equal(read_all(w).pss_kb, 40);
    put(w, "77/smaps_rollup", "Rss: 60 kB\nPss: 41 kB\n");
    w->process->rollup_next_ns = UINT64_MAX; /* it took too long */
    look(w, 2 * SECOND_NS);
    assert_null(w->process->walk);
    w->process->rollup_next_ns = 0;
    look(w, 4 * SECOND_NS);
    hs_source_walk_take(w->sources, w->process, true);
    struct seen seen = read_all(w);
    assert_int_equal(seen.pss_kb, 41);
    assert_int_equal(seen.pss_count, 2);
    end(w);
}

/* A file that ends because the process ends is incomplete. */
static void test_mappings_of_one_that_ends(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    settings.with_smaps_at_dumps = true;
    struct world *w = begin(&settings);
    put(w, "77/smaps", "1000-2000 r-xp 0 fe:00 1 /lib/x\nSize: 4 kB\nRss: 4 kB\n");
    look(w, 0);
    put(w, "77/status", "Tgid:\t77\nThreads:\t1\n"); /* no memory any more */
    hs_sources_dump(w->sources, &w->process, PID, NULL, START_NS + 1, true);
    struct seen seen = read_all(w);
    assert_int_equal(seen.smaps_count + seen.unread_count, 0);
    end(w);
}

/*
 * The only dump comes after the end: the mappings that were read before are written then, once, and
 * not if a dump has them.
 */
static void test_mappings_between_dumps(void **state)
{
    (void)state;
    for (unsigned is_dumped = 0; is_dumped < 2; is_dumped++) {
        struct hs_sources_settings settings = each_second();
        settings.with_smaps_at_dumps = true;
        struct world *w = begin(&settings);
        uint64_t peak_bytes = 0;
        put(w, "77/smaps", "1000-2000 r-xp 0 fe:00 1 /lib/x\nSize: 4 kB\nRss: 4 kB\n");
        look(w, 0);
        hs_source_walk_take(w->sources, w->process, true);
        assert_int_equal(read_all(w).smaps_count, 0);
        if (is_dumped) {
            hs_sources_dump(w->sources, &w->process, PID, NULL, START_NS + SECOND_NS, true);
            assert_int_equal(read_all(w).smaps_count, 1);
        }
        drop(w, "77");
        w->process = hs_sources_end(w->sources, w->process, START_NS + 2 * SECOND_NS, &peak_bytes);
        struct seen seen = read_all(w);
        assert_int_equal(seen.smaps_count, 1);
        assert_int_equal(seen.unread_count, 0);
        assert_int_equal(hs_sources_smaps_count(w->sources), 1);
        end(w);
    }
}

/*
 * However often dumps come, counters are written at most ten times a second, and changed names are
 * looked for once.
 */
static void test_dumps_that_come_often(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    struct world *w = begin(&settings);
    look(w, 0);
    for (unsigned i = 1; i <= 100; i++) {
        put_stat(w, 'S', i, 5);
        put(w, "77/task/77/comm", i % 2 ? "odd\n" : "even\n");
        hs_sources_dump(w->sources, &w->process, PID, NULL, START_NS + i * (SECOND_NS / 100),
                        false);
    }
    struct seen seen = read_all(w);
    assert_in_range(seen.counter_packets, 10, 12);
    assert_in_range(seen.thread_count, 2, 3);
    end(w);
}

/*
 * The last values of a process: those before it died, those of the zombie, and the peak. The peak
 * is the highest that either side knows, and afterwards both know it.
 */
static void end_with_peak(bool is_known)
{
    struct hs_sources_settings settings = hs_sources_default();
    struct world *w = begin(&settings);
    look(w, 0);
    put_status(w, 140, 1); /* too small a change for a packet so soon */
    w->process->write_next_ns = UINT64_MAX;
    w->process->read_next_ns = 0;
    look(w, SECOND_NS);
    assert_int_equal(read_all(w).rss_kb, 100);
    put(w, "77/status", "Tgid:\t77\nThreads:\t1\n");
    put_stat(w, 'Z', 9, 5);
    uint64_t peak_bytes = is_known ? 999 * 1024 : 0;
    w->process = hs_sources_end(w->sources, w->process, START_NS + 2 * SECOND_NS, &peak_bytes);
    assert_null(w->process);
    assert_int_equal(peak_bytes, (is_known ? 999 : 140) * 1024);
    struct seen seen = read_all(w);
    assert_int_equal(seen.rss_kb, 140);
    assert_int_equal(seen.user_ns, 90000000);
    assert_int_equal(seen.hwm_kb, is_known ? 999 : 140);
    assert_int_equal(seen.last_ns, START_NS + 2 * SECOND_NS + TEST_BOOT_AHEAD_NS);
    end(w);
}

static void test_the_end(void **state)
{
    (void)state;
    end_with_peak(true);
    end_with_peak(false);
}

static void test_gone_and_another(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    struct world *w = begin(&settings);
    look(w, 0);
    put_stat(w, 'S', 99, 6); /* started later: another process with this pid */
    look(w, 5 * SECOND_NS);
    assert_int_equal(read_all(w).user_ns, 0);
    assert_int_equal(hs_sources_look(w->sources, &w->process, PID, NULL, START_NS + 9 * SECOND_NS),
                     UINT64_MAX);
    end(w);

    w = begin(&settings);
    drop(w, "77");
    look(w, 0);
    hs_sources_dump(w->sources, &w->process, PID, NULL, START_NS + 1, true);
    uint64_t peak_bytes = 0;
    w->process = hs_sources_end(w->sources, w->process, START_NS + 2, &peak_bytes);
    assert_int_equal(peak_bytes, 0);
    struct seen seen = read_all(w);
    assert_int_equal(seen.process_count + seen.counter_packets + seen.unread_count, 0);
    end(w);
}

static void test_what_cannot_be_read_is_told_once(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    struct world *w = begin(&settings);
    drop(w, "77/smaps_rollup");
    make_folder(w, "77/smaps_rollup"); /* EISDIR for any user */
    look(w, 0);
    hs_sources_dump(w->sources, &w->process, PID, NULL, START_NS + 1, true);
    hs_sources_dump(w->sources, &w->process, PID, NULL, START_NS + 9 * SECOND_NS, true);
    struct seen seen = read_all(w);
    assert_int_equal(seen.unread_count, 1);
    assert_string_equal(seen.unread, "smaps_rollup");
    assert_string_equal(seen.why, "Is a directory");
    assert_int_equal(seen.rss_kb, 100);
    end(w);
}

static void test_hostile_names(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    struct world *w = begin(&settings);
    put(w, "77/task/77/comm", "\xff\x1b]0;\xff\xff\xff\xff\xff\xff\xff\n");
    put(w, "77/cmdline", "");
    put(w, "77/comm", "short\n");
    look(w, 0);
    struct seen seen = read_all(w);
    assert_true(seen.is_comm);
    assert_string_equal(seen.cmdline, "short|");
    assert_true(strlen(seen.names) <= HS_TRACE_THREAD_NAME_BYTES);
    assert_null(strchr(seen.names, 0x1b));
    assert_null(strchr(seen.names, '\xff'));
    end(w);
}

static void test_threads_that_come_and_are_renamed(void **state)
{
    (void)state;
    struct hs_sources_settings settings = each_second();
    struct world *w = begin(&settings);
    look(w, 0);
    make_folder(w, "77/task/80");
    put(w, "77/task/80/comm", "second\n");
    put_status(w, 100, 2);
    look(w, SECOND_NS);
    assert_string_equal(read_all(w).names, "first|second|");
    put(w, "77/task/77/comm", "renamed\n");
    look(w, 2 * SECOND_NS);
    assert_int_equal(read_all(w).thread_count, 2);
    hs_sources_dump(w->sources, &w->process, PID, NULL, START_NS + 3 * SECOND_NS, false);
    assert_string_equal(read_all(w).names, "first|second|renamed|");
    end(w);
}

/* --- pace ------------------------------------------------------------------------------------- */

static void test_paces(void **state)
{
    (void)state;
    struct hs_sources_settings fixed = each_second(), thin = hs_sources_default();
    const uint64_t hour_ns = 3600 * SECOND_NS;
    assert_int_equal(hs_source_write_period_ns(&fixed, 1000 * hour_ns), SECOND_NS);
    assert_int_equal(hs_source_read_period_ns(&thin, 0), SECOND_NS / 10);
    assert_int_equal(hs_source_read_period_ns(&thin, 4 * SECOND_NS), SECOND_NS / 2);
    assert_int_equal(hs_source_read_period_ns(&thin, 1000 * hour_ns), SECOND_NS);
    assert_int_equal(hs_source_write_period_ns(&thin, hour_ns), SECOND_NS);
    assert_int_equal(hs_source_write_period_ns(&thin, 10 * hour_ns), 10 * SECOND_NS);
}

/* A process that is busy all the time, for weeks: the file grows with the logarithm of time. */
static void test_weeks(void **state)
{
    (void)state;
    struct hs_sources_settings settings = hs_sources_default();
    struct world *w = begin(&settings);
    const uint64_t week_ns = 7 * 24 * 3600 * SECOND_NS;
    uint64_t count_first_week = 0, t = 0;
    look(w, 0);
    for (unsigned i = 0; t < 4 * week_ns; i++) {
        w->process->seen.values[HS_COUNTER_RUNTIME_USER] = i;
        w->process->seen_ns = START_NS + t;
        hs_source_write(w->sources, w->process, START_NS + t, false);
        count_first_week = t < week_ns ? hs_sources_packet_count(w->sources) : count_first_week;
        t += hs_source_read_period_ns(&settings, t);
    }
    uint64_t count = hs_sources_packet_count(w->sources);
    assert_in_range(count_first_week, 3600, 25000);
    assert_in_range(count - count_first_week, 1000, 6000);
    assert_true(w->trace.total_bytes < 1500000);
    end(w);
}

/* oom_score_adj is read once a second, unless somebody asked for another period. */
static void test_the_oom_score(void **state)
{
    (void)state;
    struct hs_sources_settings settings = hs_sources_default();
    struct world *w = begin(&settings);
    look(w, 0);
    put(w, "77/oom_score_adj", "300\n");
    look(w, SECOND_NS / 2);
    assert_int_equal(w->process->seen.values[HS_COUNTER_OOM_SCORE_ADJ], -17);
    look(w, SECOND_NS);
    assert_int_equal(w->process->seen.values[HS_COUNTER_OOM_SCORE_ADJ], 300);
    end(w);
    settings.is_thinning = false;
    settings.poll_ms = 100;
    w = begin(&settings);
    look(w, 0);
    put(w, "77/oom_score_adj", "300\n");
    look(w, SECOND_NS / 2);
    assert_int_equal(w->process->seen.values[HS_COUNTER_OOM_SCORE_ADJ], 300);
    end(w);
}

/* Late in a long life, a large change is still written soon. */
static void test_jumps(void **state)
{
    (void)state;
    struct hs_sources_settings settings = hs_sources_default();
    struct world *w = begin(&settings);
    uint64_t day_ns = 24 * 3600 * SECOND_NS;
    look(w, 0);
    put_status(w, 110, 1);
    look(w, day_ns);
    uint64_t written = read_all(w).counter_packets;
    put_status(w, 150, 1);
    look(w, day_ns + 8 * SECOND_NS);
    assert_int_equal(read_all(w).counter_packets, written);
    put_status(w, 5000, 1);
    look(w, day_ns + 12 * SECOND_NS);
    assert_int_equal(read_all(w).rss_kb, 5000);
    end(w);
}

/* --- the machine ------------------------------------------------------------------------------ */

static void test_machine(void **state)
{
    (void)state;
    struct hs_sources_settings settings = { .meminfo_ms = 1000, .psi_ms = 1000 };
    struct world *w = begin(&settings);
    put(w, "meminfo", "MemTotal: 100 kB\nMemFree: 50 kB\n");
    uint64_t next_ns = hs_sources_turn(w->sources, START_NS);
    assert_int_equal(next_ns, START_NS + SECOND_NS);
    struct seen seen = read_all(w);
    assert_int_equal(seen.system_count, 1);
    assert_int_equal(seen.unread_count, 1); /* the kernel does not measure pressure */
    assert_string_equal(seen.unread, "pressure");
    hs_sources_turn(w->sources, START_NS + SECOND_NS);
    assert_int_equal(read_all(w).system_count, 1);
    put(w, "meminfo", "MemTotal: 100 kB\nMemFree: 40 kB\n");
    hs_sources_turn(w->sources, START_NS + 2 * SECOND_NS);
    assert_int_equal(read_all(w).system_count, 2);
    assert_int_equal(hs_sources_look(w->sources, &w->process, PID, NULL, START_NS), UINT64_MAX);
    assert_null(w->process);
    end(w);
}

static void test_scan(void **state)
{
    (void)state;
    struct hs_sources_settings settings = { .scan_all_on_start = true, .with_thread_names = true };
    struct world *w = begin(&settings);
    make_folder(w, "78"); /* gone before it is read */
    make_folder(w, "self");
    hs_sources_begin(w->sources, START_NS);
    struct seen seen = read_all(w);
    assert_int_equal(seen.process_count, 1);
    assert_string_equal(seen.names, "first|");
    end(w);
}

static void test_nothing_asked(void **state)
{
    (void)state;
    struct hs_source_process *process = NULL;
    assert_int_equal(hs_sources_look(NULL, &process, PID, NULL, START_NS), UINT64_MAX);
    assert_int_equal(hs_sources_turn(NULL, START_NS), UINT64_MAX);
    hs_sources_dump(NULL, &process, PID, NULL, START_NS, true);
    uint64_t peak_bytes = 1;
    assert_null(hs_sources_end(NULL, process, START_NS, &peak_bytes));
    assert_int_equal(peak_bytes, 1);
    hs_sources_begin(NULL, START_NS);
    assert_null(hs_sources_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_it_is_comes_first),
        cmocka_unit_test(test_only_what_changed),
        cmocka_unit_test(test_live_memory),
        cmocka_unit_test(test_dumps_have_shares_of_pages),
        cmocka_unit_test(test_shares_of_pages_each_time),
        cmocka_unit_test(test_mappings_of_one_that_ends),
        cmocka_unit_test(test_mappings_between_dumps),
        cmocka_unit_test(test_dumps_that_come_often),
        cmocka_unit_test(test_the_end),
        cmocka_unit_test(test_gone_and_another),
        cmocka_unit_test(test_what_cannot_be_read_is_told_once),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_threads_that_come_and_are_renamed),
        cmocka_unit_test(test_paces),
        cmocka_unit_test(test_weeks),
        cmocka_unit_test(test_the_oom_score),
        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_nothing_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
