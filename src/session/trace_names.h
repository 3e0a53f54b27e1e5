/*
 * The last packets of a trace: names for the code addresses in it, and the original names of
 * obfuscated Java code.
 *
 * Names come from the sources that the environment names (symbol/name_sources.h), as they do in the
 * commands that read files. Only the time for debuginfod servers is shorter.
 *
 * Threads   one user. It starts processes that read files of programs, and waits for them.
 * Fails     -errno: the names could not be looked up, or the writer failed, with its error. If the
 *           writer has not failed, the trace is valid, without names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "deobfuscate/java_wanted.h"
#include "session/jit_names.h"
#include "symbol/name_sources.h"
#include "symbol/symbol_wanted.h"
#include "trace/trace_writer.h"

struct hs_target_files;

/* How names are looked up. Zeros are the usual way. */
struct hs_trace_naming {
    const struct hs_target_files *files; /* opened while the processes ran; NULL: none */
    struct hs_java_wanted *java;         /* methods of Java in the trace; NULL: none */
    bool (*is_cancelled)(void);          /* as in hs_symbol_options; NULL: never */
    void (*on_progress)(uint64_t done_count, uint64_t all_count); /* the same */
    hs_name_sources_say_fn *say; /* gets sentences for the user; NULL: nobody is told */
    bool is_interrupted;         /* result: is_cancelled ended the search */
};

/* Are there maps of obfuscated names in the environment, so that naming.java is of use? */
bool hs_trace_names_wants_java(void);

/* Adds the methods of Java that frames of a dump name. 0 or -ENOMEM. */
int hs_trace_names_add_java(struct hs_java_wanted *wanted, const struct hs_snapshot *snap,
                            const struct hs_jit_names *jit);

/* Looks up the names of the wanted addresses, and appends them to the trace. 0 or -errno. */
int hs_trace_names_append(struct hs_trace_writer *writer, struct hs_symbol_wanted *wanted,
                          struct hs_trace_naming *naming);
