/*
 * Tells signals of faults from sent ones: see fault_signals.h.
 */
#include "inject/ptrace/fault_signals.h"

#include <sys/ptrace.h>

#define ITEMS 8

bool hs_fault_signal_is(const siginfo_t *info)
{
    return info->si_signo > 0 && info->si_signo < 64 &&
           (HS_FAULT_SIGNALS & HS_FAULT_SIGNAL_BIT(info->si_signo)) != 0 && info->si_code > 0;
}

bool hs_fault_signal_is_pending(pid_t tid)
{
    siginfo_t items[ITEMS];
    /* flags 0: the thread's own signals, not those of its process */
    struct __ptrace_peeksiginfo_args from = { .nr = ITEMS };
    long count;
    do {
        count = ptrace(PTRACE_PEEKSIGINFO, tid, &from, items);
        for (long i = 0; i < count; i++) {
            if (hs_fault_signal_is(&items[i])) {
                return true;
            }
        }
        from.off += ITEMS;
    } while (count == ITEMS);
    return false;
}
