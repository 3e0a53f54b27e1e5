/*
 * See run_meant.h.
 */
#include "cli/run_meant.h"

#include <stdlib.h>

#include "session/match.h"
#include "session/process_facts.h"
#include "util/array.h"

/* Of a process whose parent only forked, as its parent did, and so on. */
#define HS_ANCESTORS_MAX 64

static bool has_name(const struct hs_run_meant *meant, const struct hs_match_facts *facts)
{
    for (size_t i = 0; i < meant->names->count; i++) {
        if (hs_match_name(meant->names->items[i], facts)) {
            return true;
        }
    }
    return false;
}

/* The newest image of this process that was dumped. */
static struct hs_run_image *find_image(const struct hs_run_meant *meant, pid_t pid)
{
    for (size_t i = meant->image_count; i > 0; i--) {
        if (meant->images[i - 1].pid == pid) {
            return &meant->images[i - 1];
        }
    }
    return NULL;
}

/* A process that does not run any more, or has no heap of its own. */
static bool is_other_meant(const struct hs_run_meant *meant, pid_t pid)
{
    const struct hs_run_image *image = find_image(meant, pid);
    struct hs_process_facts facts;
    if (image && pid != meant->program_pid) {
        return image->is_meant;
    }
    /* The program's last image is dumped last. It is the first one, too, if none has been dumped. */
    return (!image && pid == meant->program_pid) ||
           (hs_process_facts_read(pid, &facts) == 0 && has_name(meant, &facts.facts));
}

/* Is a process meant whose first dump may be still to come? */
static bool is_pid_meant(const struct hs_run_meant *meant, pid_t pid)
{
    for (unsigned i = 0; pid > 0 && i < HS_ANCESTORS_MAX; i++) {
        const struct hs_target *target = hs_registry_find(meant->registry, pid);
        const struct hs_run_image *image = find_image(meant, pid);
        struct hs_process_facts facts;
        if (!target) {
            return is_other_meant(meant, pid);
        }
        hs_process_facts_of_target(target, &facts);
        if ((image && !image->has_ended && image->is_meant) || has_name(meant, &facts.facts)) {
            return true;
        }
        pid = (pid_t)target->region.header.forked_from_pid;
    }
    return false;
}

static bool is_image_meant(const struct hs_run_meant *meant, const struct hs_snapshot *snap)
{
    const struct hs_match_facts facts = { .pid = (pid_t)snap->pid,
                                          .cmdline = snap->cmdline,
                                          .cmdline_bytes = snap->cmdline_bytes,
                                          .comm = snap->comm };
    return has_name(meant, &facts) ||
           (meant->has_forks && is_pid_meant(meant, (pid_t)snap->forked_from_pid));
}

bool hs_run_meant_has(struct hs_run_meant *meant, const struct hs_snapshot *snap)
{
    if (meant->names->count == 0) {
        return true;
    }
    struct hs_run_image *image = find_image(meant, (pid_t)snap->pid);
    bool is_meant = image && !image->has_ended && image->is_meant;
    is_meant = is_meant || is_image_meant(meant, snap);
    if ((!image || image->has_ended) &&
        hs_array_reserve(&meant->images, &meant->image_capacity, meant->image_count + 1,
                         sizeof(meant->images[0])) == 0) {
        image = &meant->images[meant->image_count++];
        *image = (struct hs_run_image){ .pid = (pid_t)snap->pid, .has_ended = true };
    }
    if (image) {
        image->is_meant = is_meant;
        image->has_ended = snap->is_final;
    }
    return is_meant;
}

void hs_run_meant_deinit(struct hs_run_meant *meant)
{
    free(meant->images);
    *meant = (struct hs_run_meant){ .names = meant->names };
}
