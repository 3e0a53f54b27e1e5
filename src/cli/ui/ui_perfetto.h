/*
 * `heapscope ui --perfetto FILE`: gives one file to the Perfetto UI, once.
 *
 * The Perfetto UI runs in the browser, and loads what `?url=` names. Its own policy allows it one
 * address of this machine, port 9001 of 127.0.0.1. The server answers the page of
 * https://ui.perfetto.dev alone, ends when the file was fetched, and needs no token: no other site
 * can read the answer, and connections of other users are closed.
 *
 * Threads   main thread only.
 * See       docs/man/heapscope-ui.1
 */
#pragma once

#include <stdbool.h>

/* Serves the file until it was fetched. Returns the exit status. */
int hs_ui_perfetto(const char *path, bool is_opening);
