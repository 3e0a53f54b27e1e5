/*
 * For tests: fork, epoll_ctl and socketpair that fail when the test wants it. The test is linked
 * with --wrap for these three.
 */
#pragma once

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* The error of the next calls; 0: they do their work. */
static struct {
    int fork_error;
    int watch_error; /* of EPOLL_CTL_ADD */
    int socketpair_error;
    unsigned fork_count; /* calls that did not fail */
} failing_calls;

pid_t __real_fork(void);
pid_t __wrap_fork(void);
int __real_epoll_ctl(int epoll_fd, int verb, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll_fd, int verb, int fd, struct epoll_event *event);
int __real_socketpair(int domain, int type, int protocol, int socks[2]);
int __wrap_socketpair(int domain, int type, int protocol, int socks[2]);

pid_t __wrap_fork(void)
{
    errno = failing_calls.fork_error;
    failing_calls.fork_count += failing_calls.fork_error == 0;
    return failing_calls.fork_error ? -1 : __real_fork();
}

int __wrap_epoll_ctl(int epoll_fd, int verb, int fd, struct epoll_event *event)
{
    errno = failing_calls.watch_error;
    return failing_calls.watch_error && verb == EPOLL_CTL_ADD
               ? -1
               : __real_epoll_ctl(epoll_fd, verb, fd, event);
}

int __wrap_socketpair(int domain, int type, int protocol, int socks[2])
{
    errno = failing_calls.socketpair_error;
    return failing_calls.socketpair_error ? -1 : __real_socketpair(domain, type, protocol, socks);
}
