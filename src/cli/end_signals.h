/*
 * The signals that a recording command takes as words: to end, and SIGUSR1 to make a dump.
 *
 * Threads   main thread, before others are started: they get its mask.
 */
#pragma once

/* Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGUSR1, which come through the descriptor from now on: of
 * signalfd(2), not blocking; -1 with errno. SIGPIPE is ignored: who reads our messages may go. */
int hs_end_signals_open(void);
