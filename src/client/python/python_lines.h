/*
 * The line of an instruction, from the tables of a code object: co_lnotab (up to Python 3.9),
 * co_linetable (3.10) and the location table that has this name since 3.11.
 *
 * Threads   pure function.
 */
#pragma once

#include <stdint.h>

/* The line of the instruction at `off` bytes from the first one, of Python 3.`minor`. 0: the table
 * gives it none, or makes no sense. */
uint32_t hs_python_line(uint32_t minor, const uint8_t *table, uint32_t bytes, uint32_t first_line,
                        uint32_t off);
