/*
 * See family.h.
 */
#include "profile/model/family.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/intern.h"

struct kin {
    const struct hs_profile *profile;
    struct hs_intern pids;
    uint32_t *family_of_pid; /* by the id of a pid: the family of the last process with this pid */
    size_t capacity;
};

static int compare_starts(const void *a, const void *b, void *ctx)
{
    const struct hs_profile *p = ctx;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (p->processes[x].start_ns != p->processes[y].start_ns) {
        return p->processes[x].start_ns < p->processes[y].start_ns ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

/* The element with the family of a pid; a new one is set to `family`. NULL: memory is short. */
static uint32_t *at_pid(struct kin *kin, uint32_t pid, uint32_t family)
{
    uint32_t id;
    bool is_new;
    if (hs_intern_put(&kin->pids, (struct hs_intern_key){ .lo = pid }, &id, &is_new) < 0 ||
        hs_array_reserve(&kin->family_of_pid, &kin->capacity, (size_t)id + 1,
                         sizeof(*kin->family_of_pid)) < 0) {
        return NULL;
    }
    if (is_new) {
        kin->family_of_pid[id] = family;
    }
    return &kin->family_of_pid[id];
}

/*
 * True when it began with no sample of its parent. It then shares no sample with any relative,
 * except with those that it forks.
 */
static bool is_unrelated(const struct hs_profile *p, uint32_t process)
{
    uint32_t last = p->processes[process].last_dump;
    const struct hs_profile_dump *dump = last < p->dump_count ? &p->dumps[last] : NULL;
    return dump && dump->is_inherited_known && !(dump->inherited.bytes > 0);
}

static int find(struct kin *kin, enum hs_kinship kinship, const uint32_t *order, uint32_t *families)
{
    const struct hs_profile *p = kin->profile;
    for (uint32_t i = 0; i < p->process_count; i++) {
        uint32_t process = order[i];
        uint32_t parent_pid = p->processes[process].forked_from_pid;
        uint32_t *parent = parent_pid ? at_pid(kin, parent_pid, process) : NULL;
        if (parent_pid && !parent) {
            return -ENOMEM;
        }
        /* Children of one process are a family even when that process is not in the profile. */
        bool is_kin = parent && (kinship == HS_KINSHIP_DESCENT || !is_unrelated(p, process));
        families[process] = is_kin ? *parent : process;
        uint32_t *own = at_pid(kin, p->processes[process].pid, process);
        if (!own) {
            return -ENOMEM;
        }
        *own = families[process];
    }
    return 0;
}

int hs_family_find(const struct hs_profile *profile, enum hs_kinship kinship,
                   uint32_t **ret_families)
{
    struct kin kin = { .profile = profile };
    uint32_t *order = calloc(profile->process_count + 1u, sizeof(*order));
    uint32_t *families = calloc(profile->process_count + 1u, sizeof(*families));
    int err = order && families ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < profile->process_count && err == 0; i++) {
        order[i] = i;
    }
    if (err == 0) {
        qsort_r(order, profile->process_count, sizeof(*order), compare_starts,
                (void *)(uintptr_t)profile);
        err = find(&kin, kinship, order, families);
    }
    hs_intern_deinit(&kin.pids);
    free(kin.family_of_pid);
    free(order);
    if (err < 0) {
        free(families);
        return err;
    }
    *ret_families = families;
    return 0;
}
