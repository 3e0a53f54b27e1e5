/*
 * How long a file takes to become a database, and what is asked of it: bench_sql FILE [SQL].
 *
 * bench/sql_trace.py makes a large one.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sql/database.h"

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    sqlite3 *db;
    double start_s = now_s();
    int r = argc > 1 ? hs_sql_open(argv[1], &db, NULL) : 1;
    if (r != 0) {
        fprintf(stderr, "bench_sql: %s\n", r < 0 ? strerror(-r) : "FILE is no trace");
        return 1;
    }
    printf("open %.3f s\n", now_s() - start_s);
    for (int i = 2; i < argc; i++) {
        start_s = now_s();
        r = sqlite3_exec(db, argv[i], NULL, NULL, NULL);
        printf("%s: %.3f s\n", r == SQLITE_OK ? argv[i] : sqlite3_errmsg(db), now_s() - start_s);
    }
    sqlite3_close(db);
    return 0;
}
