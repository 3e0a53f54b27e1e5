/*
 * What the files of the pprof writer share: its state, and how it writes one sample.
 *
 * Threads   one user.
 * See       pprof.h
 */
#pragma once

#include "view/pprof.h"
#include "view/pprof_layout.h"
#include "view/pprof_parts.h"

struct hs_pprof_split;

struct hs_pprof_writer {
    const struct hs_profile *profile;
    const struct hs_selection *selection;
    const struct hs_pprof_layout *layout;
    struct hs_pprof_options options;
    size_t value_count;
    struct hs_pprof_parts parts;
    struct hs_intern functions;
    bool *is_frame_used;
    uint8_t *module_has;                 /* enum module_has bits, by module */
    double carries[HS_PPROF_VALUES_MAX]; /* rounding error so far */
    uint64_t *locations;                 /* of the current sample, innermost first */
    size_t location_capacity;
    struct hs_pprof_split *split; /* of the current sample: pprof_split.c */
    size_t split_capacity;
};

/* A sample of a dump. */
struct hs_pprof_place {
    const struct hs_profile_dump *dump;
    const struct hs_profile_sample *sample;
};

#define HS_PPROF_LABELS_MAX 32

struct hs_pprof_labels {
    Hs__Pprof__PprofLabel items[HS_PPROF_LABELS_MAX];
    size_t count;
};

/* Adds a label; those beyond HS_PPROF_LABELS_MAX are left out. `unit` may be NULL. */
void hs_pprof_text_label(struct hs_pprof_writer *w, struct hs_pprof_labels *labels, const char *key,
                         const char *text);
void hs_pprof_number_label(struct hs_pprof_writer *w, struct hs_pprof_labels *labels,
                           const char *key, uint64_t number, const char *unit);
/* Writes a sample of a stack, with these values, and adds the labels that each one has. */
void hs_pprof_put_sample(struct hs_pprof_writer *w, const struct hs_pprof_place *place,
                         const int64_t *values, struct hs_pprof_labels *labels);
