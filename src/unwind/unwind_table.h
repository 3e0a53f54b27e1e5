/*
 * Opens a table of the section UNWIND_TABLES (fmt/unwind_table_layout.h): checks that its parts lie
 * inside it, and says where they are.
 *
 * The bytes stay where they are, and may even change while they are used: the search reads each
 * entry once, and hs_eh_find checks what an entry and the section say.
 *
 * Threads   any.
 * Fails     returns false: it is not a table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/unwind_table_layout.h"
#include "unwind/module.h"

/* Copies the header of the table at `off`, of which `bytes_max` bytes of the section are in use;
 * the next table begins at off + table_bytes. */
bool hs_unwind_table_head(const uint8_t *section, uint64_t bytes_max, uint64_t off,
                          struct hs_unwind_table_v2 *ret_head);

/* Opens the table at `at`, whose header was copied to *head. */
bool hs_unwind_table_open(const uint8_t *at, const struct hs_unwind_table_v2 *head,
                          struct hs_unwind_table *ret_table);
