/*
 * What every command does first: read its options, and answer --help and wrong usage itself.
 *
 *     struct hs_opts_result args;
 *     int status = hs_args_parse(&spec, argc, argv, &args);
 *     if (status != HS_ARGS_GO_ON) {
 *         return status;
 *     }
 *
 * Threads   main thread only.
 */
#pragma once

#include "util/opts.h"

#define HS_ARGS_GO_ON (-1)

/* HS_ARGS_GO_ON, or the exit status to return: 0 after --help, 2 after an error was printed. */
int hs_args_parse(const struct hs_opts_spec *spec, int argc, char **argv,
                  struct hs_opts_result *ret_result);

/* Reports an error of usage that the table cannot express, as hs_args_parse() would; returns 2. */
int hs_args_fail(const struct hs_opts_spec *spec, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Flushes standard output, where a full disk shows last. Returns the exit status: 0, or 1 after a
 * message. A reader that went away (`| head`) is not an error. */
int hs_args_finish_output(void);

/* Width of the terminal behind `fd`; $COLUMNS when set; 80 when unknown, e.g. piped. */
unsigned hs_args_columns(int fd);

/* True: `fd` is a terminal, and its user wants colours ($NO_COLOR is not set). */
bool hs_args_has_colour(int fd);
