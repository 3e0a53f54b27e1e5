/* Writes the identity and the threads of a process: see sources.h. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sources/sources_state.h"
#include "util/array.h"
#include "util/utf8.h"

#define CMDLINE_BYTES_MAX (64U * 1024U)
/*
 * Limits on threads per look, and written threads per process in all. A process with more threads
 * is known well enough by then.
 */
#define THREADS_MAX        4096U
#define THREADS_TOTAL_MAX  65536U
#define NAMES_AGAIN_MAX    256U
#define SCAN_PROCESSES_MAX 32768U

static void clean(char *name, size_t cap_bytes)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_utf8_write(&text, name, strlen(name));
    const char *good = hs_buf_text(&text);
    size_t bytes = hs_utf8_fit(good, strlen(good), cap_bytes - 1);
    while (bytes >= cap_bytes || (good[bytes] & 0xC0) == 0x80) {
        bytes--; /* back to the start of a character */
    }
    memcpy(name, good, bytes);
    name[bytes] = '\0';
    hs_buf_deinit(&text);
}

static void read_comm(const char *path, char ret_name[HS_TRACE_THREAD_NAME_BYTES])
{
    struct hs_buf text = HS_BUF_INIT;
    ret_name[0] = '\0';
    if (hs_proc_read_whole(path, "comm", &text) == 0) {
        hs_proc_parse_comm(hs_buf_text(&text), text.bytes, ret_name, HS_TRACE_THREAD_NAME_BYTES);
        clean(ret_name, HS_TRACE_THREAD_NAME_BYTES);
    }
    hs_buf_deinit(&text);
}

/* A kernel thread and a zombie have no arguments: their short name is written instead. */
static void write_process(struct hs_sources *sources, pid_t pid,
                          const struct hs_proc_identity *identity, uint64_t now_ns)
{
    char folder[PATH_MAX], comm[HS_TRACE_THREAD_NAME_BYTES] = "";
    struct hs_buf text = HS_BUF_INIT;
    snprintf(folder, sizeof(folder), "%s/%d", sources->folder, (int)pid);
    hs_proc_read_whole(folder, "cmdline", &text);
    bool is_comm = text.bytes == 0;
    if (is_comm) {
        read_comm(folder, comm);
        hs_buf_str(&text, comm);
    }
    hs_buf_char(&text, '\0');
    uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    struct hs_trace_tree tree = {
        .pid = (uint32_t)pid,
        .process = identity,
        .cmdline = (char *)text.data,
        .cmdline_bytes = text.bytes,
        .is_comm = is_comm,
        .start_boottime_ns =
            sources->settings.with_process_age ? identity->start_ticks * tick_ns : 0,
    };
    if (!text.err) {
        if (tree.cmdline_bytes > CMDLINE_BYTES_MAX) {
            tree.cmdline_bytes = CMDLINE_BYTES_MAX;
            tree.cmdline[CMDLINE_BYTES_MAX - 1] = '\0';
        }
        tree.cmdline_bytes -= tree.cmdline_bytes > 1 && !is_comm; /* without the NUL that we
                                                                   * added */
        hs_trace_writer_tree(sources->writer, now_ns, &tree);
        sources->packet_count++;
    }
    hs_buf_deinit(&text);
}

bool hs_source_introduce(struct hs_sources *sources, struct hs_source_process *state,
                         uint64_t now_ns)
{
    struct hs_counters unused = { 0 };
    struct hs_proc_identity identity;
    int r = hs_proc_read_counters(sources->folder, state->pid, &unused, &identity);
    if (r < 0) {
        hs_source_tell_unread(sources, state->pid, now_ns, "status", r, &state->is_status_told);
        return false;
    }
    identity.pid = (uint32_t)state->pid;
    state->start_ticks = identity.start_ticks;
    write_process(sources, state->pid, &identity, now_ns);
    return true;
}

/* --- threads ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static size_t list_threads(const char *folder, uint32_t *tids, size_t max)
{
    DIR *dir = opendir(folder);
    size_t count = 0;
    struct dirent *entry;
    while (dir && count < max && (entry = readdir(dir))) {
        unsigned long tid = strtoul(entry->d_name, NULL, 10);
        if (tid > 0 && tid <= INT_MAX) {
            tids[count++] = (uint32_t)tid;
        }
    }
    if (dir) {
        closedir(dir);
    }
    qsort(tids, count, sizeof(tids[0]), by_number);
    return count;
}

static const struct hs_trace_thread *find_thread(const struct hs_source_process *state,
                                                 uint32_t tid)
{
    size_t low = 0, high = state->thread_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (state->threads[middle].tid < tid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < state->thread_count && state->threads[low].tid == tid ? &state->threads[low]
                                                                       : NULL;
}

struct listing {
    uint32_t *tids;
    struct hs_trace_thread *now, *changed;
    size_t count, changed_count;
};

/* Finds the new threads and, `with_names`, those that have a new name. */
static void compare(const struct hs_source_process *state, const char *folder, bool with_names,
                    struct listing *list)
{
    char path[PATH_MAX + 16];
    size_t again = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct hs_trace_thread *known = find_thread(state, list->tids[i]);
        struct hs_trace_thread *now = &list->now[i];
        *now = known ? *known : (struct hs_trace_thread){ .tid = list->tids[i] };
        if (known && (!with_names || again++ >= NAMES_AGAIN_MAX)) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%u", folder, list->tids[i]);
        read_comm(path, now->name);
        if (!known || strcmp(known->name, now->name) != 0) {
            list->changed[list->changed_count++] = *now;
        }
    }
}

void hs_source_threads(struct hs_sources *sources, struct hs_source_process *state, uint64_t now_ns,
                       bool with_names)
{
    char folder[PATH_MAX];
    struct listing list = { .tids = malloc(THREADS_MAX * sizeof(uint32_t)) };
    if (!sources->settings.with_thread_names || !list.tids ||
        state->thread_total >= THREADS_TOTAL_MAX) {
        free(list.tids);
        return;
    }
    snprintf(folder, sizeof(folder), "%s/%d/task", sources->folder, (int)state->pid);
    list.count = list_threads(folder, list.tids, THREADS_MAX);
    list.now = calloc(list.count + 1, sizeof(*list.now));
    list.changed = calloc(list.count + 1, sizeof(*list.changed));
    if (list.now && list.changed && list.count > 0) {
        compare(state, folder, with_names, &list);
        if (list.changed_count > 0) {
            const struct hs_trace_tree tree = { .pid = (uint32_t)state->pid,
                                                .threads = list.changed,
                                                .thread_count = list.changed_count };
            hs_trace_writer_tree(sources->writer, now_ns, &tree);
            sources->packet_count++;
            state->thread_total += list.changed_count;
        }
        free(state->threads);
        state->threads = list.now;
        state->thread_count = list.count;
        list.now = NULL;
    }
    if (list.count == THREADS_MAX || state->thread_total >= THREADS_TOTAL_MAX) {
        hs_source_tell_unread(sources, state->pid, now_ns, "task", -E2BIG, &state->is_threads_told);
    }
    free(list.now);
    free(list.changed);
    free(list.tids);
}

/* --- all processes ---------------------------------------------------------------------------- */

void hs_source_scan(struct hs_sources *sources, uint64_t now_ns)
{
    uint32_t *pids = malloc(SCAN_PROCESSES_MAX * sizeof(uint32_t));
    size_t count = pids ? list_threads(sources->folder, pids, SCAN_PROCESSES_MAX) : 0;
    for (size_t i = 0; i < count; i++) {
        struct hs_source_process one = { .pid = (pid_t)pids[i] };
        if (hs_source_introduce(sources, &one, now_ns)) {
            hs_source_threads(sources, &one, now_ns, true);
        }
        free(one.threads);
    }
    free(pids);
}
