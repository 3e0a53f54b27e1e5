/*
 * Looks up and keeps names: see watch_names.h.
 */
#include "watch/receive/watch_names.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/clock.h"
#include "symbol/target_files.h"
#include "util/array.h"
#include "util/proc.h"

/* Frames whose names are looked up at once. */
#define AT_ONCE 65536U

static bool wants_name(const struct hs_watch_names *names, const struct hs_snapshot *snap,
                       uint32_t id)
{
    return !names->list[id].is_looked_up &&
           !(snap->frames[id].flags & (HS_FRAME_MARKER | HS_FRAME_NAMED));
}

/* Opens the files of the process: it may be in a container. */
static void look_at_files(struct hs_watch_names *names, const struct hs_snapshot *snap)
{
    struct hs_proc_status status;
    pid_t pid = (pid_t)snap->pid;
    if (pid > 0 && hs_proc_read_status(pid, &status) == 0) {
        hs_target_files_look(&names->files, pid, status.uid.effective, true);
    }
    names->finder.files = names->files;
}

static char *copy_of(const char *text)
{
    return text && text[0] ? strdup(text) : NULL;
}

static void keep(struct hs_watch_names *names, const uint32_t *ids, size_t count,
                 const struct hs_trace_frame_name *found)
{
    for (size_t i = 0; i < count; i++) {
        names->list[ids[i]] = (struct hs_watch_name){ .function = copy_of(found[i].function),
                                                      .file = copy_of(found[i].file),
                                                      .line = found[i].line,
                                                      .is_looked_up = true };
    }
}

bool hs_watch_names_look_up(struct hs_watch_names *names, const struct hs_snapshot *snap)
{
    size_t count = 0;
    if (snap->frame_count == 0 || hs_clock_ns(CLOCK_MONOTONIC) < names->finder.next_ns ||
        hs_array_reserve_zeroed(&names->list, &names->capacity, snap->frame_count,
                                sizeof(names->list[0])) < 0) {
        return false;
    }
    names->count = snap->frame_count;
    uint32_t *ids = calloc(AT_ONCE, sizeof(*ids));
    struct hs_trace_frame_name *found = calloc(AT_ONCE, sizeof(*found));
    for (uint32_t i = 0; ids && found && i < snap->frame_count && count < AT_ONCE; i++) {
        if (wants_name(names, snap, i)) {
            ids[count++] = i;
        }
    }
    if (count > 0) {
        look_at_files(names, snap);
        hs_frame_names_find(&names->finder, snap, ids, count, found);
        keep(names, ids, count, found);
    }
    free(ids);
    free(found);
    return count > 0;
}

void hs_watch_names_give(void *ctx, const struct hs_snapshot *snap, const uint32_t *frame_ids,
                         size_t count, struct hs_trace_frame_name *ret_names)
{
    const struct hs_watch_names *names = ctx;
    (void)snap;
    for (size_t i = 0; i < count; i++) {
        if (frame_ids[i] < names->count && names->list[frame_ids[i]].function) {
            const struct hs_watch_name *name = &names->list[frame_ids[i]];
            ret_names[i] = (struct hs_trace_frame_name){ name->function, name->file, name->line };
        }
    }
}

void hs_watch_names_deinit(struct hs_watch_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->list[i].function);
        free(names->list[i].file);
    }
    free(names->list);
    hs_frame_names_deinit(&names->finder);
    hs_target_files_free(names->files);
    *names = (struct hs_watch_names){ .count = 0 };
}
