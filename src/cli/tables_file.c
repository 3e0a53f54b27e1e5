/*
 * See tables_file.h.
 */
#include "cli/tables_file.h"

#include <string.h>

#include "cli/cmd.h"
#include "cli/memory_bound.h"
#include "cli/message.h"
#include "cli/profile_file.h"
#include "cli/progress.h"
#include "sql/database.h"

/* What could be read is there; that it is not all must be known. */
static void say_damage(const char *name, const struct hs_trace_damage *damage)
{
    if (damage->is_truncated || damage->bad_packet_count > 0 || damage->skipped_bytes > 0 ||
        damage->has_bad_compression || damage->is_too_big) {
        hs_message(
            "%s is damaged: the database has what could be read; see its table heapscope_losses",
            name);
    }
}

int hs_tables_file_open(const char *path, sqlite3 **ret_db)
{
    struct hs_load_report report = { 0 };
    hs_progress_expect("heapscope: making tables of the file ...\n");
    /* For good: tables that are read later are made of the file, too. */
    struct hs_memory_bound bound;
    hs_memory_bound_begin(&bound, path);
    int r = hs_sql_open(path, ret_db, &report);
    hs_progress_over();
    if (r != 0) {
        return hs_profile_file_fail(path, r, &report);
    }
    say_damage(strcmp(path, "-") == 0 ? "standard input" : path, &report.damage);
    return 0;
}
