/*
 * Asks the collector for a snapshot: see named_snapshot.h.
 */
#include "client/life/named_snapshot.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "client/host/sandbox.h"
#include "client/life/bind.h"
#include "client/life/lifecycle.h"
#include "client/life/register.h"
#include "client/tables/region.h"
#include "client/thread/thread.h"
#include "fmt/ctl_layout.h"
#include "rt/sys.h"

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
/* A collector that attaches needs some milliseconds from our start until it knows our region. */
#define RETRY_NS 5000000

/* Writes the name with NULs behind it. 0 or -errno. */
static int fill_name(const char *name, struct hs_named_snapshot_v1 *request)
{
    if (!name || !name[0]) {
        return -EINVAL;
    }
    while (name[request->name_bytes]) {
        if (request->name_bytes == HS_NAMED_SNAPSHOT_NAME_MAX) {
            return -ENAMETOOLONG;
        }
        request->name[request->name_bytes] = name[request->name_bytes];
        request->name_bytes++;
    }
    return 0;
}

/* A forked child that has not begun to record begins now. False: it cannot at the moment. */
static bool follow_fork(void)
{
    struct hs_frame_marker mark;
    if (!hs_reentry_guard_enter(&mark)) {
        return false;
    }
    bool is_on = hs_lifecycle_is_on() || hs_lifecycle_follow_fork();
    hs_reentry_guard_leave();
    return is_on;
}

/* Is the region that of the current session? Otherwise makes it now: the program may allocate
 * nothing for long. */
static bool is_region_current(void)
{
    /* ORDER session: as in hs_lifecycle_renew. */
    return hs_load_acquire(&hs_control_page.control.session) == hs_region.session ||
           hs_lifecycle_renew();
}

/* Finds out which region is meant. 0 or -errno. */
static int fill_region(struct hs_named_snapshot_v1 *request)
{
    bool is_on = hs_lifecycle_is_on();
    if (!is_on && hs_life_state_is_waiting()) {
        is_on = follow_fork();
        if (!is_on && hs_life_state_is_waiting()) {
            return -EAGAIN;
        }
    }
    if (!is_on || !is_region_current()) {
        return -ENOTCONN;
    }
    const struct hs_region_header_v2 *header = hs_region.header;
    request->pid = hs_sys_getpid();
    request->start_mono_ns = header->start_mono_ns;
    /* A vforked child runs in its parent's memory. */
    return header->pid == request->pid ? 0 : -EAGAIN;
}

/* Waits for the answer. 0 or -errno. */
static int receive(int sock, uint64_t end_ns)
{
    struct hs_named_answer_v1 answer = { .error = 0 };
    struct pollfd fd = { .fd = sock, .events = POLLIN };
    long r = -EINTR;
    while (r == -EINTR) {
        uint64_t now_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);
        uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
        struct timespec left = { .tv_sec = (time_t)(left_ns / NS_PER_S),
                                 .tv_nsec = (long)(left_ns % NS_PER_S) };
        r = hs_arch_syscall(SYS_ppoll, (long)&fd, 1, (long)&left, 0, 0, 0);
    }
    if (r <= 0) {
        return r == 0 ? -ETIMEDOUT : (int)r;
    }
    r = hs_arch_syscall(SYS_recvfrom, sock, (long)&answer, sizeof(answer), MSG_DONTWAIT, 0, 0);
    bool is_answer = r == (long)sizeof(answer) && answer.magic == HS_NAMED_SNAPSHOT_MAGIC &&
                     answer.answer_bytes >= sizeof(answer);
    /* The collector has ended, or does not know this message. */
    return !is_answer ? -ENOTCONN : answer.error < 0 ? answer.error : 0;
}

/* Asks once. 0 or -errno. */
static int ask(const struct hs_named_snapshot_v1 *request, uint64_t end_ns)
{
    int sock = hs_register_connect(hs_lifecycle_collector(), HS_CTL_CONNECT_MAX);
    if (sock < 0) {
        return sock == -EAGAIN ? -ETIMEDOUT : -ENOTCONN;
    }
    long sent = hs_arch_syscall(SYS_sendto, sock, (long)request, sizeof(*request),
                                MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    int r = sent == (long)sizeof(*request) ? receive(sock, end_ns) : -ENOTCONN;
    hs_sys_close(sock);
    return r;
}

int hs_named_snapshot_take(const char *name)
{
    struct hs_named_snapshot_v1 request = { .magic = HS_NAMED_SNAPSHOT_MAGIC,
                                            .version = HS_NAMED_SNAPSHOT_VERSION,
                                            .message_bytes = sizeof(request) };
    int r = fill_name(name, &request);
    if (r < 0) {
        return r;
    }
    if (hs_sandbox_is_tight()) {
        return -ENOTCONN; /* the filter allows no connection */
    }
    hs_bind_try();
    bool has_looked = false;
    uint64_t end_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + HS_NAMED_SNAPSHOT_WAIT_MS * NS_PER_MS;
    do {
        /* Again each time: meanwhile the process may have made a region for another session. */
        r = fill_region(&request);
        if (r < 0) {
            return r;
        }
        r = ask(&request, end_ns);
        /* The daemon that had the region may have ended, and another one may have come. */
        if ((r == -ENOTCONN || r == -EAGAIN) && !has_looked) {
            has_looked = true;
            r = hs_bind_look() ? -EAGAIN : r;
        }
        if (r != -EAGAIN) {
            return r;
        }
        hs_sys_sleep_ns(RETRY_NS);
    } while (hs_sys_clock_ns(CLOCK_MONOTONIC) < end_ns);
    return r;
}

int heapscope_take_snapshot_v1(const char *name)
{
    return hs_named_snapshot_take(name);
}
