/*
 * Names of formats. See export_format.h.
 */
#include "cli/read/export_format.h"

#include <stddef.h>
#include <string.h>

#include "rt/base.h"

const char *const hs_export_format_names[HS_EXPORT_N] = {
    [HS_EXPORT_PPROF] = "pprof",           [HS_EXPORT_FOLDED] = "folded",
    [HS_EXPORT_SPEEDSCOPE] = "speedscope", [HS_EXPORT_SVG] = "svg",
    [HS_EXPORT_MASSIF] = "massif",         [HS_EXPORT_JSON] = "json",
    [HS_EXPORT_SQLITE] = "sqlite",         [HS_EXPORT_MEMORY_INFRA] = "memory-infra",
};

static const struct {
    const char *end;
    enum hs_export_format format;
} file_ends[] = {
    { ".pb.gz", HS_EXPORT_PPROF },
    { ".pprof", HS_EXPORT_PPROF },
    { ".folded", HS_EXPORT_FOLDED },
    { ".collapsed", HS_EXPORT_FOLDED },
    { ".speedscope.json", HS_EXPORT_SPEEDSCOPE },
    { ".svg", HS_EXPORT_SVG },
    { ".massif", HS_EXPORT_MASSIF },
    { ".jsonl", HS_EXPORT_JSON },
    { ".ndjson", HS_EXPORT_JSON },
    { ".sqlite", HS_EXPORT_SQLITE },
    { ".db", HS_EXPORT_SQLITE },
    { ".memory-infra.json", HS_EXPORT_MEMORY_INFRA },
    { ".memory-infra.json.gz", HS_EXPORT_MEMORY_INFRA },
};

bool hs_export_name_ends_in(const char *name, const char *end)
{
    size_t name_bytes = strlen(name), bytes = strlen(end);
    return name_bytes > bytes && strcmp(name + name_bytes - bytes, end) == 0;
}

enum hs_export_format hs_export_format_of_name(const char *name)
{
    for (size_t i = 0; i < HS_COUNT_OF(file_ends); i++) {
        if (hs_export_name_ends_in(name, file_ends[i].end)) {
            return file_ends[i].format;
        }
    }
    return HS_EXPORT_N;
}
