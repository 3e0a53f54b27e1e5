/*
 * Signals to a command that records: all but SIGKILL and SIGSTOP ask for something, and none of them throws away what was
 * recorded.
 *
 *     SIGUSR1                      a dump now
 *     SIGINT, SIGTERM, SIGHUP,
 *     SIGQUIT, any other that
 *     would end the command        the end of the recording
 *     a further one, more than
 *     a second later               the same, faster: functions that have no name by then get none
 *     one more, another second
 *     later                        the command may leave, if another process writes the files
 *
 * One wish often comes as several signals: timeout(1) sends its own to the process and to the process group, a
 * terminal that closes sends SIGHUP after the shell did. So what comes within a second of the signal before, or of
 * the end of the recording, is the same wish.
 *
 * Holds     from hs_end_signals_open() on, these signals are blocked and come through a descriptor, until the process
 *           ends: nothing interrupts the writing of files.
 * Threads   main thread, before others are started: they get its mask.
 */
#pragma once

#include <stdbool.h>

enum hs_end_wish {
    HS_END_NOT_YET,
    HS_END_SOON,  /* the recording is over */
    HS_END_HURRY, /* and names are not worth waiting for */
    HS_END_LEAVE,
};

/* A descriptor that is readable when a signal has come; -1 with errno. SIGPIPE, SIGXFSZ and SIGALRM are ignored: a
 * reader of our messages may go away, and a file that may not grow is an error of writing. */
int hs_end_signals_open(void);

/* Reads what has come, and returns what is wished by now; a wish only grows. */
enum hs_end_wish hs_end_signals_read(void);
/* Has SIGUSR1 been read since this was last asked? */
bool hs_end_signals_take_dump(void);

/* The recording is over, by a signal or by itself. Signals that have come until now are no wish to hurry. */
void hs_end_signals_begin_end(void);

/* As hs_symbol_options.is_hurried. */
bool hs_end_signals_is_hurried(void);
