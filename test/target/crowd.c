/*
 * Many processes that start at the same moment and then wait for commands.
 *
 *   crowd COUNT    starts COUNT processes and prints their pids, one per line. After a line on
 *                  standard input, all execute this program again at once, with $CROWD_PRELOAD as
 *                  LD_PRELOAD
 *   crowd          one of them: at each SIGUSR1 it allocates 100 blocks at site_guest, and keeps
 *                  every second one
 *
 * They end with the first process, which ends when its standard input is closed.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "truth.h"

#define BLOCKS 100

SITE(site_guest, malloc(n))

static void be_guest(void)
{
    sigset_t set;
    int sig;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    while (sigwait(&set, &sig) == 0) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            void *block = site_guest(1000 + i);
            if (i % 2) {
                SITE_FREE(site_guest, block, 1000 + i);
            }
        }
    }
}

/* Waits at the gate, which opens when the last writing end is closed. */
static void come_in(char **argv, const int gate[2])
{
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(gate[1]);
    if (read(gate[0], &byte, 1) == 0) {
        close(gate[0]);
        setenv("LD_PRELOAD", getenv("CROWD_PRELOAD") ? getenv("CROWD_PRELOAD") : "", 1);
        argv[1] = NULL;
        execv("/proc/self/exe", argv);
    }
    _exit(1);
}

int main(int argc, char **argv)
{
    char line[16];
    int gate[2];
    sigset_t set;
    if (argc < 2) {
        be_guest();
        return 1;
    }
    /* Blocks the signal, so that it cannot kill a process that does not wait for it yet. */
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (pipe(gate) != 0) {
        return 1;
    }
    for (int i = atoi(argv[1]); i > 0; i--) {
        pid_t pid = fork();
        if (pid == 0) {
            come_in(argv, gate);
        }
        printf("%d\n", (int)pid);
    }
    fflush(stdout);
    close(gate[0]);
    if (fgets(line, sizeof(line), stdin)) {
        close(gate[1]);
        while (fgets(line, sizeof(line), stdin)) {
        }
    }
    return 0;
}
