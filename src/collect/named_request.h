/*
 * A process's request for a named snapshot of itself: fmt/ctl_layout.h.
 *
 * Who asks is known from the kernel, not from the message: the peer's pid at its connect(), and
 * where the kernel supports that, the peer's pidfd. The message only says which region is meant. A
 * process of another PID namespace has no pid here; it is found by its own pid, its user and its
 * region, which only a process that could record in its place could know all of.
 *
 *     hs_named_request_receive(&listener, connection_fd, &request);
 *     target = the one for which hs_named_request_is_of(&request, target)
 *     open the cut
 *     hs_named_request_answer(&request, 0);
 *     hs_named_request_close(&request);
 *
 * Trust     every byte is hostile.
 * Threads   one.
 * Fails     -errno; see each function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/listen.h"
#include "collect/target.h"

struct hs_named_request {
    char name[HS_NAMED_SNAPSHOT_NAME_MAX + 1]; /* not empty; any bytes */
    uint32_t inner_pid;                        /* the process, as it sees itself */
    uint64_t start_mono_ns;                    /* of its region */
    pid_t pid;                                 /* in heapscope's PID namespace; 0: not visible */
    uid_t uid;
    int pidfd;         /* -1: the process is gone, or there is none */
    int connection_fd; /* not owned; -1: none */
};

/* Parses a message. 0 or -EINVAL. */
int hs_named_request_parse(const void *data, size_t bytes, struct hs_named_request *ret_request);

/* Receives a request. 0; -EAGAIN: it has not arrived yet; -EACCES: the peer's user is not allowed;
 * -EINVAL: not a request. */
int hs_named_request_receive(struct hs_listener *listener, int connection_fd,
                             struct hs_named_request *ret_request);
/* Closes the pidfd. */
void hs_named_request_close(struct hs_named_request *request);

/* Has this target's process sent the request? 0; -ENOENT: another process; -EAGAIN: it has, but
 * means another region, whose hello may be on its way; -EACCES: the message contradicts what is
 * known. */
int hs_named_request_is_of(const struct hs_named_request *request, const struct hs_target *target);

/* Answers: `error` is 0 or -errno. 0; -ECANCELED: the process does not wait any more, although it
 * lives. A process that has died cannot have gone on since its request. */
int hs_named_request_answer(const struct hs_named_request *request, int error);
