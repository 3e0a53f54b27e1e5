/*
 * Reading the options of counter sources: see source_opts.h.
 */
#include "cli/source_opts.h"

#include <string.h>

#include "util/parse.h"

#define NS_PER_MS UINT64_C(1000000)

static int take_counters(const struct hs_opts_spec *spec, const char *text,
                         struct hs_sources_settings *settings)
{
    uint64_t ns;
    if (!text) {
        return HS_ARGS_GO_ON;
    }
    if (strcmp(text, "off") == 0) {
        settings->poll_ms = 0;
        return HS_ARGS_GO_ON;
    }
    if (hs_parse_duration(text, &ns) < 0) {
        return hs_args_fail(spec, "--counters: '%s' is not a duration; try 1s, 500ms, or off",
                            text);
    }
    if (ns < HS_SOURCES_POLL_MS_MIN * NS_PER_MS || ns > HS_SOURCES_POLL_MS_MAX * NS_PER_MS) {
        return hs_args_fail(spec, "--counters: '%s' is not between 100ms and 24h", text);
    }
    settings->poll_ms = (uint32_t)(ns / NS_PER_MS);
    settings->is_thinning = false; /* an explicit interval stays as it is */
    return HS_ARGS_GO_ON;
}

int hs_source_opts_take(const struct hs_opts_spec *spec, const struct hs_source_opts *opts,
                        struct hs_sources_settings *ret_settings)
{
    struct hs_sources_settings settings = hs_sources_default();
    int status = take_counters(spec, opts->counters, &settings);
    if (status == HS_ARGS_GO_ON) {
        settings.with_smaps_at_dumps = opts->with_smaps;
        settings.is_without_types = opts->is_without_types;
        settings.meminfo_ms = settings.psi_ms = (uint32_t)(opts->system_ns / NS_PER_MS);
        *ret_settings = settings;
    }
    return status;
}
