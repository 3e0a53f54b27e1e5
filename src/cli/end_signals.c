/*
 * See end_signals.h.
 */
#include "cli/end_signals.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "rt/base.h"
#include "rt/clock.h"

#define HS_SAME_REQUEST_NS UINT64_C(1000000000)

/* State of the process, as its signals are. */
static int signal_fd = -1;
static enum hs_end_request request;
static uint64_t request_ns; /* when the request last grew */
static bool is_dump_asked;

int hs_end_signals_open(void)
{
    /* Job control, the progress line's timer, and signals that are ignored. */
    static const int left_alone[] = { SIGTSTP, SIGTTIN, SIGTTOU,  SIGCONT, SIGCHLD,
                                      SIGURG,  SIGALRM, SIGWINCH, SIGPIPE, SIGXFSZ };
    sigset_t set;
    if (signal_fd >= 0) {
        return signal_fd;
    }
    /* A real fault ends the process although its signal is blocked; the same signal, sent by a
     * process, does not. */
    sigfillset(&set);
    for (size_t i = 0; i < HS_COUNT_OF(left_alone); i++) {
        sigdelset(&set, left_alone[i]);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return signal_fd;
}

static void grow(void)
{
    uint64_t now = hs_clock_ns(CLOCK_MONOTONIC);
    if (request == HS_END_NONE ||
        (request < HS_END_LEAVE && now - request_ns > HS_SAME_REQUEST_NS)) {
        request++;
        request_ns = now;
    }
}

enum hs_end_request hs_end_signals_read(void)
{
    struct signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGUSR1) {
            is_dump_asked = true;
        } else {
            grow();
        }
    }
    return request;
}

bool hs_end_signals_take_dump(void)
{
    bool is_asked = is_dump_asked;
    is_dump_asked = false;
    return is_asked;
}

void hs_end_signals_begin_end(void)
{
    enum hs_end_request until_now = request > HS_END_RECORDING ? request : HS_END_RECORDING;
    hs_end_signals_read();
    request = until_now;
    request_ns = hs_clock_ns(CLOCK_MONOTONIC);
}

bool hs_end_signals_is_without_names(void)
{
    return hs_end_signals_read() >= HS_END_WITHOUT_NAMES;
}
