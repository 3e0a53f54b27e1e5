/*
 * "FILE@N", "FILE@NAME": a snapshot of a file, as one word.
 *
 *     server.pftrace@2       snapshot 2, as report --snapshot 2 shows it: counted from 0
 *     server.pftrace@-1      the last one; @-2 the one before
 *     server.pftrace@last    the last one
 *     server.pftrace@loaded  the last one that the program took under this name
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
 * Splits an operand and chooses the snapshot that it names: the last one if it names none, which
 * *ret_has_snapshot says. The caller frees *ret_path; a name stays in the operand. 0 or -ENOMEM.
 * Text behind an @ that is not a number is a name if what is before it is a file; otherwise it is
 * part of the path.
 */
int hs_dump_name_split(const char *operand, char **ret_path, struct hs_select_spec *select,
                       bool *ret_has_snapshot);
