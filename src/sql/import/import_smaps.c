/*
 * smaps: the mappings of a process and the resident size of each. A packet lists them one by one,
 * or added up by name in columns.
 *
 * See       import_state.h
 */
#include <string.h>

#include "sql/import/import_state.h"

static const char deleted[] = " (deleted)";

struct path {
    int64_t whole, trimmed;
    bool is_deleted;
};

static struct path path_of(struct hs_import *import, const char *text)
{
    size_t bytes = strlen(text), end_bytes = sizeof(deleted) - 1;
    bool is_deleted = bytes > end_bytes && strcmp(text + bytes - end_bytes, deleted) == 0;
    return (struct path){
        .whole = hs_sql_store_put(import->store, text, bytes),
        .trimmed = hs_sql_store_put(import->store, text, is_deleted ? bytes - end_bytes : bytes),
        .is_deleted = is_deleted,
    };
}

static int64_t text_of(struct hs_import *import, const char *text)
{
    return hs_sql_store_str(import->store, text ? text : "");
}

static void add_entry(struct hs_import *import, uint32_t upid, const Hs__Pb__SmapsEntry *e)
{
    struct path path = path_of(import, e->path ? e->path : "");
    HS_SQL_ADD(import->store, HS_SQL_SMAPS, upid, import->now_ns, path.whole, path.trimmed, 1,
               path.is_deleted, (int64_t)e->size_kb, (int64_t)e->private_dirty_kb,
               (int64_t)e->swap_kb, text_of(import, e->file_name), (int64_t)e->start_address,
               (int64_t)e->module_timestamp, text_of(import, e->module_debugid),
               text_of(import, e->module_debug_path), e->protection_flags,
               (int64_t)e->private_clean_resident_kb, (int64_t)e->shared_dirty_resident_kb,
               (int64_t)e->shared_clean_resident_kb, (int64_t)e->locked_kb,
               (int64_t)e->proportional_resident_kb, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL,
               HS_ROWS_NULL);
}

/* NULL if the packet does not have the column. */
static int64_t cell(const uint64_t *column, size_t count, size_t row)
{
    return row < count ? (int64_t)column[row] : HS_ROWS_NULL;
}

static void add_packed(struct hs_import *import, uint32_t upid, const Hs__Pb__PackedSmaps *p)
{
    const size_t counts[] = { p->n_aggregate_count, p->n_size,          p->n_rss,
                              p->n_anonymous,       p->n_swap,          p->n_shared_clean,
                              p->n_shared_dirty,    p->n_private_clean, p->n_private_dirty,
                              p->n_locked,          p->n_pss,           p->n_pss_dirty,
                              p->n_swap_pss };
    size_t n = p->n_name_id;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        n = counts[i] > n ? counts[i] : n;
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (counts[i] != 0 && counts[i] != n) {
            hs_stat_count(import, HS_STAT_SMAPS_PARSER);
            return;
        }
    }
    for (size_t i = 0; i < n && import->store->err == 0; i++) {
        /* A packet without numbers of names has one row for each name. */
        size_t name = p->n_name_id == 0 ? i : i < p->n_name_id ? p->name_id[i] : 0;
        if (name != 0 && name >= p->n_string_table) {
            hs_stat_count(import, HS_STAT_SMAPS_PARSER);
            continue;
        }
        struct path path = path_of(import, name < p->n_string_table ? p->string_table[name] : "");
        HS_SQL_ADD(import->store, HS_SQL_SMAPS, upid, import->now_ns, path.whole, path.trimmed,
                   i < p->n_aggregate_count ? (int64_t)p->aggregate_count[i] : 1, path.is_deleted,
                   cell(p->size, p->n_size, i), cell(p->private_dirty, p->n_private_dirty, i),
                   cell(p->swap, p->n_swap, i), HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL,
                   HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL,
                   cell(p->private_clean, p->n_private_clean, i),
                   cell(p->shared_dirty, p->n_shared_dirty, i),
                   cell(p->shared_clean, p->n_shared_clean, i), cell(p->locked, p->n_locked, i),
                   cell(p->pss, p->n_pss, i), cell(p->rss, p->n_rss, i),
                   cell(p->anonymous, p->n_anonymous, i), cell(p->pss_dirty, p->n_pss_dirty, i),
                   cell(p->swap_pss, p->n_swap_pss, i));
    }
}

void hs_import_smaps(struct hs_import *import, const Hs__Pb__SmapsPacket *smaps)
{
    uint32_t upid = hs_import_upid(import, smaps->pid);
    for (size_t i = 0; i < smaps->n_entries && import->store->err == 0; i++) {
        add_entry(import, upid, smaps->entries[i]);
    }
    if (smaps->packed_entries) {
        add_packed(import, upid, smaps->packed_entries);
    }
}
