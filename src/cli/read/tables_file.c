/*
 * See tables_file.h.
 */
#include "cli/read/tables_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/read/memory_bound.h"
#include "cli/read/name_maps.h"
#include "cli/read/profile_file.h"
#include "cli/read/symbol_append.h"
#include "sql/database.h"

/* The tables contain what could be read; the user must know that it is not everything. */
static void say_damage(const char *name, const struct hs_trace_damage *damage)
{
    if (damage->is_truncated || damage->bad_packet_count > 0 || damage->skipped_bytes > 0 ||
        damage->has_bad_compression || damage->is_too_big) {
        hs_message("%s is damaged: the database contains what could be read; its table "
                   "heapscope_losses says what is missing",
                   name);
    }
}

/* Opens the file with the names from the user's sources, as the other commands do. */
static int open_with_names(unsigned expected, const char *path, const struct hs_sql_heaps *heaps,
                           sqlite3 **ret_db, struct hs_load_report *ret_report)
{
    char copy[32];
    struct hs_name_sources sources;
    int fd = -1, err = hs_symbol_sources_read(&sources);
    bool is_wanted = err == 0 && (sources.is_any || hs_name_maps_are_in_environment());
    if (is_wanted) {
        fd = hs_symbol_append_copy(path, &sources);
    }
    hs_name_sources_deinit(&sources);
    if (err == 0 && !is_wanted) {
        return hs_sql_open_for(expected, path, heaps, ret_db, ret_report);
    }
    if (err != 0) {
        return err;
    }
    if (fd < 0) {
        return fd;
    }
    snprintf(copy, sizeof(copy), "/proc/self/fd/%d", fd);
    int r = hs_sql_open_for(expected, copy, heaps, ret_db, ret_report);
    close(fd); /* the file stays mapped */
    return r;
}

int hs_tables_file_open(unsigned expected, const char *path, const struct hs_heap_patterns *heaps,
                        sqlite3 **ret_db)
{
    struct hs_load_report report = { 0 };
    struct hs_buf missing = HS_BUF_INIT;
    const struct hs_sql_heaps chosen = { .patterns = *heaps, .missing = &missing };
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    hs_progress_expect("heapscope: making tables of the file ...\n");
    /* Without an end: tables that are read later are made from the file, too. */
    struct hs_memory_bound bound;
    hs_memory_bound_begin(&bound, path);
    int status = 0, r = open_with_names(expected, path, &chosen, ret_db, &report);
    hs_progress_over();
    if (r == HS_SQL_E_NO_HEAP) {
        hs_message("%s: %s", name, hs_buf_text(&missing));
        status = HS_EXIT_STATUS_FAILED;
    } else if (r != 0) {
        status = hs_profile_file_fail(path, r, &report);
    } else {
        say_damage(name, &report.damage);
    }
    hs_buf_deinit(&missing);
    return status;
}
