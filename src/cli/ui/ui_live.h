/*
 * `heapscope ui [FILE...]`: the page of heapscope, with the files of the command line and with what
 * is recorded from the page.
 *
 * Threads   main thread only.
 * See       docs/UI.md, which lists the routes; docs/PAGE.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Serves until a signal comes. Returns the exit status. */
int hs_ui_live(char *const *paths, size_t count, uint16_t port, bool is_opening);
