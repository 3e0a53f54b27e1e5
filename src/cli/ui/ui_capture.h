/*
 * Calls a command of heapscope inside a handler, and takes what it prints on standard output.
 *
 * Its messages stay on standard error, where hs_ui_capture_messages() reads them.
 *
 * Requires  a process of its own, as handlers run in: commands keep state.
 * Threads   main thread only.
 */
#pragma once

#include <stddef.h>

#include "http/http_route.h"
#include "util/buf.h"

struct hs_json;

typedef int hs_ui_command_fn(int argc, char **argv);

/* Calls the command, with `argc` arguments that it may change. Returns its exit status; `out` gets
 * what it printed. */
int hs_ui_capture(hs_ui_command_fn *command, int argc, char **argv, struct hs_buf *out);

/* Writes the first line of what a command printed as the value of a key. */
void hs_ui_capture_put_line(struct hs_json *json, const char *key, struct hs_buf *printed);

/* Takes the messages so far, without their prefixes, and without hints at the command line. */
void hs_ui_capture_messages(struct hs_buf *out);
/* Forgets the messages so far. */
void hs_ui_capture_forget(void);
/* Writes them as an array of lines, the value of the key "messages". */
void hs_ui_capture_write_messages(struct hs_json *json);

/* Makes the messages the error of the answer: of status 400 for wrong usage, else of 409. */
void hs_ui_capture_fail(int exit_status, struct hs_http_answer *answer);
/* Makes this text the error of the answer. */
void hs_ui_fail(struct hs_http_answer *answer, unsigned status, const char *text);
