/*
 * Paragraphs, wrapped to the width of a terminal.
 *
 * Threads   no state.
 * Fails     as the buffer does.
 */
#pragma once

#include "util/buf.h"

/*
 * Writes a paragraph; each line begins with `indent`. `columns` is the width of the terminal; lines
 * are never much longer than one can read, also if it is 0, which means that there is no terminal.
 */
void hs_wrapped_write(struct hs_buf *buf, const char *indent, unsigned columns, const char *text);
