/*
 * Which processes of a program that `run` started go into its file: those that have one of the
 * names at one of their dumps, or take it as a title in between, as the workers of servers change
 * their title with their work. `record` without names means the program itself, and also processes
 * that were only forked from a meant process: a server's workers often take another name.
 *
 *     struct hs_run_meant meant = { .names = &only, .registry = registry, .program_pid = pid };
 *     ... now and then: hs_run_meant_look(&meant, target);
 *     ... at each dump: if (hs_run_meant_has(&meant, snap)) ...
 *     hs_run_meant_deinit(&meant);
 *
 * Ensures   an image that was meant once is meant until its last dump, even when its name changes.
 * Threads   one.
 * Fails     when memory runs out, an image is forgotten, and its name decides at its next dump.
 * See       session/match.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/registry.h"
#include "trace/snapshot.h"
#include "util/opts.h"

struct hs_run_image {
    pid_t pid;
    uint64_t start_ns; /* when it began to record: another image may follow under the same pid */
    bool is_meant;
};

struct hs_run_meant {
    const struct hs_opt_list *names; /* none: all are meant */
    bool has_forks;
    pid_t program_pid;                  /* the program's own last image, which is dumped last */
    const struct hs_registry *registry; /* the running processes */
    struct hs_run_image *images;        /* those that were dumped, or had one of the names */
    size_t image_count, image_capacity;
};

/* Looks at the title of a running process, which may have changed. */
void hs_run_meant_look(struct hs_run_meant *meant, const struct hs_target *target);
/* True: the process of this dump is meant. */
bool hs_run_meant_has(struct hs_run_meant *meant, const struct hs_snapshot *snap);
/* Frees the images. */
void hs_run_meant_deinit(struct hs_run_meant *meant);
