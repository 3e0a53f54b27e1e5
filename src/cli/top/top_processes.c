/*
 * Lists processes: see top_processes.h.
 */
#include "cli/top/top_processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/inspect/eligibility.h"
#include "ctl/ctl.pb-c.h"
#include "rt/clock.h"
#include "util/array.h"
#include "util/proc.h"

struct hs_top_known {
    pid_t pid;
    uint64_t start_ticks;
    bool is_eligible;
    bool is_seen; /* in this look */
};

/* --- all processes ---------------------------------------------------------------------------- */

static struct hs_top_process *find(struct hs_top_processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->list[i].pid == pid) {
            return &processes->list[i];
        }
    }
    return NULL;
}

static struct hs_top_process *add(struct hs_top_processes *processes, pid_t pid)
{
    if (hs_array_reserve(&processes->list, &processes->capacity, processes->count + 1,
                         sizeof(processes->list[0])) < 0) {
        return NULL;
    }
    struct hs_top_process *it = &processes->list[processes->count++];
    *it = (struct hs_top_process){ .pid = pid };
    return it;
}

/* Could this process be recorded? The kernel and /proc are asked only once for each. */
static bool is_eligible(struct hs_top_processes *processes, const struct hs_top_process *process)
{
    struct hs_eligibility it;
    for (size_t i = 0; i < processes->known_count; i++) {
        struct hs_top_known *known = &processes->known[i];
        if (known->pid == process->pid && known->start_ticks == process->start_ticks) {
            known->is_seen = true;
            return known->is_eligible;
        }
    }
    hs_eligibility_check(process->pid, &it);
    if (hs_array_reserve(&processes->known, &processes->known_capacity, processes->known_count + 1,
                         sizeof(processes->known[0])) == 0) {
        processes->known[processes->known_count++] =
            (struct hs_top_known){ .pid = process->pid,
                                   .start_ticks = process->start_ticks,
                                   .is_eligible = it.verdict <= HS_ELIGIBLE_FOR_DAEMON,
                                   .is_seen = true };
    }
    return it.verdict <= HS_ELIGIBLE_FOR_DAEMON;
}

/* Forgets those that have ended. */
static void trim_known(struct hs_top_processes *processes)
{
    size_t kept = 0;
    for (size_t i = 0; i < processes->known_count; i++) {
        if (processes->known[i].is_seen) {
            processes->known[kept] = processes->known[i];
            processes->known[kept++].is_seen = false;
        }
    }
    processes->known_count = kept;
}

static int add_one(struct hs_top_processes *processes, pid_t pid)
{
    struct hs_proc_stat stat;
    if (pid == getpid() || pid == processes->guard_pid || hs_proc_read_stat(pid, &stat) < 0 ||
        stat.is_kernel_thread || stat.state == 'Z') {
        return 0;
    }
    struct hs_top_process *it = add(processes, pid);
    if (!it) {
        return -ENOMEM;
    }
    it->start_ticks = stat.start_ticks;
    it->rss_bytes = stat.rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
    snprintf(it->name, sizeof(it->name), "%s", stat.comm);
    it->is_eligible = is_eligible(processes, it);
    return 0;
}

static int add_all(struct hs_top_processes *processes)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    int r = 0;
    if (!folder) {
        return -errno;
    }
    while (r == 0 && (entry = readdir(folder)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            r = add_one(processes, (pid_t)strtol(entry->d_name, NULL, 10));
        }
    }
    closedir(folder);
    return r;
}

/* --- who records them ------------------------------------------------------------------------- */

static void take_client(struct hs_top_processes *processes, const Hs__Ctl__Client *client)
{
    struct hs_top_process *it = find(processes, (pid_t)client->pid);
    if (!it) {
        return;
    }
    if (client->process) {
        snprintf(it->name, sizeof(it->name), "%s", client->process);
    }
    it->is_dormant |= client->session == NULL;
    if (client->session) {
        snprintf(it->session, sizeof(it->session), "%s", client->session);
        it->has_live = client->has_live_bytes;
        it->live_bytes = (double)client->live_bytes;
    }
}

static void ask(struct hs_top_processes *processes, struct hs_endpoint *place)
{
    Hs__Ctl__List request = HS__CTL__LIST__INIT;
    struct hs_ctl_message answer = { 0 };
    if (hs_endpoint_ask(place, HS_CTL_LIST, &request.base, HS_TOP_PATIENCE_MS, &answer) < 0) {
        return;
    }
    Hs__Ctl__Listed *listed =
        answer.kind == HS_CTL_LISTED
            ? (Hs__Ctl__Listed *)(void *)hs_ctl_unpack(&answer, &hs__ctl__listed__descriptor)
            : NULL;
    for (size_t i = 0; listed && i < listed->n_clients; i++) {
        take_client(processes, listed->clients[i]);
    }
    hs__ctl__listed__free_unpacked(listed, NULL);
    hs_ctl_message_deinit(&answer);
}

static void ask_all(struct hs_top_processes *processes)
{
    static struct hs_endpoints endpoints;
    if (hs_endpoints_find(true, &endpoints) == 0) {
        for (size_t i = 0; i < endpoints.count; i++) {
            ask(processes, &endpoints.items[i]);
        }
    }
}

/* --- order and growth ------------------------------------------------------------------------- */

/* What the list shows the growth of. */
static double size_of(const struct hs_top_process *it)
{
    return it->has_live ? it->live_bytes : (double)it->rss_bytes;
}

static int compare(const void *a, const void *b)
{
    const struct hs_top_process *x = a, *y = b;
    bool is_x = x->session[0] != '\0', is_y = y->session[0] != '\0';
    if (is_x != is_y) {
        return is_x ? -1 : 1;
    }
    if (x->rss_bytes != y->rss_bytes) {
        return x->rss_bytes > y->rss_bytes ? -1 : 1;
    }
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Only what is recorded, or could be, is listed. */
static void leave_out(struct hs_top_processes *processes)
{
    size_t kept = 0;
    for (size_t i = 0; i < processes->count; i++) {
        const struct hs_top_process *it = &processes->list[i];
        if (it->session[0] || it->is_eligible || it->is_dormant) {
            processes->list[kept++] = *it;
        }
    }
    processes->count = kept;
}

/* A process has two keys: it may be recorded from some moment on. */
static uint64_t key_of(const struct hs_top_process *it)
{
    return ((uint64_t)it->pid << 1 | it->has_live) ^ it->start_ticks << 24;
}

static int find_growth(struct hs_top_processes *processes)
{
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    struct hs_watch_figure *figures = calloc(processes->count + 1, sizeof(*figures));
    if (!figures) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < processes->count; i++) {
        struct hs_top_process *it = &processes->list[i];
        figures[i] = (struct hs_watch_figure){ key_of(it), size_of(it) };
        /* What has only just started has not grown that fast. */
        if (hs_watch_growth_knows(&processes->growth, figures[i].key)) {
            it->growth =
                hs_watch_growth_of(&processes->growth, now_ns, figures[i].key, figures[i].bytes);
        }
    }
    int r = hs_watch_growth_note(&processes->growth, now_ns, figures, processes->count);
    free(figures);
    return r;
}

int hs_top_processes_look(struct hs_top_processes *processes)
{
    processes->count = 0;
    int r = add_all(processes);
    if (r < 0) {
        return r;
    }
    ask_all(processes);
    trim_known(processes);
    leave_out(processes);
    if (processes->count > 0) {
        qsort(processes->list, processes->count, sizeof(processes->list[0]), compare);
    }
    return find_growth(processes);
}

void hs_top_processes_deinit(struct hs_top_processes *processes)
{
    hs_watch_growth_deinit(&processes->growth);
    free(processes->list);
    free(processes->known);
    *processes = (struct hs_top_processes){ .count = 0 };
}
