/*
 * See select.h.
 */
#include "profile/analyse/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "profile/model/family.h"
#include "rt/check.h"
#include "util/buf.h"

static uint32_t find_named(const struct hs_profile *profile, uint32_t process, const char *name)
{
    for (uint32_t i = profile->dump_count; i-- > 0;) {
        const struct hs_profile_dump *dump = &profile->dumps[i];
        if (dump->process == process && dump->name != 0 &&
            strcmp(hs_profile_string(profile, dump->name), name) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

static uint32_t find_dump(const struct hs_profile *profile, uint32_t process, uint32_t snapshot)
{
    if (snapshot >= HS_SELECT_FROM_END) {
        uint32_t last = profile->processes[process].last_dump;
        uint32_t back = HS_SELECT_LAST - snapshot;
        if (last >= profile->dump_count || back > profile->dumps[last].index) {
            return UINT32_MAX;
        }
        if (back == 0) {
            return last;
        }
        snapshot = profile->dumps[last].index - back;
    }
    for (uint32_t i = 0; i < profile->dump_count; i++) {
        if (profile->dumps[i].process == process && profile->dumps[i].index == snapshot) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* A figure of 0 gets the interval, too: blocks may exist that no sample hit. */
static void widen_amounts(struct hs_selection *selection, uint64_t interval_bytes)
{
    hs_amount_widen(&selection->live, (float)interval_bytes);
    hs_amount_widen(&selection->alloc, (float)interval_bytes);
    hs_amount_widen(&selection->peak, (float)interval_bytes);
}

#if HS_HAS_CHECKS
static bool has_dump_of(const struct hs_selection *selection, uint32_t process)
{
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        if (selection->profile->dumps[selection->dumps[i]].process == process) {
            return true;
        }
    }
    return false;
}
#endif

/* The narrowest interval of the heaps that a dump counts; 0: unknown. */
static uint64_t narrowest_of(const struct hs_profile *p, const struct hs_profile_dump *dump)
{
    uint64_t narrowest_bytes = dump->interval_bytes;
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + i];
        bool has_figures = heap->alloc.bytes + heap->live.bytes > 0;
        if (heap->is_counted && has_figures && heap->interval_bytes > 0 &&
            heap->interval_bytes < narrowest_bytes) {
            narrowest_bytes = heap->interval_bytes;
        }
    }
    return narrowest_bytes;
}

static void add_dump(struct hs_selection *selection, uint32_t idx)
{
    const struct hs_profile_dump *dump = &selection->profile->dumps[idx];
    bool is_first = selection->dump_count == 0;
    selection->is_peak_of_several |= !is_first &&
                                     selection->live.bytes + selection->peak.bytes > 0 &&
                                     dump->live.bytes + dump->peak.bytes > 0;
    HS_ASSERT_SLOW(!has_dump_of(selection, dump->process));
    selection->dumps[selection->dump_count++] = idx;
    selection->has_peak = (is_first || selection->has_peak) && dump->has_peak;
    hs_amount_add(&selection->live, &dump->live);
    hs_amount_add(&selection->alloc, &dump->alloc);
    hs_amount_add(&selection->peak, &dump->peak);
    selection->is_peak_of_heaps |= dump->is_peak_of_heaps;
    selection->is_peak_of_all |= dump->is_peak_of_all;
    selection->sample_count += dump->sample_count;
    /*
     * The window of a dump may begin at the dump before it; the start of the program is that of its
     * process.
     */
    uint64_t start_ns = selection->profile->processes[dump->process].start_ns;
    start_ns = start_ns ? start_ns : dump->start_ns;
    selection->start_ns =
        is_first || start_ns < selection->start_ns ? start_ns : selection->start_ns;
    selection->end_ns = dump->time_ns > selection->end_ns ? dump->time_ns : selection->end_ns;
    uint64_t interval_bytes = narrowest_of(selection->profile, dump);
    if (is_first || interval_bytes < selection->interval_min_bytes) {
        selection->interval_min_bytes = interval_bytes;
    }
    uint64_t widest_bytes = hs_dump_widest_bytes(dump);
    if (widest_bytes > selection->interval_max_bytes) {
        selection->interval_max_bytes = widest_bytes;
        selection->sample_most_bytes = selection->sample_least_bytes = widest_bytes;
    }
    widen_amounts(selection, widest_bytes);
}

static int compare_starts(const void *a, const void *b, void *ctx)
{
    const struct hs_profile *p = ctx;
    const struct hs_profile_dump *x = &p->dumps[*(const uint32_t *)a];
    const struct hs_profile_dump *y = &p->dumps[*(const uint32_t *)b];
    uint64_t s = p->processes[x->process].start_ns;
    uint64_t t = p->processes[y->process].start_ns;
    if (s != t) {
        return s < t ? -1 : 1;
    }
    return x->process < y->process ? -1 : x->process > y->process;
}

/*
 * True when any process was profiled. A process that was refused has nothing to add, unless there
 * are no others.
 */
static bool has_profiled(const struct hs_profile *profile)
{
    for (uint32_t i = 0; i < profile->process_count; i++) {
        if (profile->processes[i].refusal == 0 &&
            find_dump(profile, i, HS_SELECT_LAST) != UINT32_MAX) {
            return true;
        }
    }
    return false;
}

static bool is_sampled(const struct hs_selection *selection)
{
    return selection->interval_max_bytes > 1 || selection->live.bytes_var > 0 ||
           selection->alloc.bytes_var > 0 || selection->peak.bytes_var > 0;
}

/*
 * The variance with the samples that relatives share: at most those that the later one inherited.
 * An older file does not tell which these are; then all samples may be shared.
 */
static double widen(double var, double inherited_var, bool is_known, uint32_t relative_count)
{
    double shared = is_known && inherited_var < var ? inherited_var : var;
    return var + 2.0 * relative_count * shared;
}

struct hs_amount hs_selection_part(const struct hs_selection *selection, uint32_t i,
                                   const struct hs_amount *amount,
                                   const struct hs_inherited_var *inherited)
{
    const struct hs_profile *p = selection->profile;
    const struct hs_profile_dump *dump = &p->dumps[selection->dumps[i]];
    uint32_t count = selection->relative_counts ? selection->relative_counts[i] : 0;
    struct hs_amount part = *amount;
    if (count > 0) {
        bool is_known = dump->inherited.bytes > 0;
        part.bytes_var = widen(part.bytes_var, (double)inherited->bytes, is_known, count);
        part.count_var = widen(part.count_var, (double)inherited->count, is_known, count);
    }
    return part;
}

/*
 * The widest interval of the counted heap that was sampled most finely; `widest_bytes`, if all are
 * alike.
 */
static uint64_t least_interval(const struct hs_selection *selection, uint64_t widest_bytes)
{
    const struct hs_profile *p = selection->profile;
    uint64_t least_bytes = widest_bytes;
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[i]];
        for (uint32_t k = 0; k < dump->heaps_n && dump->heaps_n > 1; k++) {
            const struct hs_profile_dump_heap *heap = &p->dump_heaps[dump->heap_first + k];
            bool has_figures = heap->alloc.bytes + heap->live.bytes > 0;
            if (heap->is_counted && has_figures && heap->interval_widest_bytes < least_bytes) {
                least_bytes = heap->interval_widest_bytes;
            }
        }
    }
    return least_bytes;
}

/*
 * Finds sample_most_bytes and sample_least_bytes. A block that no sample hit counts in each process
 * that inherited it.
 */
static int find_sample_most(struct hs_selection *selection)
{
    const struct hs_profile *p = selection->profile;
    uint32_t *families;
    uint32_t *counts = calloc(p->process_count + 1u, sizeof(*counts));
    uint64_t most = 1;
    int err = counts ? hs_family_find(p, HS_KINSHIP_DESCENT, &families) : -ENOMEM;
    if (err < 0) {
        free(counts);
        return err;
    }
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        uint32_t process = p->dumps[selection->dumps[i]].process;
        if (p->processes[process].refusal == 0) {
            uint32_t count = ++counts[families[process]];
            most = count > most ? count : most;
        }
    }
    uint64_t interval = selection->interval_max_bytes;
    selection->sample_most_bytes =
        interval > 1 && interval < UINT64_MAX / most ? interval * most : interval;
    uint64_t least = least_interval(selection, interval);
    selection->sample_least_bytes =
        least < interval ? least * (least > 1 ? most : 1) : selection->sample_most_bytes;
    free(families);
    free(counts);
    return 0;
}

/*
 * Adds up the totals anew, when all dumps are selected and in order: in families, the variance of a
 * total is larger than the sum of the variances.
 */
static int add_families(struct hs_selection *selection)
{
    const struct hs_profile *p = selection->profile;
    uint32_t *families;
    uint32_t *counts = calloc(p->process_count + 1u, sizeof(*counts));
    int err = counts ? hs_family_find(p, HS_KINSHIP_SAMPLES, &families) : -ENOMEM;
    if (err < 0) {
        free(counts);
        return err;
    }
    selection->live = selection->alloc = selection->peak = (struct hs_amount){ 0 };
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[i]];
        selection->relative_counts[i] = counts[families[dump->process]]++;
        struct hs_amount live = hs_selection_part(selection, i, &dump->live, &dump->inherited);
        struct hs_amount alloc = hs_selection_part(selection, i, &dump->alloc, &dump->inherited);
        struct hs_amount peak = hs_selection_part(selection, i, &dump->peak, &dump->inherited);
        hs_amount_add(&selection->live, &live);
        hs_amount_add(&selection->alloc, &alloc);
        hs_amount_add(&selection->peak, &peak);
    }
    free(families);
    free(counts);
    err = find_sample_most(selection);
    widen_amounts(selection, selection->sample_most_bytes);
    return err;
}

static void add_losses(struct hs_selection *selection)
{
    const struct hs_profile *p = selection->profile;
    for (uint32_t i = 0; i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        if (loss->is_serious && !loss->is_refusal && loss->count > 0 &&
            hs_selection_has_loss(selection, loss)) {
            selection->is_lossy = true;
            selection->missing_bytes += loss->bytes;
            selection->missing_alloc_count += loss->alloc_count;
        }
    }
}

/* 1 when the user asked for this process, else 0; -ENOMEM. */
static int is_named(const struct hs_profile *profile, uint32_t process,
                    const struct hs_select_spec *spec)
{
    struct hs_buf name = HS_BUF_INIT;
    if (spec->pid != HS_SELECT_ANY_PID && profile->processes[process].pid != spec->pid) {
        return 0;
    }
    if (!spec->name) {
        return 1;
    }
    hs_describe_process(profile, process, &name);
    int r = name.err ? name.err : strcmp(hs_buf_text(&name), spec->name) == 0;
    hs_buf_deinit(&name);
    return r;
}

int hs_select_dumps(const struct hs_profile *profile, const struct hs_select_spec *spec,
                    struct hs_selection *ret_selection)
{
    struct hs_selection selection = { .profile = profile, .is_by_heap = profile->heap_count > 1 };
    bool has_pid = false;
    bool has_dump = false;
    int err = 0;
    bool is_leaving_refused =
        spec->pid == HS_SELECT_ANY_PID && !spec->name && has_profiled(profile);
    selection.dumps = calloc(profile->process_count + 1u, sizeof(*selection.dumps));
    selection.relative_counts =
        calloc(profile->process_count + 1u, sizeof(*selection.relative_counts));
    selection.has_process = calloc(profile->process_count + 1u, sizeof(*selection.has_process));
    if (!selection.dumps || !selection.relative_counts || !selection.has_process) {
        hs_selection_deinit(&selection);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < profile->process_count && err == 0; i++) {
        bool is_last_there = find_dump(profile, i, HS_SELECT_LAST) != UINT32_MAX;
        has_dump |= is_last_there;
        int is_wanted = is_named(profile, i, spec);
        if (is_wanted <= 0) {
            err = is_wanted;
            continue;
        }
        has_pid |= is_last_there;
        if (is_leaving_refused && profile->processes[i].refusal != 0) {
            selection.has_process[i] = true; /* its losses are shown */
            continue;
        }
        uint32_t dump = spec->snapshot_name ? find_named(profile, i, spec->snapshot_name)
                                            : find_dump(profile, i, spec->snapshot);
        if (dump != UINT32_MAX) {
            add_dump(&selection, dump);
            selection.has_process[i] = true;
        }
    }
    if (selection.dump_count == 0 || err < 0) {
        hs_selection_deinit(&selection);
        return err < 0               ? err
               : !has_dump           ? HS_SELECT_E_EMPTY
               : !has_pid            ? HS_SELECT_E_NO_PID
               : spec->snapshot_name ? HS_SELECT_E_NO_NAMED
                                     : HS_SELECT_E_NO_SNAPSHOT;
    }
    qsort_r(selection.dumps, selection.dump_count, sizeof(*selection.dumps), compare_starts,
            (void *)(uintptr_t)profile);
    err = add_families(&selection);
    if (err < 0) {
        hs_selection_deinit(&selection);
        return err;
    }
    selection.is_sampled = is_sampled(&selection);
    add_losses(&selection);
    *ret_selection = selection;
    return 0;
}

int hs_select_dump(const struct hs_profile *profile, uint32_t dump_idx,
                   struct hs_selection *ret_selection)
{
    struct hs_selection selection = { .profile = profile, .is_by_heap = profile->heap_count > 1 };
    selection.dumps = calloc(1, sizeof(*selection.dumps));
    selection.has_process = calloc(profile->process_count + 1u, sizeof(*selection.has_process));
    if (!selection.dumps || !selection.has_process) {
        hs_selection_deinit(&selection);
        return -ENOMEM;
    }
    add_dump(&selection, dump_idx);
    selection.has_process[profile->dumps[dump_idx].process] = true;
    selection.is_sampled = is_sampled(&selection);
    add_losses(&selection);
    *ret_selection = selection;
    return 0;
}

void hs_selection_deinit(struct hs_selection *selection)
{
    free(selection->dumps);
    free(selection->relative_counts);
    free(selection->has_process);
    *selection = (struct hs_selection){ 0 };
}

bool hs_selection_is_at_end(const struct hs_selection *selection)
{
    const struct hs_profile *p = selection->profile;
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[i]];
        /* The last dump of a recording that ended before the process is final, too. */
        if (!dump->is_final || hs_describe_is_running(&p->processes[dump->process])) {
            return false;
        }
    }
    return true;
}

bool hs_selection_has_loss(const struct hs_selection *selection, const struct hs_profile_loss *loss)
{
    const struct hs_profile *p = selection->profile;
    return loss->process == HS_PROFILE_NO_PROCESS ||
           (loss->process < p->process_count && selection->has_process[loss->process]);
}

uint32_t hs_select_dump_count_max(const struct hs_profile *profile)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < profile->dump_count; i++) {
        most = profile->dumps[i].index + 1 > most ? profile->dumps[i].index + 1 : most;
    }
    return most;
}
