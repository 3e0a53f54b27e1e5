/*
 * See peak_overlap.h.
 */
#include "profile/analyse/peak_overlap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "profile/model/margin.h"
#include "rt/check.h"

#define Z_95       1.96
#define LOW_CHANCE 0.025
#define BISECTIONS 60
/* Beyond this, the tail of a normal distribution is 0. */
#define SIGMAS_MAX 40.0

/* The life of one process, with the upper end of its peak. */
struct life {
    uint32_t pid;
    uint64_t start_ns, end_ns;
    double bytes;
    double shown_bytes;
    double sampled_bytes; /* the sampled part of it, at most */
    double below_bytes;   /* the lower margin of this process alone */
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

/* At equal times, ends come before starts. */
static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/*
 * Lists processes. A peak of 0 also has an upper end above 0 when there may be blocks that no
 * sample hit.
 */
static uint32_t list_lives(const struct hs_selection *s, struct life *lives)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        const struct hs_profile_dump *dump = &s->profile->dumps[s->dumps[i]];
        const struct hs_profile_process *process = &s->profile->processes[dump->process];
        struct hs_amount peak = dump->peak;
        hs_amount_widen(&peak, (float)hs_dump_widest_bytes(dump));
        struct hs_figure figure = hs_figure_of(&peak, false);
        struct hs_margin margin = hs_margin_of(&figure);
        if (!(figure.value + margin.above > 0)) {
            continue;
        }
        lives[count++] = (struct life){
            .pid = process->pid,
            .start_ns = process->start_ns,
            .end_ns = process->end_ns > process->start_ns ? process->end_ns : UINT64_MAX,
            .bytes = figure.value + margin.above,
            .shown_bytes = figure.value,
            .sampled_bytes = figure.sampled > 0 ? figure.sampled : figure.value,
            .below_bytes = margin.below,
        };
    }
    return count;
}

/*
 * The factor by which lower margins must be wider, so that all of `count` hold together with the
 * confidence of one.
 */
static double widening_of(uint32_t count)
{
    if (count <= 1) {
        return 1;
    }
    double low = Z_95, high = SIGMAS_MAX;
    for (unsigned i = 0; i < BISECTIONS; i++) {
        double z = (low + high) / 2;
        bool is_likely = erfc(z / M_SQRT2) / 2 > LOW_CHANCE / count;
        low = is_likely ? z : low;
        high = is_likely ? high : z;
    }
    return high / Z_95;
}

/*
 * The largest lower end. The largest of many estimates is often too high, so all lower ends must
 * hold together.
 */
static double largest_low(const struct life *lives, uint32_t count)
{
    uint32_t estimate_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        estimate_count += lives[i].below_bytes > 0;
    }
    double widening = widening_of(estimate_count);
    double largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct life *life = &lives[i];
        double below =
            fmin(life->below_bytes * widening, fmax(life->sampled_bytes, life->below_bytes));
        double low = life->shown_bytes - below;
        largest = low > largest ? low : largest;
    }
    return largest;
}

/*
 * Ends an image when the next image of its pid begins: a pid has one image at a time, but an execve
 * may have been noticed late.
 */
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
        uint32_t count = list_lives(selection, lives);
        double low = largest_low(lives, count);
        end_images(lives, count);
        double high = highest_sum(lives, count, changes);
        *ret_overlap = (struct hs_peak_overlap){
            .low_bytes = low,
            .high_bytes = high > low ? high : low,
            .process_count = count,
        };
        HS_ASSERT(ret_overlap->low_bytes <= ret_overlap->high_bytes);
    }
    free(lives);
    free(changes);
    return err;
}
