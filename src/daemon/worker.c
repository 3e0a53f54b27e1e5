/*
 * Descriptors, signals and rights: see worker.h.
 */
#include "daemon/worker.h"

#include <errno.h>
#include <grp.h>
#include <linux/close_range.h>
#include <signal.h>
#include <unistd.h>

#include "rt/base.h"

/* Everything but these three, and the standard ones. */
static void close_others(int a, int b, int c)
{
    int kept[3] = { a, b, c };
    for (int i = 0; i < 3; i++) {
        for (int k = i + 1; k < 3; k++) {
            if (kept[k] < kept[i]) {
                int swap = kept[i];
                kept[i] = kept[k];
                kept[k] = swap;
            }
        }
    }
    unsigned from = 3;
    for (int i = 0; i < 3; i++) {
        if (kept[i] > (int)from) {
            close_range(from, (unsigned)kept[i] - 1, 0);
        }
        from = kept[i] >= (int)from ? (unsigned)kept[i] + 1 : from;
    }
    close_range(from, ~0U, 0);
}

/* Signals from a terminal mean the daemon, which waits for us. */
static void settle_signals(void)
{
    sigset_t none;
    static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGXFSZ };
    for (size_t i = 0; i < HS_COUNT_OF(ignored); i++) {
        signal(ignored[i], SIG_IGN);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void hs_worker_settle(int a, int b, int c)
{
    close_others(a, b, c);
    settle_signals();
}

int hs_worker_give_up_rights(const struct hs_order *order)
{
    if (geteuid() != 0 || order->uid == 0) {
        return 0;
    }
    if (setgroups(order->group_count, order->groups) != 0 ||
        setresgid(order->gid, order->gid, order->gid) != 0 ||
        setresuid(order->uid, order->uid, order->uid) != 0) {
        return -errno;
    }
    return setuid(0) == 0 ? -EPERM : 0;
}
