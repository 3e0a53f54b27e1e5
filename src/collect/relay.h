/*
 * The relay: signals between whoever started us and the program that we started.
 *
 * The program shares our process group and terminal, so what is typed there (Ctrl-C, Ctrl-Z, a
 * resized window) and what is sent to the group reaches it directly; then we only stay out of the
 * way. What is sent to us alone (kill, a supervisor, a CI system that stops a job) is meant for the
 * program and passed on. Twice would be as wrong as never: many servers take a second SIGTERM for
 * an order to drop everything.
 *
 * Telling them apart. Signals from the terminal come from the kernel, and say so. A signal from a
 * process says nothing about whether it was sent to one or to the group; but a process that sits in
 * our group and does nothing else finds out: the canary, with all signals blocked. Has it the same
 * signal pending, then the group was meant, and the program has it already.
 *
 * Job control: the shell knows only us. When the program stops, we stop with the same signal, so
 * that the shell takes the terminal back; when the shell continues us, the program goes on too.
 * Without a terminal there is no such shell, and who stopped the program will continue it.
 *
 * All signals are blocked and read from a descriptor, so nothing ever interrupts us. Blocked, not
 * ignored or handled: nothing to undo in the program, which was forked before.
 *
 * One of them may be meant for us, if the user said so: SIGUSR1, which asks for a dump.
 *
 * Threads   one; to be started after hs_launch_fork().
 * See       signalfd(2), tcsetpgrp(3)
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct hs_relay {
    int fd; /* readable when a signal waits; -1: not started */
    pid_t canary_pid;
    bool has_terminal;
    bool is_usr1_ours;  /* SIGUSR1 is not passed on, but */
    bool is_dump_asked; /* told here, until somebody takes it back */
    sigset_t old_mask;
    struct sigaction old_child, old_pipe, old_file_size;
};

int hs_relay_start(struct hs_relay *ret_relay);
/* Gives signals back to whatever they did before. What arrived meanwhile is dropped. Fine when never
 * started (fd -1). */
void hs_relay_stop(struct hs_relay *relay);

/* Reads what waits and passes on to `pid` what is for it. True: some child changed its state. */
bool hs_relay_read(struct hs_relay *relay, pid_t pid);

/* `pid` was stopped by `signal`: so are we, until we are continued. Then it goes on as well. */
void hs_relay_stop_with(const struct hs_relay *relay, pid_t pid, int signal);
