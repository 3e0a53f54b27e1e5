/*
 * Matches the processes of both sides by name. Processes with the same name are added up on each
 * side.
 *
 * Threads   one user.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/diff_internal.h"
#include "profile/model/describe.h"
#include "util/array.h"

static int find(struct hs_diff *diff, size_t *capacity, const char *name, uint32_t *ret_idx)
{
    for (uint32_t i = 0; i < diff->process_count; i++) {
        if (strcmp(diff->text.data + diff->processes[i].name_off, name) == 0) {
            *ret_idx = i;
            return 0;
        }
    }
    int err = hs_array_reserve(&diff->processes, capacity, (size_t)diff->process_count + 1,
                               sizeof(*diff->processes));
    if (err == 0) {
        diff->processes[diff->process_count] =
            (struct hs_diff_process){ .name_off = diff->text.bytes };
        hs_buf_str(&diff->text, name);
        hs_buf_char(&diff->text, '\0');
        *ret_idx = diff->process_count++;
        err = diff->text.err;
    }
    return err;
}

int hs_diff_add_processes(struct hs_diff *diff, enum hs_diff_side side,
                          const struct hs_selection *selection, size_t *capacity)
{
    struct hs_buf name = HS_BUF_INIT;
    enum hs_quantity quantity = hs_views[diff->view].quantity;
    int err = 0;
    for (uint32_t i = 0; i < selection->dump_count && err == 0; i++) {
        const struct hs_profile_dump *dump = &selection->profile->dumps[selection->dumps[i]];
        uint32_t idx = 0;
        name.bytes = 0;
        hs_describe_process(selection->profile, dump->process, &name);
        const char *text = hs_buf_text(&name);
        err = name.err ? name.err : find(diff, capacity, text, &idx);
        if (err == 0) {
            diff->processes[idx].counts[side]++;
            struct hs_amount part = hs_selection_part(selection, i,
                                                      quantity == HS_QUANTITY_LIVE    ? &dump->live
                                                      : quantity == HS_QUANTITY_ALLOC ? &dump->alloc
                                                                                      : &dump->peak,
                                                      &dump->inherited);
            hs_amount_add(&diff->processes[idx].total.by[side], &part);
        }
    }
    hs_buf_deinit(&name);
    return err;
}

struct ranked {
    double weight;
    struct hs_diff_process process;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    return x->process.name_off < y->process.name_off ? -1 : 1;
}

int hs_diff_sort_processes(struct hs_diff *diff)
{
    struct ranked *ranks = calloc(diff->process_count + 1u, sizeof(*ranks));
    if (!ranks) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < diff->process_count; i++) {
        struct hs_diff_change change = hs_diff_change_of(diff, &diff->processes[i].total);
        ranks[i] = (struct ranked){ fabs(change.delta), diff->processes[i] };
    }
    qsort(ranks, diff->process_count, sizeof(*ranks), compare_ranks);
    for (uint32_t i = 0; i < diff->process_count; i++) {
        diff->processes[i] = ranks[i].process;
    }
    free(ranks);
    return 0;
}

bool hs_diff_has_processes(const struct hs_diff *diff)
{
    uint32_t most = 0;
    for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < diff->process_count; i++) {
            count += diff->processes[i].counts[side];
        }
        most = count > most ? count : most;
    }
    return most > 1;
}
