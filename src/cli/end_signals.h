/*
 * Signals to a command that records: all but SIGKILL and SIGSTOP ask for something, and none of
 * them loses what was recorded.
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
 * One request often comes as several signals: timeout(1) sends its signal to the process and to the
 * process group; when a terminal closes, SIGHUP comes from the shell and from the terminal. So a
 * signal within a second of the one before, or of the end of the recording, belongs to the same
 * request.
 *
 * Ensures   from hs_end_signals_open() until the process ends, these signals are blocked and come
 *           through a descriptor: nothing interrupts the writing of files.
 * Threads   main thread, before it starts others: they inherit its mask.
 */
#pragma once

#include <stdbool.h>

enum hs_end_request {
    HS_END_NONE,
    HS_END_RECORDING,     /* the recording is over */
    HS_END_WITHOUT_NAMES, /* and the user does not wait for names */
    HS_END_LEAVE,         /* the command may leave when another process writes the files */
};

/* Returns a descriptor that is readable when a signal has come; -1 with errno. Ignores SIGPIPE,
 * SIGXFSZ and SIGALRM: a reader of the messages may go away, and a file that may not grow is an
 * error of writing. */
int hs_end_signals_open(void);

/* Reads the signals that have come, and returns what they ask for so far; it only grows. */
enum hs_end_request hs_end_signals_read(void);
/* True: SIGUSR1 was read since the last call. */
bool hs_end_signals_take_dump(void);

/* The recording is over, by a signal or by itself. Signals that came before do not ask for
 * leaving out names. */
void hs_end_signals_begin_end(void);

/* True from HS_END_WITHOUT_NAMES on; for hs_symbol_options.is_cancelled. */
bool hs_end_signals_is_without_names(void);
