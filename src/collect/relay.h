/*
 * The relay: passes signals on from the process that started heapscope to the program that
 * heapscope started.
 *
 * The program shares heapscope's process group and terminal, so keys typed there (Ctrl-C, Ctrl-Z, a
 * resized window) and signals to the group reach the program directly, and heapscope does nothing.
 * A signal to heapscope alone (from kill, a supervisor, a CI system that stops a job) is meant for
 * the program and is passed on. A signal that arrives twice would be as wrong as one that never
 * arrives: many servers take a second SIGTERM for an order to drop everything.
 *
 * Telling them apart. Signals from the terminal come from the kernel, and siginfo says so. A signal
 * from a process does not say whether it was sent to one process or to the group. But a process
 * that is in heapscope's group and does nothing else finds out: the canary, with all signals
 * blocked. If the same signal is pending for the canary, then the group was meant, and the program
 * has the signal already.
 *
 * Job control: the shell knows only heapscope. When the program stops, heapscope stops with the
 * same signal, so that the shell takes the terminal back; when the shell continues heapscope, the
 * program continues too. Without a terminal there is no such shell, and the process that stopped
 * the program will continue it.
 *
 * All signals are blocked and read from a descriptor, so no system call is ever interrupted. They
 * are blocked, not ignored or handled: nothing has to be undone in the program, which was forked
 * before.
 *
 * One signal may be meant for heapscope, if the user asked for that: SIGUSR1, which requests a
 * dump.
 *
 * Threads   one; started after hs_launch_fork().
 * See       signalfd(2), tcsetpgrp(3)
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct hs_relay {
    int fd; /* readable when a signal is pending; -1: not started */
    pid_t canary_pid;
    bool has_terminal;
    bool is_usr1_ours;  /* SIGUSR1 is not passed on, but sets is_dump_asked */
    bool is_dump_asked; /* a dump was requested; the owner resets this */
    sigset_t old_mask;
    struct sigaction old_child, old_pipe, old_file_size;
};

/* Blocks the signals and starts the canary. 0 or -errno. */
int hs_relay_start(struct hs_relay *ret_relay);
/* Restores the signal mask and dispositions. Signals that are still unread are dropped. A relay
 * that was never started (fd -1) is allowed. */
void hs_relay_stop(struct hs_relay *relay);

/* Reads the pending signals and passes those on to `pid` that are meant for it. True: a child has
 * changed its state. */
bool hs_relay_read(struct hs_relay *relay, pid_t pid);

/* Process `pid` was stopped by `signal`: stops heapscope in the same way. When heapscope is
 * continued, continues `pid` too. */
void hs_relay_stop_with(const struct hs_relay *relay, pid_t pid, int signal);
