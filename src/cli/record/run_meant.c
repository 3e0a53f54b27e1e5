/*
 * See run_meant.h.
 */
#include "cli/record/run_meant.h"

#include <stdlib.h>
#include <string.h>

#include "session/match.h"
#include "session/process_facts.h"
#include "util/array.h"

/* How many generations of forked parents are followed. */
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

/* The image of this process that began at `start_ns`; 0: its newest image. */
static struct hs_run_image *find_image(const struct hs_run_meant *meant, pid_t pid,
                                       uint64_t start_ns)
{
    for (size_t i = meant->image_count; i > 0; i--) {
        struct hs_run_image *image = &meant->images[i - 1];
        if (image->pid == pid && (start_ns == 0 || image->start_ns == start_ns)) {
            return image;
        }
    }
    return NULL;
}

static void keep_image(struct hs_run_meant *meant, const struct hs_run_image *image)
{
    struct hs_run_image *known = find_image(meant, image->pid, image->start_ns);
    if (known) {
        known->is_meant |= image->is_meant;
    } else if (hs_array_reserve(&meant->images, &meant->image_capacity, meant->image_count + 1,
                                sizeof(meant->images[0])) == 0) {
        meant->images[meant->image_count++] = *image;
    }
}

/* True: a process without a target is meant: it has ended, or has no heap of its own. */
static bool is_other_meant(const struct hs_run_meant *meant, pid_t pid)
{
    const struct hs_run_image *image = find_image(meant, pid, 0);
    struct hs_process_facts facts;
    if (image && pid != meant->program_pid) {
        return image->is_meant;
    }
    /* The program's last image is dumped last. If no image has been dumped, it is also the first
     * one. */
    return (!image && pid == meant->program_pid) ||
           (hs_process_facts_read(pid, &facts) == 0 && has_name(meant, &facts.facts));
}

/* True: the process is meant, although its first dump may be still to come. */
static bool is_pid_meant(const struct hs_run_meant *meant, pid_t pid)
{
    for (unsigned i = 0; pid > 0 && i < HS_ANCESTORS_MAX; i++) {
        const struct hs_target *target = hs_registry_find(meant->registry, pid);
        struct hs_process_facts facts;
        if (!target) {
            return is_other_meant(meant, pid);
        }
        const struct hs_run_image *image =
            find_image(meant, pid, target->region.header.start_mono_ns);
        hs_process_facts_of_target(target, &facts);
        if ((image && image->is_meant) || has_name(meant, &facts.facts)) {
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
    struct hs_run_image image = { .pid = (pid_t)snap->pid, .start_ns = snap->start_mono_ns };
    const struct hs_run_image *known = find_image(meant, image.pid, image.start_ns);
    image.is_meant = (known && known->is_meant) || is_image_meant(meant, snap);
    keep_image(meant, &image);
    return image.is_meant;
}

/* True: a forked child has another title than its parent began with. Each child has that one at
 * first, so it does not count. */
static bool has_own_title(const struct hs_target *target, const char *title)
{
    const struct hs_region_header_v2 *header = &target->region.header;
    char first[HS_FACTS_CMDLINE_BYTES];
    size_t bytes =
        header->cmdline_bytes < sizeof(first) ? header->cmdline_bytes : sizeof(first) - 1;
    if (hs_region_read(&target->region, HS_SECTION_BYTES, header->cmdline_off, bytes, first) < 0) {
        return false;
    }
    first[bytes] = '\0';
    return strcmp(first, title) != 0;
}

void hs_run_meant_look(struct hs_run_meant *meant, const struct hs_target *target)
{
    const struct hs_process_names *names = &target->process.names;
    const struct hs_match_facts facts = { .pid = target->process.pid,
                                          .cmdline = names->cmdline,
                                          .cmdline_bytes = names->cmdline_bytes,
                                          .comm = names->comm };
    char title[HS_FACTS_CMDLINE_BYTES];
    if (meant->names->count == 0 || target->region.header.forked_from_pid == 0 || !names->cmdline) {
        return;
    }
    hs_match_argument(names->cmdline, names->cmdline_bytes, 0, title, sizeof(title));
    if (has_own_title(target, title) && has_name(meant, &facts)) {
        keep_image(meant, &(struct hs_run_image){ .pid = target->process.pid,
                                                  .start_ns = target->region.header.start_mono_ns,
                                                  .is_meant = true });
    }
}

void hs_run_meant_deinit(struct hs_run_meant *meant)
{
    free(meant->images);
    *meant = (struct hs_run_meant){ .names = meant->names };
}
