/*
 * Lists /proc/PID/task: see candidates.h.
 */
#include "inject/ptrace/candidates.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/array.h"

/* The most threads that are listed; of a process with more, only some are. */
#define THREADS_MAX 4096U

static int compare(const void *a, const void *b)
{
    const struct hs_candidate *x = a, *y = b;
    if (x->wait.kind != y->wait.kind) {
        return x->wait.kind < y->wait.kind ? -1 : 1;
    }
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int hs_candidates_load(pid_t pid, struct hs_candidates *candidates)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder) {
        return -errno;
    }
    int r = 0;
    candidates->count = 0;
    for (struct dirent *entry; r == 0 && candidates->count < THREADS_MAX;) {
        entry = readdir(folder);
        if (!entry) {
            break;
        }
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0) {
            continue;
        }
        r = hs_array_reserve(&candidates->items, &candidates->capacity, candidates->count + 1,
                             sizeof(candidates->items[0]));
        if (r == 0) {
            struct hs_candidate *candidate = &candidates->items[candidates->count++];
            candidate->tid = tid;
            hs_wait_look(pid, tid, &candidate->wait);
        }
    }
    closedir(folder);
    if (candidates->count > 0) {
        qsort(candidates->items, candidates->count, sizeof(candidates->items[0]), compare);
    }
    return r;
}

void hs_candidates_deinit(struct hs_candidates *candidates)
{
    free(candidates->items);
    *candidates = (struct hs_candidates){ 0 };
}
