/*
 * See peak_overlap.h.
 */
#include "profile/peak_overlap.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/margin.h"

/* One process, from start to end, with the most that its peak can have been. */
struct life {
    uint32_t pid;
    uint64_t start_ns, end_ns;
    double bytes;
};

struct change {
    uint64_t time_ns;
    double bytes; /* added from then on; below 0: a process has ended */
};

static int compare_lives(const void *a, const void *b)
{
    const struct life *x = a, *y = b;
    if (x->pid != y->pid) {
        return x->pid < y->pid ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Those that end at a time come before those that begin then. */
static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static uint32_t list_lives(const struct hs_selection *s, struct life *lives, double *ret_low)
{
    uint32_t count = 0;
    *ret_low = 0;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        const struct hs_profile_dump *dump = &s->profile->dumps[s->dumps[i]];
        const struct hs_profile_process *process = &s->profile->processes[dump->process];
        struct hs_figure figure = hs_figure_of(&dump->peak, false);
        struct hs_margin margin = hs_margin_of(&figure);
        if (!(figure.value > 0)) {
            continue;
        }
        double low = figure.value - margin.below;
        *ret_low = low > *ret_low ? low : *ret_low;
        lives[count++] = (struct life){
            .pid = process->pid,
            .start_ns = process->start_ns,
            .end_ns = process->end_ns > process->start_ns ? process->end_ns : UINT64_MAX,
            .bytes = figure.value + margin.above,
        };
    }
    return count;
}

/* A pid has one image at a time: that the first one had executed another program may have been seen late. */
static void end_images(struct life *lives, uint32_t count)
{
    qsort(lives, count, sizeof(*lives), compare_lives);
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint64_t next_ns = lives[i + 1].start_ns;
        if (lives[i].pid != 0 && lives[i].pid == lives[i + 1].pid && next_ns > lives[i].start_ns &&
            next_ns < lives[i].end_ns) {
            lives[i].end_ns = next_ns;
        }
    }
}

static double highest_sum(const struct life *lives, uint32_t count, struct change *changes)
{
    for (uint32_t i = 0; i < count; i++) {
        changes[2 * i] = (struct change){ lives[i].start_ns, lives[i].bytes };
        changes[2 * i + 1] = (struct change){ lives[i].end_ns, -lives[i].bytes };
    }
    qsort(changes, 2 * (size_t)count, sizeof(*changes), compare_changes);
    double sum = 0, most = 0;
    for (uint32_t i = 0; i < 2 * count; i++) {
        sum += changes[i].bytes;
        most = sum > most ? sum : most;
    }
    return most;
}

int hs_peak_overlap_of(const struct hs_selection *selection, struct hs_peak_overlap *ret_overlap)
{
    struct life *lives = calloc((size_t)selection->dump_count + 1, sizeof(*lives));
    struct change *changes = calloc(2 * (size_t)selection->dump_count + 1, sizeof(*changes));
    int err = lives && changes ? 0 : -ENOMEM;
    if (err == 0) {
        double low;
        uint32_t count = list_lives(selection, lives, &low);
        end_images(lives, count);
        double high = highest_sum(lives, count, changes);
        *ret_overlap = (struct hs_peak_overlap){
            .low_bytes = low,
            .high_bytes = high > low ? high : low,
            .process_count = count,
        };
    }
    free(lives);
    free(changes);
    return err;
}
