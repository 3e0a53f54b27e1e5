/*
 * A process whose region has come to the collector: by its hello (listen.h), or because the
 * collector attached to it (attachment.h). The registry makes a target of it.
 *
 * Threads   no state.
 * See       fmt/ctl_layout.h
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include "fmt/ctl_layout.h"

struct hs_pending_client {
    struct hs_hello_v1 hello;
    int region_fd; /* the receiver closes it */
    int pidfd;     /* the receiver closes it; -1: the process is gone, or there is none */
    bool is_gone;
    pid_t pid; /* in heapscope's PID namespace; 0: not visible from there */
    uid_t uid; /* its user when it connected */
};

/* Closes the descriptors of a pending client that becomes no target. */
static inline void hs_pending_client_close(struct hs_pending_client *pending)
{
    if (pending->region_fd >= 0) {
        close(pending->region_fd);
    }
    if (pending->pidfd >= 0) {
        close(pending->pidfd);
    }
    pending->region_fd = pending->pidfd = -1;
}
