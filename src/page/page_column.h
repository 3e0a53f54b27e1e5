/*
 * Writes columns: arrays of numbers, or one number if all rows have the same.
 *
 *     "heap": 0, "count": [1,1,7,2]
 *
 * A column is written in two passes over a function that gives the value of a row, so that nothing
 * has to be kept.
 *
 * Threads   no state.
 * Fails     as the buffer of the JSON does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hs_json;

/* The value of a row. Rows are asked for in their order, once in each pass. */
typedef double hs_page_value_fn(const void *ctx, uint32_t row);

/* Writes a column of the open object. A number that is not finite becomes 0. */
void hs_page_column(struct hs_json *json, const char *key, uint32_t count, hs_page_value_fn *value,
                    const void *ctx);
/* The same, each value as the difference to the one before. */
void hs_page_column_steps(struct hs_json *json, const char *key, uint32_t count,
                          hs_page_value_fn *value, const void *ctx);
/* The same of an array of numbers. */
void hs_page_column_of(struct hs_json *json, const char *key, uint32_t count,
                       const uint32_t *values);
/* Writes a column that was not recorded. */
void hs_page_column_unknown(struct hs_json *json, const char *key);

/* The number with `digits` significant digits. */
double hs_page_round(double value, unsigned digits);
