/*
 * Measures how long a file takes to become a database, and how long queries on it take: bench_sql
 * [-n RUNS] FILE [SQL...].
 *
 * Without SQL it runs the queries of heapprofd's documentation, those of docs/SQL.md and one of
 * each module, and writes the whole database to a file in the current folder. Each query runs in a
 * child process, forked when the tables exist: tables that are made at first use count for every
 * query, and no query benefits from another. Times are the minimum of RUNS.
 *
 * bench/sql_trace.py makes a large file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rt/base.h"
#include "sql/database.h"
#include "sql/language/sql_session.h"
#include "sql/store/table_names.h"

#define WRITE "(export)"

#define JOIN                                                                                       \
    " FROM heap_profile_allocation a JOIN stack_profile_callsite c ON a.callsite_id = c.id JOIN "  \
    "stack_profile_frame f ON c.frame_id = f.id JOIN stack_profile_mapping m ON f.mapping = m.id "

static const struct {
    const char *name, *sql;
} queries[] = {
    { "seed: stacks",
      "select a.callsite_id, a.ts, a.upid, f.name, f.rel_pc, m.build_id, m.name as mapping_name, "
      "sum(a.size) as space_size, sum(a.count) as space_count" JOIN
      "group by 1, 2, 3, 4, 5, 6, 7 order by space_size desc" },
    { "seed: flamegraph",
      "select name, map_name, cumulative_size from experimental_flamegraph(8300973884377, 1, "
      "'native') order by abs(cumulative_size) desc" },
    { "live by heap",
      "SELECT heap_name, sum(size) FROM heap_profile_allocation GROUP BY heap_name" },
    { "live by function",
      "SELECT f.name, sum(a.size)" JOIN "GROUP BY f.id ORDER BY 2 DESC LIMIT 10" },
    { "live at an instant",
      "SELECT sum(size) FROM heap_profile_allocation WHERE ts <= 50000000000 AND upid = 1" },
    { "one call site", "SELECT * FROM heap_profile_allocation WHERE callsite_id = 999" },
    { "callers of one", "SELECT * FROM experimental_annotated_callstack(999999)" },
    { "children of one", "SELECT * FROM stack_profile_callsite WHERE parent_id = 3" },
    { "dumps", "SELECT * FROM heap_profile ORDER BY ts_end" },
    { "summary_tree",
      "INCLUDE PERFETTO MODULE android.memory.heap_profile.summary_tree; SELECT name, "
      "cumulative_size FROM android_heap_profile_summary_tree ORDER BY 2 DESC LIMIT 10" },
    { "callstacks",
      "INCLUDE PERFETTO MODULE android.memory.heap_profile.callstacks; SELECT count(*), "
      "sum(self_size) FROM _android_heap_profile_callstacks_for_allocations!((SELECT callsite_id, "
      "size, count, max(size, 0) AS alloc_size, max(count, 0) AS alloc_count FROM "
      "heap_profile_allocation))" },
    { "intervals", "INCLUDE PERFETTO MODULE android.memory.heap_profile.intervals; SELECT * FROM "
                   "_android_heap_profile_intervals" },
    { "stack_profile",
      "INCLUDE PERFETTO MODULE callstacks.stack_profile; SELECT count(*), sum(self_count) FROM "
      "_callstacks_for_stack_profile_samples!((SELECT callsite_id FROM heap_profile_allocation))" },
    { "symbolization",
      "INCLUDE PERFETTO MODULE stacks.symbolization_candidates; SELECT count(*) FROM "
      "_stacks_symbolization_candidates" },
    { "heapscope_dumps", "SELECT * FROM heapscope_dumps" },
    { "heapscope_nodes", "SELECT count(*), max(depth) FROM heapscope_nodes" },
    { "heapscope_samples", "SELECT sum(live_bytes) FROM heapscope_samples" },
    { "heapscope: last dump",
      "SELECT n.name, s.live_bytes, s.live_bytes_high FROM heapscope_samples s JOIN "
      "heapscope_nodes n ON n.id = s.node_id WHERE s.dump_id = 99 ORDER BY 2 DESC LIMIT 10" },
    { "all tables written", WRITE },
};

struct times {
    double wall_s, cpu_s;
};

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool write_all(sqlite3 *db)
{
    char path[] = "bench_sql.XXXXXX";
    int fd = mkstemp(path);
    int err = fd < 0 ? -1 : hs_sql_write_file(db, path);
    if (fd >= 0) {
        unlink(path);
        close(fd);
    }
    return err == 0;
}

static bool run_sql(sqlite3 *db, const char *text)
{
    struct hs_sql *sql;
    if (hs_sql_new(db, &sql) < 0) {
        return false;
    }
    int err = hs_sql_run(sql, text, strlen(text), NULL, &(const struct hs_sql_rows){ .ctx = NULL });
    if (err != 0) {
        fprintf(stderr, "bench_sql: %s\n", err < 0 ? strerror(-err) : hs_sql_error(sql));
    }
    hs_sql_free(sql);
    return err == 0;
}

/* Runs in a child, which has a copy of the parent's tables and does not change them. */
static bool measure(sqlite3 *db, const char *text, struct times *ret_times)
{
    struct times times;
    int ends[2], status = 1;
    if (pipe(ends) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        double wall_s = seconds_of(CLOCK_MONOTONIC), cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        bool is_done = strcmp(text, WRITE) == 0 ? write_all(db) : run_sql(db, text);
        times.wall_s = seconds_of(CLOCK_MONOTONIC) - wall_s;
        times.cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
        _exit(is_done && write(ends[1], &times, sizeof(times)) == sizeof(times) ? 0 : 1);
    }
    close(ends[1]);
    bool is_read = pid > 0 && read(ends[0], &times, sizeof(times)) == sizeof(times);
    close(ends[0]);
    bool is_done = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && is_read;
    if (is_done) {
        *ret_times = times;
    }
    return is_done;
}

static bool report(sqlite3 *db, const char *name, const char *sql, int run_count)
{
    struct times least = { 1e9, 1e9 };
    for (int i = 0; i < run_count; i++) {
        struct times times;
        if (!measure(db, sql, &times)) {
            printf("%-22s failed\n", name);
            return false;
        }
        least.wall_s = times.wall_s < least.wall_s ? times.wall_s : least.wall_s;
        least.cpu_s = times.cpu_s < least.cpu_s ? times.cpu_s : least.cpu_s;
    }
    printf("%-22s %8.3f %8.3f\n", name, least.wall_s, least.cpu_s);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    int run_count = 1, option;
    while ((option = getopt(argc, argv, "n:")) == 'n') {
        run_count = (int)strtol(optarg, NULL, 10);
    }
    if (option != -1 || optind >= argc || run_count < 1) {
        fprintf(stderr, "usage: bench_sql [-n RUNS] FILE [SQL...]\n");
        return 2;
    }
    sqlite3 *db;
    double wall_s = seconds_of(CLOCK_MONOTONIC), cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    int err = hs_sql_open_for(HS_SQL_PACKETS, argv[optind], NULL, &db, NULL);
    if (err != 0) {
        fprintf(stderr, "bench_sql: %s\n", err < 0 ? strerror(-err) : "FILE is no trace");
        return 1;
    }
    printf("%-22s %8s %8s\n%-22s %8.3f %8.3f\n", "", "wall s", "CPU s", "load",
           seconds_of(CLOCK_MONOTONIC) - wall_s, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_s);
    fflush(stdout);
    bool is_fine = true;
    for (int i = optind + 1; i < argc; i++) {
        is_fine = report(db, argv[i], argv[i], run_count) && is_fine;
    }
    for (size_t i = 0; i < HS_COUNT_OF(queries) && optind + 1 == argc; i++) {
        is_fine = report(db, queries[i].name, queries[i].sql, run_count) && is_fine;
    }
    sqlite3_close(db);
    return is_fine ? 0 : 1;
}
