/*
 * A program that heapscope starts, from its start to its last snapshot. A session records the
 * program and its children through a hub (hub.h), like any other process. This file adds what only
 * a program that heapscope itself starts needs: it is launched with the client, signals are passed
 * on to it, and the recording ends with it.
 *
 *     struct hs_program_run *run;
 *     hs_program_run_new(&config, &run);             the program is forked, and waits
 *     pid = hs_program_run_pid(run);                 time to open the output file
 *     hs_session_new(&settings, ..., &session);      settings.is_taking_announced
 *     hs_program_run_prepare(run, session);
 *     hs_program_run_go(run, &result);               runs it to its end; the session is over then
 *     hs_program_run_free(run);
 *
 * What happens to the profile never changes what happens to the program: when the trace cannot be
 * written, recording is switched off, and the program runs on to its own exit status.
 *
 * A program with an embedded allocator waits before its first allocation until the allocator's
 * calls are redirected (embedded_allocator.h). That takes some milliseconds, in which heapscope
 * does nothing else.
 *
 * When the program has ended, children that still run get a moment to end too. Then the session
 * takes a final snapshot of those that remain, and they go on unrecorded.
 *
 * Ensures   each image gets exactly one final snapshot, unless it could not be read or the trace
 *           could not be written. The program's own last image comes after all others.
 * Threads   one.
 * See       hub.h, collect/relay.h, collect/launch.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/hub.h"

struct hs_program_run_config {
    const char *path; /* path of the file to execute */
    char *const *argv;
    const char *preload_path;
    uint64_t interval_bytes;
    const struct hs_heap_selection *heaps; /* settled */
    bool is_following;                     /* its children are recorded, too */
    /* SIGUSR1 to heapscope asks for a dump, and is not passed on */
    bool is_dumping_at_usr1;
    hs_hub_look_fn *on_look; /* NULL: no calls */
    /* Called when the calls of an embedded allocator cannot be redirected; `words` says why. NULL:
     * no calls. */
    void (*on_unseen)(void *ctx, pid_t pid, const char *words);
    hs_registry_peer_fn *on_peer; /* receives connections of commands; NULL: they are rejected */
    /* Called in each turn of the loop. Returns when to call it again (CLOCK_MONOTONIC). NULL: no
     * calls. */
    uint64_t (*on_turn)(void *ctx, uint64_t now_ns);
    void *ctx;
};

struct hs_program_run_result {
    enum hs_exit_kind exit_kind; /* how the program ended */
    int exit_value;
    bool has_root_image;       /* the program itself announced itself at least once */
    bool has_silent_children;  /* it started processes, and none of them announced itself */
    uint64_t image_count;      /* process images that announced themselves */
    uint64_t running_count;    /* images that still ran when the recording ended */
    bool is_time_over;         /* the session's duration ended the recording, not the program */
    uint64_t stranger_count;   /* refused connections of other users */
    uint64_t unseen_count;     /* processes that ended before they had announced themselves */
    uint64_t bad_count;        /* images that could not be read */
    const char *bad_why;       /* why the last of them could not be read */
    uint64_t own_malloc_count; /* images with a malloc of their own that is not redirected */
    char own_malloc_why[384];  /* why it is not, for the last of them */
};

struct hs_program_run;

/* Forks a child, which waits until hs_program_run_go() and then executes the program. 0 or
 * -errno. */
int hs_program_run_new(const struct hs_program_run_config *config, struct hs_program_run **ret_run);
/* The program's pid. */
pid_t hs_program_run_pid(const struct hs_program_run *run);
/* The processes that announced themselves and still run. */
struct hs_registry *hs_program_run_registry(struct hs_program_run *run);

/* Takes over the signals of the process, and begins the session. 0 or -errno; the program has not
 * run yet. */
int hs_program_run_prepare(struct hs_program_run *run, struct hs_session *session);

/* Runs the program to its end, after hs_program_run_prepare(); the session records it, and is over
 * afterwards. 0: the program ran, and the result is filled in. Otherwise the -errno of execve(2),
 * or -ECHILD, because the forked child had ended before: the program did not run. */
int hs_program_run_go(struct hs_program_run *run, struct hs_program_run_result *ret_result);

/* Frees it; NULL is allowed. If the program has not run, the forked child ends without having run
 * anything. Returns NULL. */
struct hs_program_run *hs_program_run_free(struct hs_program_run *run);
