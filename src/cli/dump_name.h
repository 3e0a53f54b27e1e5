/*
 * "FILE@N": a snapshot of a file, as one word.
 *
 *     server.pftrace@2       snapshot 2, as report --snapshot 2 shows it: counted from 0
 *     server.pftrace@-1      the last one; @-2 the one before
 *     server.pftrace@last    the last one
 *     server.pftrace         the last one
 *     mail@7                 a file of that name, when there is one
 *
 * Threads   pure, but for looking whether there is a file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "2", "-1" or "last"; -EINVAL for anything else. */
int hs_dump_name_number(const char *text, uint32_t *ret_snapshot);

/*
 * *ret_path is to be freed; *ret_snapshot is for hs_select_spec, HS_SELECT_LAST when none is named;
 * *ret_has_number says whether one is. -ENOMEM. What is behind an @ and no number is part of the path.
 */
int hs_dump_name_split(const char *operand, char **ret_path, uint32_t *ret_snapshot,
                       bool *ret_has_number);
