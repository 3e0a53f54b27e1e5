/*
 * The line that says what the resident memory consists of.
 *
 *     RSS 34.2 MiB: malloc blocks 62.1 %, modules 21.0 %, ...; not explained 0.4 %
 *
 * The shares are those of the last ledger (trace/ledger.h), which is some seconds old: the
 * collector reads one when it can afford it. Without a ledger, the line says what the kernel tells
 * anyway:
 *
 *     RSS 34.2 MiB (live heap 61.0 %) = 27.1 MiB anonymous + 7.1 MiB files
 *
 * Threads   none.
 * Fails     without memory, the line is shorter.
 */
#pragma once

#include "cli/top/text_page.h"
#include "cli/top/top_source.h"

/* Adds the line, no wider than the page. */
void hs_text_page_add_ledger(struct hs_text_page *page, const struct hs_top_source *source);
