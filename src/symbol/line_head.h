/*
 * What the head of a line number program (line_head.c) and its instructions (line_program.c) both hold: texts, and files
 * as the tables before DWARF 5 have them.
 */
#pragma once

#include "symbol/line_program.h"

/* The text that stands at the cursor; NULL, and the cursor is bad, when it has no end. */
const char *hs_line_read_text(struct hs_cursor *at);

/* Adds the file `name`, whose folder, time and size are at the cursor. -ENOMEM. */
int hs_line_read_file(struct hs_line_program *program, struct hs_cursor *at, const char *name);
