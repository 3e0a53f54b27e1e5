/*
 * Serving requests until the collector closes the connection. See waiting.h.
 */
#include "client/life/waiting.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "client/patch/detours.h"
#include "fmt/ctl_layout.h"
#include "rt/base.h"
#include "rt/sys.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

/* The collector writes it from outside. */
HS_EXPORT struct hs_detour_request_v1 heapscope_waiting_v1;

/* Does data arrive before `end_ns`? */
static bool is_spoken_to(int sock, uint64_t end_ns)
{
    struct pollfd fd = { .fd = sock, .events = POLLIN };
    long r = -EINTR;
    while (r == -EINTR) {
        uint64_t now_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);
        uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
        struct timespec left = { .tv_sec = (time_t)(left_ns / NS_PER_S),
                                 .tv_nsec = (long)(left_ns % NS_PER_S) };
        r = hs_arch_syscall(SYS_ppoll, (long)&fd, 1, (long)&left, 0, 0, 0);
    }
    return r == 1 && (fd.revents & POLLIN) != 0;
}

void hs_waiting_serve(int sock)
{
    uint64_t end_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + HS_WAITING_MAX_MS * NS_PER_MS;
    char word;
    while (is_spoken_to(sock, end_ns) &&
           hs_arch_syscall(SYS_recvfrom, sock, (long)&word, 1, MSG_DONTWAIT, 0, 0) == 1) {
        int32_t answer = hs_detours_add(&heapscope_waiting_v1);
        if (hs_arch_syscall(SYS_sendto, sock, (long)&answer, sizeof(answer),
                            MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0) != (long)sizeof(answer)) {
            return;
        }
    }
}
