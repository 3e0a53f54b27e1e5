/*
 * Waits with epoll: see event_loop.h.
 */
#include "daemon/event_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "rt/clock.h"

#define HS_TURN_EVENTS_MAX 64
#define HS_WAIT_MAX_MS     3600000

int hs_event_loop_open(struct hs_event_loop *ret_loop)
{
    ret_loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return ret_loop->epoll_fd >= 0 ? 0 : -errno;
}

void hs_event_loop_close(struct hs_event_loop *loop)
{
    if (loop->epoll_fd >= 0) {
        close(loop->epoll_fd);
        loop->epoll_fd = -1;
    }
}

int hs_event_loop_add(struct hs_event_loop *loop, int fd, struct hs_event_source *source)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = source };
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void hs_event_loop_remove(struct hs_event_loop *loop, int fd)
{
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static int wait_ms(uint64_t until_ns)
{
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    if (until_ns == UINT64_MAX) {
        return -1;
    }
    uint64_t ms = until_ns > now_ns ? (until_ns - now_ns + 999999) / 1000000 : 0;
    return ms < HS_WAIT_MAX_MS ? (int)ms : HS_WAIT_MAX_MS;
}

void hs_event_loop_turn(struct hs_event_loop *loop, uint64_t until_ns)
{
    struct epoll_event event;
    int first_wait_ms = wait_ms(until_ns);
    for (int i = 0; i < HS_TURN_EVENTS_MAX; i++) {
        if (epoll_wait(loop->epoll_fd, &event, 1, i == 0 ? first_wait_ms : 0) <= 0) {
            return;
        }
        const struct hs_event_source *source = event.data.ptr;
        if (!source->handle) {
            return;
        }
        source->handle(source->of, hs_clock_ns(CLOCK_MONOTONIC));
    }
}
