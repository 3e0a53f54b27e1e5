/*
 * The TraceConfig that `record` executes, made from heap_profile's flags or read from a file.
 *
 * Flags become the text of a config, as heap_profile writes it, and that text is read like any
 * other config: so --print-config prints what `record` does. With a config from a file, --duration
 * and --interval replace the values of the config; all other flags about what to record are
 * refused.
 *
 * Threads   main thread only.
 * Fails     an exit status, after a message that says why.
 * See       config/trace_config.h, docs/adr/0020-two-meanings-of-c.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/trace_config.h"

#define HS_RECORD_NOT_GIVEN UINT64_MAX

/* Flags of the command line. A number that was not given is HS_RECORD_NOT_GIVEN, a text NULL. */
struct hs_record_flags {
    uint64_t interval_bytes, duration_ms, continuous_ms, shmem_bytes, block_timeout_us;
    const char *pids, *names,
        *heaps; /* words separated by commas; blanks around a word are dropped. A heap may be
                   NAME=BYTES */
    const char *excluded_heaps; /* the same */
    const char *interval_list;  /* more than one interval: one for each heap */
    const char *config;         /* a file, "-": standard input; NULL: the other flags */
    bool has_lifetimes, is_native_only, has_all_heaps, has_no_running, has_no_startup, has_block,
        has_no_block, has_dump_at_max;
    bool has_disable_fork_teardown;
    bool is_printing; /* print the config, and record nothing */
};

/* Makes the config, which the caller frees with hs__pb__trace_config__free_unpacked() whatever is
 * returned; NULL: there is none. `program` is the program to start; NULL: none. Returns
 * HS_ARGS_GO_ON, or the exit status; also after printing. */
int hs_record_config_make(const struct hs_record_flags *flags, const char *program,
                          Hs__Pb__TraceConfig **ret_config);

/* Prints notes about the config; for hs_trace_config_take(). */
extern const struct hs_trace_config_notes hs_record_notes;
