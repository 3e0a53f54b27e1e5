/*
 * What the three forms of `heapscope ui` share: opening the server, telling the user the address,
 * opening a browser, and serving until a signal comes.
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message.
 * See       http/http_server.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/http_server.h"

/* Opens the server at this port; 0: any. 0, or the exit status. */
int hs_ui_serve_open(const struct hs_http_owner *owner, uint16_t port,
                     struct hs_http_server **ret_server);

/* Prints the address on standard output, and what to do on a machine without a browser. Opens a
 * browser, if `is_opening` and there is one. */
void hs_ui_serve_tell(const struct hs_http_server *server, const char *address, bool is_opening);

/* Serves until hs_http_server_end() was called or a signal asks for the end. *ret_is_signal says
 * which of them. Returns the exit status. */
int hs_ui_serve_run(struct hs_http_server *server, bool *ret_is_signal);
