/*
 * A TraceConfig, as Perfetto's tools take it: read, checked, and turned into what we do.
 *
 * It comes as text or binary; which, its bytes tell. Each field of heapprofd's either does what it says there, or is
 * accepted and noted in words: what has no meaning without a ring buffer, for one.
 *
 * Threads   none.
 * Fails     HS_TRACE_CONFIG_E_WRONG with words; -ENOMEM.
 * See       trace/textproto.h, docs/man/heapscope-record.1
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/budget.h"
#include "collect/dump_schedule.h"
#include "sources/sources_settings.h"
#include "trace/proto/config.pb-c.h"
#include "trace/skipped_files.h"

#define HS_TRACE_CONFIG_E_WRONG   1
#define HS_TRACE_CONFIG_BYTES_MAX (UINT32_C(16) << 20)

/* Something that the user should know, in one line. */
typedef void hs_trace_config_note_fn(void *ctx, const char *text);

struct hs_trace_config_notes {
    hs_trace_config_note_fn *say;
    void *ctx;
};

struct hs_trace_config_error {
    char text[512];
};

/* What there is to do. Texts and lists belong to the config. */
struct hs_trace_wishes {
    uint64_t interval_bytes;
    char **names;
    size_t name_count;
    const uint64_t *pids;
    size_t pid_count;
    bool is_all;
    bool is_taking_startup, is_taking_running;
    uint64_t min_anon_bytes;
    struct hs_skipped_files skipped;
    uint64_t duration_ns; /* 0: until it is stopped */
    struct hs_dump_schedule dumps;
    struct hs_budget_limits limits;
};

/* `name` is what an error calls it. Freed with hs__pb__trace_config__free_unpacked(). */
int hs_trace_config_read(const char *name, const void *data, size_t bytes,
                         const struct hs_trace_config_notes *notes,
                         Hs__Pb__TraceConfig **ret_config, struct hs_trace_config_error *ret_error);

int hs_trace_config_take(const Hs__Pb__TraceConfig *config,
                         const struct hs_trace_config_notes *notes,
                         struct hs_trace_wishes *ret_schedule,
                         struct hs_trace_config_error *ret_error);

/* linux.process_stats and linux.sys_stats. False: the config has neither. */
bool hs_trace_config_sources(const Hs__Pb__TraceConfig *config,
                             struct hs_sources_settings *ret_settings);
