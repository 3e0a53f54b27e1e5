/*
 * How the lines of a ledger are named in tables: "stacks of threads (4 threads)".
 *
 * Threads   no state.
 * Fails     as the buffer does.
 * See       trace/ledger.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/ledger_sums.h"
#include "util/buf.h"

/* "stacks of threads" */
const char *hs_ledger_words_of(uint32_t kind);
/* Writes the same, and how many blocks, mappings or threads there are, where the kind counts
 * them. */
void hs_ledger_words_write(const struct hs_ledger_sum *sum, struct hs_buf *buf);
/* Do the lines of the kind have names that are worth a line of their own? */
bool hs_ledger_words_have_names(uint32_t kind);
