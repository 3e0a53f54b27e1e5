/*
 * The finalizer: the process that ends a recording job. It appends the names of functions to the
 * trace, and gives the file its final name.
 *
 * It is a fork of the daemon, so it has the session in memory while the daemon continues. First it
 * gives up all rights except those of the user whose recording job it is: names are read from files
 * that profiled programs name, and the folder is the user's. It closes all descriptors that it does
 * not need: the next daemon must not find our socket alive.
 *
 * All sessions may end at once. At most as many finalizers work as there are processors, but at
 * least two; the others wait until one of these ends. The reason is memory: each finalizer holds
 * the symbols of all its programs.
 *
 * Threads   one.
 * Fails     -errno of pipe, epoll_ctl and fork. Other failures come through the pipe; if the
 *           finalizer dies, the pipe closes without a result.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/event_loop.h"
#include "daemon/handover/job_lock.h"
#include "daemon/recording_file.h"
#include "daemon/user_rights.h"
#include "session/session.h"

/* What to finish. */
struct hs_finalizer_task {
    struct hs_session *session;
    const struct hs_recording_file *file;
    const struct hs_user_rights *rights; /* of the user whose recording it is */
    struct hs_job_lock lock;
    bool is_inherited; /* a previous daemon wrote a part of the file */
    bool is_empty;     /* no process was recorded: the file is removed */
};

/* What a finalizer reports through its pipe. */
struct hs_finalizer_result {
    int error; /* 0: the file has its final name; -ENODATA: there was nothing to write */
    uint64_t file_bytes;
};

/* A finalizer at work. */
struct hs_finalizer {
    pid_t pid;     /* 0: none */
    int result_fd; /* the pipe; -1: none */
};

#define HS_FINALIZER_NONE ((struct hs_finalizer){ .result_fd = -1 })

/* Forks a finalizer. `source` is handled when its result can be read, and until the caller removes
 * result_fd from the loop. Returns 0, or -errno: there is no finalizer, and `source` is not in the
 * loop. */
int hs_finalizer_start(const struct hs_finalizer_task *task, struct hs_event_loop *loop,
                       struct hs_event_source *source, struct hs_finalizer *ret_finalizer);

/* For other workers that hold many symbols: waits for a turn, which the worker keeps until it ends.
 * It must have kept the descriptor that hs_finalizer_turns_fd() returns (-1: there is none). */
void hs_finalizer_wait_for_turn(void);
int hs_finalizer_turns_fd(void);

/* Asks the finalizer to look up no more names, and to write the file without them. */
void hs_finalizer_skip_names(const struct hs_finalizer *finalizer);

/* Reads the result, and waits for the process to end. Returns false if there is no result yet. */
bool hs_finalizer_receive(struct hs_finalizer *finalizer, struct hs_finalizer_result *ret_result);

/* Closes the pipe, without waiting for the process. */
void hs_finalizer_close(struct hs_finalizer *finalizer);
