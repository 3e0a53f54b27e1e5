/*
 * The file that `snapshot` and `snapshots --download` write: a trace or a profile for pprof, by its
 * name.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_profile;

struct hs_snapshot_output {
    const char *path; /* "-": standard output */
    const void *trace;
    size_t trace_bytes;
    bool is_symbolizing; /* the trace has no names yet: look for them */
    bool is_quiet;       /* show no progress */
    bool with_tags;      /* pprof with a sample for each block, which the trace must list */
};

/* Does a file of this name hold a profile for pprof? */
bool hs_snapshot_output_is_pprof(const char *path);

/* Writes the file; `profile` is what was loaded from the trace. 0, or the exit status after a
 * message. */
int hs_snapshot_output_write(const struct hs_snapshot_output *output, struct hs_profile *profile,
                             uint64_t *ret_bytes);

/* A file that is mapped for reading. */
struct hs_mapped_file {
    const void *data;
    size_t bytes;
};

/* Maps a file, and loads it. 0, or the exit status after a message. */
int hs_snapshot_output_load(int fd, struct hs_mapped_file *ret_map,
                            struct hs_profile **ret_profile);
/* Frees what hs_snapshot_output_load() made. */
void hs_snapshot_output_unload(struct hs_mapped_file *map, struct hs_profile *profile);
