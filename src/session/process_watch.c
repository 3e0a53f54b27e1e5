/*
 * Finds new processes in /proc: see process_watch.h.
 */
#include "session/process_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/array.h"
#include "util/intern.h"
#include "util/proc.h"

/* One process, as it was last seen. */
struct known {
    pid_t pid;
    uint32_t round;     /* number of the last look that saw it */
    uint64_t identity;  /* hash of its start time and its program image; 0: it has no program */
    uint64_t seen_ns;   /* when it was first seen; 0: before the watch began */
    bool is_unreported; /* its identity is new since the look before */
};

struct hs_process_watch {
    struct known *items; /* by pid */
    size_t count, capacity;
    uint32_t round;
    uint64_t next_ns, old_ns;
    uint64_t last_pid;      /* the pid that the kernel had given out last, at the last look */
    hs_new_process_fn *say; /* NULL during the first look: the processes that it sees are not new */
    void *ctx;
};

/* A number that changes when the process executes another program, and not when it takes another
 * title: the kernel chooses the start of the stack at random for each program. */
static uint64_t read_identity(pid_t pid)
{
    struct hs_proc_stat stat;
    if (hs_proc_read_stat(pid, &stat) < 0 || stat.is_kernel_thread || stat.state == 'Z') {
        return 0;
    }
    struct hs_intern_key key = hs_intern_mix((struct hs_intern_key){ 0 }, stat.start_ticks);
    if (stat.stack_start_va == 0) {
        key = hs_intern_mix(key, hs_intern_hash(stat.comm, strlen(stat.comm)).lo);
    }
    return hs_intern_mix(key, stat.stack_start_va).lo | 1;
}

/* The index of the process, or the index at which to insert it. */
static size_t find(const struct hs_process_watch *watch, pid_t pid)
{
    size_t first = 0, end = watch->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (watch->items[middle].pid < pid) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static struct known *put(struct hs_process_watch *watch, pid_t pid, uint64_t now_ns)
{
    size_t i = find(watch, pid);
    if (i < watch->count && watch->items[i].pid == pid) {
        return &watch->items[i];
    }
    if (hs_array_reserve(&watch->items, &watch->capacity, watch->count + 1,
                         sizeof(watch->items[0])) < 0) {
        return NULL;
    }
    struct known *it = &watch->items[i];
    memmove(it + 1, it, (watch->count - i) * sizeof(*it));
    watch->count++;
    *it = (struct known){ .pid = pid, .seen_ns = now_ns };
    return it;
}

/* Looks at one process, and reports it if its identity is that of the look before and not yet
 * reported. */
static void look_at(struct hs_process_watch *watch, pid_t pid, uint64_t now_ns)
{
    struct known *it = put(watch, pid, now_ns);
    if (!it) {
        return;
    }
    it->round = watch->round;
    bool is_young = now_ns - it->seen_ns < HS_PROCESS_WATCH_YOUNG_NS;
    if (!is_young && !it->is_unreported && now_ns < watch->old_ns) {
        return;
    }
    uint64_t identity = read_identity(pid);
    bool is_changed = identity != it->identity;
    it->identity = identity;
    if (!watch->say) {
        it->seen_ns = 0; /* it runs already, for an unknown time */
    } else if (is_changed) {
        it->is_unreported = identity != 0;
    } else if (it->is_unreported) {
        it->is_unreported = false;
        watch->say(watch->ctx, pid);
    }
}

static void forget_gone(struct hs_process_watch *watch)
{
    size_t kept = 0;
    for (size_t i = 0; i < watch->count; i++) {
        if (watch->items[i].round == watch->round) {
            watch->items[kept++] = watch->items[i];
        }
    }
    watch->count = kept;
}

/* The process id that the kernel has given out last; 0: unknown. */
static uint64_t read_last_pid(void)
{
    char text[128];
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) {
        close(fd);
    }
    text[bytes > 0 ? bytes : 0] = '\0';
    const char *last = strrchr(text, ' ');
    return last ? strtoull(last, NULL, 10) : 0;
}

/* For a look without new pids: only young processes may have executed something. */
static void look_at_young(struct hs_process_watch *watch, uint64_t now_ns)
{
    for (size_t i = 0; i < watch->count; i++) {
        const struct known *it = &watch->items[i];
        if (it->is_unreported || now_ns - it->seen_ns < HS_PROCESS_WATCH_YOUNG_NS) {
            look_at(watch, it->pid, now_ns);
        }
    }
}

static void look(struct hs_process_watch *watch, uint64_t now_ns)
{
    uint64_t last_pid = read_last_pid();
    bool is_same = last_pid != 0 && last_pid == watch->last_pid;
    watch->last_pid = last_pid;
    if (is_same && now_ns < watch->old_ns) {
        look_at_young(watch, now_ns);
        return;
    }
    DIR *proc = opendir("/proc");
    watch->round++;
    const struct dirent *entry;
    while (proc && (entry = readdir(proc)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid > 0 && pid <= INT32_MAX && *end == '\0') {
            look_at(watch, (pid_t)pid, now_ns);
        }
    }
    if (proc) {
        closedir(proc);
        forget_gone(watch);
    }
    if (now_ns >= watch->old_ns) {
        watch->old_ns = now_ns + HS_PROCESS_WATCH_OLD_NS;
    }
}

struct hs_process_watch *hs_process_watch_new(uint64_t now_ns)
{
    struct hs_process_watch *watch = calloc(1, sizeof(*watch));
    if (watch) {
        look(watch, now_ns);
        watch->next_ns = now_ns + HS_PROCESS_WATCH_LOOK_NS;
    }
    return watch;
}

struct hs_process_watch *hs_process_watch_free(struct hs_process_watch *watch)
{
    if (watch) {
        free(watch->items);
        free(watch);
    }
    return NULL;
}

uint64_t hs_process_watch_look(struct hs_process_watch *watch, uint64_t now_ns,
                               hs_new_process_fn *say, void *ctx)
{
    if (now_ns >= watch->next_ns) {
        watch->say = say;
        watch->ctx = ctx;
        look(watch, now_ns);
        watch->next_ns = now_ns + HS_PROCESS_WATCH_LOOK_NS;
    }
    return watch->next_ns;
}
