/*
 * Walks that join a recorded one on their way. See replay.h.
 */
#include <string.h>

#include "unwind/replay_record.h"
#include "unwind/walker.h"

static const uint8_t stops[HS_CHECKPOINTS_MAX] = { 4, 8, 16, 32 };

/* The trunk may be another than the one the place was written for: then it has no such point. */
static const struct record_point *find_point(struct record *trunk,
                                             const struct hs_walk_checkpoint *here)
{
    const struct record_point *points = record_points(trunk);
    for (uint32_t i = 0; i < trunk->point_count; i++) {
        if (points[i].pc == here->pc && trunk->sp + points[i].sp_off == here->sp) {
            return &points[i];
        }
    }
    return NULL;
}

static bool is_same_from(const struct hs_replay *replay, struct record *trunk,
                         const struct record_point *point, struct hs_stack_window *window)
{
    uint64_t sp = trunk->sp + point->sp_off;
    struct record *other;
    uint32_t group;
    return hs_stack_window_has(window, trunk->sp + trunk->top_off) && sp >= window->lo_va &&
           record_chain_matches(replay, trunk, point->group, window->shift, &other, &group);
}

/* The frames of the trunk from frame_idx on, and of those behind it. */
static bool append_frames(struct hs_walker *w, const struct hs_replay *replay, struct record *trunk,
                          uint32_t frame_idx)
{
    uint32_t *frames = w->walk->frames, count = w->out_idx;
    for (;;) {
        uint32_t own_count = (uint32_t)trunk->frame_count - frame_idx;
        if (own_count > HS_FRAMES_KEPT - count) {
            return false;
        }
        memcpy(frames + count, record_frames(trunk) + frame_idx, own_count * sizeof(frames[0]));
        count += own_count;
        if (trunk->trunk_at == 0) {
            break;
        }
        frame_idx = trunk->trunk_frame;
        trunk = record_at(replay, trunk->trunk_at);
    }
    w->out_idx = count;
    w->count = count;
    return true;
}

/* At a checkpoint just made: does a trunk know the rest? */
static bool join(struct hs_replay *replay, struct hs_walker *w)
{
    struct hs_walk *walk = w->walk;
    struct hs_walk_checkpoint *here = &walk->checkpoints[walk->checkpoint_count - 1];
    uint64_t hash = replay_hash(here->pc, here->sp);
    const struct hs_replay_point *place = point_place(replay, hash);
    if (place->at == 0 || place->tag != (uint32_t)hash) {
        return false;
    }
    struct record *trunk = record_at(replay, place->at);
    const struct record_point *point = find_point(trunk, here);
    if (!point || trunk->generation != w->secret || (point->has_used_bp && point->bp != here->bp) ||
        !is_same_from(replay, trunk, point, w->reader.window) ||
        !append_frames(w, replay, trunk, point->frame_idx)) {
        return false;
    }
    w->reader.top_va = trunk->sp + trunk->top_off + 8;
    walk->end = HS_UNWIND_END;
    walk->join = (struct hs_walk_join){ .at = place->at,
                                        .serial = trunk->serial,
                                        .group = point->group,
                                        .frame_idx = point->frame_idx,
                                        .depth = trunk->depth };
    here->has_used_bp = point->has_used_bp;
    return true;
}

void hs_replay_walk(struct hs_replay *replay, const struct hs_unwinder *unwinder,
                    const struct hs_regs *start, struct hs_stack_window *window,
                    uint64_t generation, struct hs_walk *ret_walk)
{
    struct hs_walker w;
    hs_walker_start(&w, unwinder, start, false, window, ret_walk);
    /* If modules have changed this instant, nothing known is of use. */
    bool goes_on = true, may_join = w.secret == generation;
    for (uint32_t i = 0; i < HS_COUNT_OF(stops) && goes_on && may_join; i++) {
        goes_on = hs_walker_run(&w, stops[i]) && !(hs_walker_checkpoint(&w) && join(replay, &w));
    }
    if (goes_on && hs_walker_run(&w, HS_FRAMES_WALK_MAX)) {
        ret_walk->end = HS_UNWIND_TOO_DEEP;
    }
    hs_walker_finish(&w);
}
