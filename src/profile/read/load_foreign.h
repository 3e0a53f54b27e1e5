/*
 * Readers of files that are not traces, and how their kind is found.
 *
 *   load_kind.c        finds the kind by the first bytes
 *   load_file.c        opens, expands, calls the reader, reports damage
 *   load_pprof.c       pprof: of Go, tcmalloc, heapprofd's converter, heapscope
 *   load_heap_text.c   texts of jemalloc and gperftools, as written or with symbols (jeprof --raw)
 *   load_folded.c      collapsed stacks
 *   load_memory_infra.c  JSON traces of Chrome's heap profiler
 *
 * Ensures   a reader gets all bytes of a file, expanded, and leaves a valid profile in the builder,
 *           however damaged the file is. It counts what it could not read in the report.
 * Threads   one user for each load.
 * Fails     -ENOMEM, -EOVERFLOW; HS_LOAD_E_NOT_MEMORY.
 * See       docs/FORMAT.md, "Files of others"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model/builder.h"
#include "profile/read/load.h"

struct hs_load_source {
    const uint8_t *data;
    size_t bytes;
    struct hs_builder *builder;
    struct hs_load_report *report;
    /*
     * The reader may open the programs and libraries that the file names, to learn how they are
     * mapped.
     */
    bool may_open_modules;
};

/*
 * The kind of a file whose expanded content begins with these bytes; is_whole: these are all bytes.
 */
enum hs_load_kind hs_load_kind_of(const uint8_t *data, size_t bytes, bool is_whole);

/* Reads a pprof profile into the builder and the report of `source`. Errors: see above. */
int hs_load_pprof(const struct hs_load_source *source);
/* The same for a heap text. */
int hs_load_heap_text(const struct hs_load_source *source);
/* The same for collapsed stacks. */
int hs_load_folded(const struct hs_load_source *source);
/* The same for a MemoryInfra trace. */
int hs_load_memory_infra(const struct hs_load_source *source);

/* Adds to the profile, as losses, what the report says about the file. */
void hs_load_add_losses(struct hs_builder *builder, const struct hs_load_report *report);
