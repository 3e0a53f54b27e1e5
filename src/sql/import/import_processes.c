/*
 * Processes and threads: pid -> upid, tid -> utid, in the order of their first appearance.
 *
 * Process 0 and thread 0, the kernel's idle task, exist from the start. A process that is added
 * also gets its main thread.
 *
 * See       import_state.h
 */
#include "rt/text.h"
#include "sql/import/import_state.h"
#include "util/buf.h"

#define ANDROID_USER_UIDS 100000

/* Cells, as in sql_store.c. */
enum {
    PROCESS_PID,
    PROCESS_NAME,
    PROCESS_START,
    PROCESS_END,
    PROCESS_PARENT,
    PROCESS_UID,
    PROCESS_APPID,
    PROCESS_USER,
    PROCESS_CMDLINE
};
enum { THREAD_TID, THREAD_NAME, THREAD_START, THREAD_END, THREAD_UPID, THREAD_IS_MAIN };

static uint32_t number_of(struct hs_import *import, struct hs_intern_array *ids, uint32_t id,
                          bool *ret_is_new)
{
    uint32_t number = 0;
    *ret_is_new = false;
    if (import->store->err == 0) {
        import->store->err = hs_intern_put(&ids->ids, HS_IMPORT_KEY(id), &number, ret_is_new);
    }
    return number;
}

static uint32_t thread_of(struct hs_import *import, uint32_t tid, int64_t upid, uint32_t pid)
{
    bool is_new;
    uint32_t utid = number_of(import, &import->tid_ids, tid, &is_new);
    if (is_new) {
        HS_SQL_ADD(import->store, HS_SQL_THREAD, tid, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL,
                   upid, tid == pid, utid == 0, HS_ROWS_NULL, HS_ROWS_NULL);
    }
    return utid;
}

uint32_t hs_import_upid(struct hs_import *import, uint32_t pid)
{
    bool is_new;
    uint32_t upid = number_of(import, &import->pid_ids, pid, &is_new);
    if (is_new) {
        HS_SQL_ADD(import->store, HS_SQL_PROCESS, pid, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL,
                   HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL, HS_ROWS_NULL,
                   HS_ROWS_NULL, HS_ROWS_NULL);
        thread_of(import, pid, upid, pid);
    }
    return upid;
}

uint32_t hs_import_utid(struct hs_import *import, uint32_t tid, int64_t upid)
{
    bool is_main = upid != HS_ROWS_NULL && import->store->err == 0 &&
                   hs_rows_at(&import->store->tables[HS_SQL_PROCESS],
                              (uint32_t)upid)[PROCESS_PID] == (int64_t)tid;
    return thread_of(import, tid, upid, is_main ? tid : tid + 1);
}

void hs_import_idle_process(struct hs_import *import)
{
    hs_import_upid(import, 0);
    if (import->store->err == 0) {
        hs_rows_at(&import->store->tables[HS_SQL_THREAD], 0)[THREAD_NAME] =
            hs_sql_store_str(import->store, "swapper");
    }
}

static int64_t join_cmdline(struct hs_import *import, const Hs__Pb__ProcessTree__Process *process)
{
    struct hs_buf text = HS_BUF_INIT;
    for (size_t i = 0; i < process->n_cmdline; i++) {
        hs_buf_str(&text, i > 0 ? " " : "");
        hs_buf_str(&text, process->cmdline[i]);
    }
    int64_t cmdline = hs_sql_store_str(import->store, hs_buf_text(&text));
    import->store->err = import->store->err ? import->store->err : text.err;
    hs_buf_deinit(&text);
    return cmdline;
}

static void add_process(struct hs_import *import, const Hs__Pb__ProcessTree__Process *process)
{
    struct hs_sql_store *store = import->store;
    uint32_t parent = hs_import_upid(import, (uint32_t)process->ppid);
    uint32_t upid = hs_import_upid(import, (uint32_t)process->pid);
    if (store->err != 0) {
        return;
    }
    int64_t name =
        process->n_cmdline > 0 ? hs_sql_store_str(store, process->cmdline[0]) : HS_ROWS_NULL;
    int64_t cmdline = process->n_cmdline > 0 ? join_cmdline(import, process) : HS_ROWS_NULL;
    int64_t start_ns = HS_ROWS_NULL;
    if (process->has_process_start_from_boot) {
        hs_clocks_convert(import->clocks, 0, HS_CLOCK_BOOTTIME, process->process_start_from_boot,
                          &start_ns);
    }
    int64_t *cells = hs_rows_at(&store->tables[HS_SQL_PROCESS], upid);
    cells[PROCESS_PARENT] = parent;
    cells[PROCESS_NAME] = name != HS_ROWS_NULL ? name : cells[PROCESS_NAME];
    cells[PROCESS_CMDLINE] = cmdline != HS_ROWS_NULL ? cmdline : cells[PROCESS_CMDLINE];
    cells[PROCESS_START] = start_ns != HS_ROWS_NULL ? start_ns : cells[PROCESS_START];
    if (process->has_uid) {
        cells[PROCESS_UID] = process->uid;
        cells[PROCESS_APPID] = process->uid % ANDROID_USER_UIDS;
        cells[PROCESS_USER] = process->uid / ANDROID_USER_UIDS;
    }
}

void hs_import_process_tree(struct hs_import *import, const Hs__Pb__ProcessTree *tree)
{
    struct hs_sql_store *store = import->store;
    for (size_t i = 0; i < tree->n_processes && store->err == 0; i++) {
        add_process(import, tree->processes[i]);
    }
    for (size_t i = 0; i < tree->n_threads && store->err == 0; i++) {
        const Hs__Pb__ProcessTree__Thread *thread = tree->threads[i];
        uint32_t upid = hs_import_upid(import, (uint32_t)thread->tgid);
        uint32_t utid = thread_of(import, (uint32_t)thread->tid, upid, (uint32_t)thread->tgid);
        if (store->err != 0) {
            return;
        }
        int64_t *cells = hs_rows_at(&store->tables[HS_SQL_THREAD], utid);
        cells[THREAD_UPID] = upid;
        cells[THREAD_IS_MAIN] = thread->tid == thread->tgid;
        if (thread->name && thread->name[0]) {
            cells[THREAD_NAME] = hs_sql_store_str(store, thread->name);
        }
    }
}
