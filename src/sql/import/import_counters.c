/*
 * Counters over time: memory of processes (ProcessStats) and of the machine (SysStats), in bytes
 * and nanoseconds; and heapscope's own counters (HsProcessCounters).
 *
 * See       import_state.h, docs/SQL.md
 */
#include <stdlib.h>

#include "sql/import/import_state.h"

#define KB_BYTES 1024.0

/* Cells, as in sql_store.c. */
enum { COUNTER_TS, COUNTER_TRACK, COUNTER_VALUE };

static uint32_t track_of(struct hs_import *import, int64_t name, int64_t upid, const char *type,
                         const char *unit)
{
    struct hs_sql_store *store = import->store;
    bool is_new;
    struct hs_intern_key key = { .hi = (uint64_t)upid, .lo = (uint64_t)name };
    uint32_t *track =
        hs_import_at(import, &import->track_ids, &import->tracks, sizeof(*track), key, &is_new);
    if (!is_new) {
        return track ? *track : 0;
    }
    int64_t type_text = hs_sql_store_str(store, type), unit_text = hs_sql_store_str(store, unit);
    *track = HS_SQL_ADD(store, HS_SQL_TRACK, name, HS_ROWS_NULL, type_text, HS_ROWS_NULL,
                        HS_ROWS_NULL, HS_ROWS_NULL, unit_text, HS_ROWS_NULL);
    if (upid != HS_ROWS_NULL) {
        HS_SQL_ADD(store, HS_SQL_PROCESS_TRACK, *track, name, HS_ROWS_NULL, type_text, HS_ROWS_NULL,
                   HS_ROWS_NULL, HS_ROWS_NULL, unit_text, HS_ROWS_NULL, upid);
    }
    return *track;
}

static void count(struct hs_import *import, uint32_t track, double value)
{
    HS_SQL_ADD(import->store, HS_SQL_COUNTER, import->now_ns, track, hs_rows_real(value),
               HS_ROWS_NULL);
}

static void count_of_process(struct hs_import *import, uint32_t upid, const char *name,
                             double value, const char *unit)
{
    int64_t text = hs_sql_store_str(import->store, name);
    count(import, track_of(import, text, upid, "process_memory", unit), value);
}

static void add_ours(struct hs_import *import, uint32_t upid, const Hs__Pb__HsProcessCounters *p)
{
    if (p->has_minor_fault_count) {
        count_of_process(import, upid, "heapscope.minor_faults", (double)p->minor_fault_count,
                         NULL);
    }
    if (p->has_major_fault_count) {
        count_of_process(import, upid, "heapscope.major_faults", (double)p->major_fault_count,
                         NULL);
    }
    if (p->has_thread_count) {
        count_of_process(import, upid, "heapscope.threads", (double)p->thread_count, NULL);
    }
    if (p->has_live_bytes) {
        count_of_process(import, upid, "heapscope.live_bytes", (double)p->live_bytes, "bytes");
    }
}

static void add_process(struct hs_import *import, const Hs__Pb__ProcessStats__Process *p)
{
    const struct {
        const char *name;
        bool is_there;
        double value;
        const char *unit;
    } fields[] = {
        { "mem.virt", p->has_vm_size_kb, (double)p->vm_size_kb * KB_BYTES, "bytes" },
        { "mem.rss", p->has_vm_rss_kb, (double)p->vm_rss_kb * KB_BYTES, "bytes" },
        { "mem.rss.anon", p->has_rss_anon_kb, (double)p->rss_anon_kb * KB_BYTES, "bytes" },
        { "mem.rss.file", p->has_rss_file_kb, (double)p->rss_file_kb * KB_BYTES, "bytes" },
        { "mem.rss.shmem", p->has_rss_shmem_kb, (double)p->rss_shmem_kb * KB_BYTES, "bytes" },
        { "mem.swap", p->has_vm_swap_kb, (double)p->vm_swap_kb * KB_BYTES, "bytes" },
        { "mem.locked", p->has_vm_locked_kb, (double)p->vm_locked_kb * KB_BYTES, "bytes" },
        { "mem.rss.watermark", p->has_vm_hwm_kb, (double)p->vm_hwm_kb * KB_BYTES, "bytes" },
        { "oom_score_adj", p->has_oom_score_adj, (double)p->oom_score_adj, NULL },
        { "mem.smaps.rss", p->has_smr_rss_kb, (double)p->smr_rss_kb * KB_BYTES, "bytes" },
        { "mem.smaps.pss", p->has_smr_pss_kb, (double)p->smr_pss_kb * KB_BYTES, "bytes" },
        { "mem.smaps.pss.anon", p->has_smr_pss_anon_kb, (double)p->smr_pss_anon_kb * KB_BYTES,
          "bytes" },
        { "mem.smaps.pss.file", p->has_smr_pss_file_kb, (double)p->smr_pss_file_kb * KB_BYTES,
          "bytes" },
        { "mem.smaps.pss.smem", p->has_smr_pss_shmem_kb, (double)p->smr_pss_shmem_kb * KB_BYTES,
          "bytes" },
        { "runtime.user_ns", p->has_runtime_user_mode, (double)p->runtime_user_mode, "ns" },
        { "runtime.kernel_ns", p->has_runtime_kernel_mode, (double)p->runtime_kernel_mode, "ns" },
        { "mem.smaps.swap.pss", p->has_smr_swap_pss_kb, (double)p->smr_swap_pss_kb * KB_BYTES,
          "bytes" },
        { "mem.dmabuf_rss", p->has_dmabuf_rss_kb, (double)p->dmabuf_rss_kb * KB_BYTES, "bytes" },
    };
    uint32_t upid = hs_import_upid(import, (uint32_t)p->pid);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].is_there) {
            count_of_process(import, upid, fields[i].name, fields[i].value, fields[i].unit);
        }
    }
    /* Files that were written before HsProcessCounters existed have these counters here. */
    add_ours(import, upid,
             &(Hs__Pb__HsProcessCounters){
                 .has_minor_fault_count = p->has_heapscope_minor_fault_count,
                 .minor_fault_count = p->heapscope_minor_fault_count,
                 .has_major_fault_count = p->has_heapscope_major_fault_count,
                 .major_fault_count = p->heapscope_major_fault_count,
                 .has_thread_count = p->has_heapscope_thread_count,
                 .thread_count = p->heapscope_thread_count,
             });
}

void hs_import_our_counters(struct hs_import *import, const Hs__Pb__HsProcessCounters *counters)
{
    add_ours(import, hs_import_upid(import, counters->pid), counters);
}

void hs_import_process_stats(struct hs_import *import, const Hs__Pb__ProcessStats *stats)
{
    for (size_t i = 0; i < stats->n_processes && import->store->err == 0; i++) {
        add_process(import, stats->processes[i]);
    }
}

static const char *const meminfo_names[] = {
    NULL,
    "MemTotal",
    "MemFree",
    "MemAvailable",
    "Buffers",
    "Cached",
    "SwapCached",
    "Active",
    "Inactive",
    "Active(anon)",
    "Inactive(anon)",
    "Active(file)",
    "Inactive(file)",
    "Unevictable",
    "Mlocked",
    "SwapTotal",
    "SwapFree",
    "Dirty",
    "Writeback",
    "AnonPages",
    "Mapped",
    "Shmem",
    "Slab",
    "SReclaimable",
    "SUnreclaim",
    "KernelStack",
    "PageTables",
    "CommitLimit",
    "Committed_AS",
    "VmallocTotal",
    "VmallocUsed",
    "VmallocChunk",
    "CmaTotal",
    "CmaFree",
};

static const char *const psi_names[] = { NULL,          "psi.cpu.some", "psi.cpu.full",
                                         "psi.io.some", "psi.io.full",  "psi.mem.some",
                                         "psi.mem.full" };

static void count_named(struct hs_import *import, const char *const *names, size_t name_count,
                        uint64_t key, const char *type, const char *unit, double value)
{
    if (key < name_count && names[key]) {
        int64_t name = hs_sql_store_str(import->store, names[key]);
        count(import, track_of(import, name, HS_ROWS_NULL, type, unit), value);
    }
}

void hs_import_sys_stats(struct hs_import *import, const Hs__Pb__SysStats *stats)
{
    for (size_t i = 0; i < stats->n_meminfo; i++) {
        const Hs__Pb__SysStats__MeminfoValue *line = stats->meminfo[i];
        count_named(import, meminfo_names, sizeof(meminfo_names) / sizeof(meminfo_names[0]),
                    (uint64_t)line->key, "meminfo", "bytes", (double)line->value * KB_BYTES);
    }
    for (size_t i = 0; i < stats->n_psi; i++) {
        const Hs__Pb__SysStats__PsiSample *line = stats->psi[i];
        count_named(import, psi_names, sizeof(psi_names) / sizeof(psi_names[0]),
                    (uint64_t)line->resource, "psi", "ns", (double)line->total_ns);
    }
}

/* Sort key: by time; those of equal times in the order of the file. */
struct order {
    int64_t ts_ns;
    uint32_t row;
};

static int compare(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->ts_ns != b->ts_ns) {
        return a->ts_ns < b->ts_ns ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

void hs_import_counters_finish(struct hs_import *import)
{
    struct hs_rows *rows = &import->store->tables[HS_SQL_COUNTER];
    bool is_sorted = true;
    for (uint32_t i = 1; i < rows->count && is_sorted; i++) {
        is_sorted = hs_rows_at(rows, i - 1)[COUNTER_TS] <= hs_rows_at(rows, i)[COUNTER_TS];
    }
    if (is_sorted || import->store->err != 0) {
        return;
    }
    struct order *order = malloc(rows->count * sizeof(*order));
    int64_t *cells = malloc((size_t)rows->count * rows->width * sizeof(*cells));
    if (order && cells) {
        for (uint32_t i = 0; i < rows->count; i++) {
            order[i] = (struct order){ hs_rows_at(rows, i)[COUNTER_TS], i };
        }
        qsort(order, rows->count, sizeof(*order), compare);
        for (uint32_t i = 0; i < rows->count; i++) {
            memcpy(cells + (size_t)i * rows->width, hs_rows_at(rows, order[i].row),
                   rows->width * sizeof(*cells));
        }
        memcpy(rows->cells, cells, (size_t)rows->count * rows->width * sizeof(*cells));
    }
    free(order);
    free(cells);
}
