/*
 * Writes what heaps have more of than before into a folder: one file for each heap of each process,
 * for diff --format leaks-json.
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message.
 */
#pragma once

#include "cli/read/compare.h"

/* Compares the selections and writes the files into the folder `compare->output`. */
int hs_leaks_output_write(const struct hs_compare *compare, const struct hs_selection *before,
                          const struct hs_selection *after, enum hs_view view);
