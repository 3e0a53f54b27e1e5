/*
 * "FILE@N": a snapshot of a file, as one word.
 *
 *     server.pftrace@2       snapshot 2, as report --snapshot 2 shows it: counted from 0
 *     server.pftrace@-1      the last one; @-2 the one before
 *     server.pftrace@last    the last one
 *     server.pftrace         the last one
 *     mail@7                 a file of that name, when there is one
 *
 * Threads   pure, except that hs_dump_name_split() checks whether a file exists.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hs_select_spec;

/* Chooses the snapshot of an option --snapshot: by its number (0, 1, ...), or by the name that the
 * program gave it, which must stay at its address. */
void hs_dump_name_choose(const char *text, struct hs_select_spec *select);

/* Parses "2", "-1" or "last" into *ret_snapshot: 0, or -EINVAL for anything else. */
int hs_dump_name_number(const char *text, uint32_t *ret_snapshot);

/*
 * Splits an operand. The caller frees *ret_path. *ret_snapshot is for hs_select_spec:
 * HS_SELECT_LAST when the operand names none; *ret_has_number says whether it names one. 0 or
 * -ENOMEM. Text behind an @ that is not a number is part of the path.
 */
int hs_dump_name_split(const char *operand, char **ret_path, uint32_t *ret_snapshot,
                       bool *ret_has_number);
