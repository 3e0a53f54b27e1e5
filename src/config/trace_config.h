/*
 * Reads and checks a TraceConfig, the configuration of Perfetto's tools, and translates it into
 * what heapscope records.
 *
 * A config is text or binary; the reader recognizes which from its bytes. Each field of heapprofd
 * either has the effect that Perfetto documents, or is accepted with a note to the user, for
 * example a field that has no meaning without a ring buffer.
 *
 * Threads   none.
 * Fails     HS_TRACE_CONFIG_E_WRONG with a message; -ENOMEM.
 * See       config/textproto.h, docs/man/heapscope-record.1
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

/* Gets a note for the user, in one line. */
typedef void hs_trace_config_note_fn(void *ctx, const char *text);

/* The function that gets the notes; NULL: they are dropped. */
struct hs_trace_config_notes {
    hs_trace_config_note_fn *say;
    void *ctx;
};

struct hs_trace_config_error {
    char text[512];
};

/* The recording that a config asks for. Its texts and lists belong to the config. */
struct hs_trace_wishes {
    uint64_t interval_bytes;        /* of malloc's heap */
    struct hs_heap_selection heaps; /* settled */
    char **names;
    size_t name_count;
    const uint64_t *pids;
    size_t pid_count;
    bool is_all;
    bool is_taking_startup, is_taking_running;
    uint64_t min_anon_bytes;
    struct hs_skipped_files skipped;
    uint64_t duration_ns; /* 0: until the recording is stopped */
    struct hs_dump_schedule dumps;
    struct hs_budget_limits limits;
};

/* Parses a config. Errors call it `name`. Returns 0, HS_TRACE_CONFIG_E_WRONG with *ret_error, or
 * -ENOMEM. The caller frees the config with hs__pb__trace_config__free_unpacked(). */
int hs_trace_config_read(const char *name, const void *data, size_t bytes,
                         const struct hs_trace_config_notes *notes,
                         Hs__Pb__TraceConfig **ret_config, struct hs_trace_config_error *ret_error);

/* Translates the config's data source of the heap profiler. Returns 0, or HS_TRACE_CONFIG_E_WRONG
 * with *ret_error. */
int hs_trace_config_take(const Hs__Pb__TraceConfig *config,
                         const struct hs_trace_config_notes *notes,
                         struct hs_trace_wishes *ret_recording,
                         struct hs_trace_config_error *ret_error);

/* Translates the data sources linux.process_stats and linux.sys_stats. Returns false if the config
 * has neither of them. */
bool hs_trace_config_sources(const Hs__Pb__TraceConfig *config,
                             struct hs_sources_settings *ret_settings);
