/*
 * Functions that the reader of a line number program's head (line_head.c) shares with the reader of
 * its instructions (line_program.c): texts, and files in the format before DWARF 5.
 */
#pragma once

#include "symbol/line_program.h"

/* The text at the cursor. NULL, with the cursor marked as bad, when the text has no end. */
const char *hs_line_read_text(struct hs_cursor *at);

/* Adds the file `name`; its folder, time and size are at the cursor. 0 or -ENOMEM. */
int hs_line_read_file(struct hs_line_program *program, struct hs_cursor *at, const char *name);
