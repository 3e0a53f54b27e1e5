/*
 * An amount as JSON: for the report, and for others whose amounts have the same form.
 *
 * Threads   no state.
 */
#pragma once

struct hs_amount;
struct hs_json;

/* Writes an amount under `key`, with its margins where it is an estimate. */
void hs_report_json_amount(struct hs_json *json, const char *key, const struct hs_amount *amount);
