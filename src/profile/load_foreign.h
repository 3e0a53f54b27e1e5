/*
 * Files that are no traces: what kind one is, and the readers of each kind.
 *
 *   load_kind.c        which kind, by the first bytes
 *   load_file.c        opens, expands, calls the reader, tells the damage
 *   load_pprof.c       pprof: of Go, tcmalloc, heapprofd's converter, ours
 *   load_heap_text.c   the texts of jemalloc and gperftools, as they are or with symbols (jeprof --raw)
 *   load_folded.c      collapsed stacks
 *
 * Holds     a reader gets all bytes of a file, expanded, and leaves a whole profile in the builder, however
 *           damaged they are; what it could not read it counts in the report.
 * Threads   one load is one user.
 * Fails     -ENOMEM, -EOVERFLOW; HS_LOAD_E_NOT_MEMORY.
 * See       docs/FORMAT.md, "Files of others"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/builder.h"
#include "profile/load.h"

struct hs_load_source {
    const uint8_t *data;
    size_t bytes;
    struct hs_builder *builder;
    struct hs_load_report *report;
    /* Programs and libraries that the file names may be opened, to learn how they are mapped. */
    bool may_open_modules;
};

/* `bytes` of the start of a file, expanded; is_whole: there are no more. */
enum hs_load_kind hs_load_kind_of(const uint8_t *data, size_t bytes, bool is_whole);

int hs_load_pprof(const struct hs_load_source *source);
int hs_load_heap_text(const struct hs_load_source *source);
int hs_load_folded(const struct hs_load_source *source);

struct hs_trace_input;
/* Takes over the input. */
int hs_load_trace(struct hs_trace_input *input, struct hs_profile **ret_profile,
                  struct hs_load_report *ret_report);
/* What the report says about the file, as losses of the profile. */
void hs_load_add_losses(struct hs_builder *builder, const struct hs_load_report *report);
