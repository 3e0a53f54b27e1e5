/*
 * See end_signals.h.
 */
#include "cli/end_signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "rt/base.h"

int hs_end_signals_open(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < HS_COUNT_OF(signals); i++) {
        sigaddset(&set, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
