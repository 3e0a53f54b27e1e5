/*
 * The formats of `heapscope export`: their names, and which one the name of a file implies.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>

enum hs_export_format {
    HS_EXPORT_PPROF,
    HS_EXPORT_FOLDED,
    HS_EXPORT_SPEEDSCOPE,
    HS_EXPORT_SVG,
    HS_EXPORT_MASSIF,
    HS_EXPORT_JSON,
    HS_EXPORT_SQLITE,
    HS_EXPORT_MEMORY_INFRA,
    HS_EXPORT_N,
};

/* By enum hs_export_format. */
extern const char *const hs_export_format_names[HS_EXPORT_N];

/* True: the name is longer than `end`, and ends with it. */
bool hs_export_name_ends_in(const char *name, const char *end);
/* The format that a file's name implies; HS_EXPORT_N: none. */
enum hs_export_format hs_export_format_of_name(const char *name);
