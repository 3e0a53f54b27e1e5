/*
 * What the files of the comparison share: diff.c folds, diff_change.c judges, diff_module.c names modules,
 * diff_name.c functions.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hs_buf;
struct hs_selection;

/*
 * Writes the name under which a module is compared: "" for the program of the selection, else the file's name
 * without folder and version ("libz.so.1.2.13", "libz-1.2.13.so": "libz.so").
 */
void hs_diff_write_module(const struct hs_selection *selection, uint32_t module,
                          struct hs_buf *buf);

/* Writes the name under which a function is compared: see diff_name.c. */
void hs_diff_write_name(const char *name, struct hs_buf *buf);
