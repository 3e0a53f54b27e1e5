/*
 * `heapscope ui --speedscope FILE`: shows a profile in speedscope, whose build for browsers is in
 * its npm package. heapscope does not contain it: it serves the files of the package, if that is
 * installed, and the profile as `export --format speedscope` writes it.
 *
 * Threads   main thread only.
 * See       docs/man/heapscope-ui.1
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Serves until a signal comes. `folder` is that of the package, or of its build; NULL: looks for it
 * in the usual places. Returns the exit status. */
int hs_ui_speedscope(const char *path, const char *folder, uint16_t port, bool is_opening);
