/*
 * Writes the state as a trace into memory, and loads it: see watch_profile.h. Both are what a
 * snapshot of the process would go through.
 */
#include "watch/receive/watch_profile.h"

#include "profile/model/frame_types.h"
#include "profile/read/load.h"
#include "trace/trace_writer.h"
#include "util/buf.h"
#include "watch/receive/watched_types.h"

static int add_to_buf(void *ctx, const void *data, size_t bytes)
{
    struct hs_buf *out = ctx;
    hs_buf_add(out, data, bytes);
    return out->err;
}

static int write_trace(const struct hs_snapshot *snap, struct hs_watch_names *names,
                       struct hs_buf *out)
{
    const struct hs_trace_writer_config config = { .sink = add_to_buf,
                                                   .sink_ctx = out,
                                                   .name_frames =
                                                       names ? hs_watch_names_give : NULL,
                                                   .name_frames_ctx = names };
    struct hs_trace_writer *writer = NULL;
    int r = hs_trace_writer_new(&config, &writer);
    r = r < 0 ? r : hs_trace_writer_begin(writer);
    r = r < 0 ? r : hs_trace_writer_dump(writer, snap);
    r = r < 0 ? r : hs_trace_writer_finish(writer);
    hs_trace_writer_free(writer);
    return r;
}

int hs_watch_profile_make(const struct hs_watch_state *state, struct hs_watch_names *names,
                          struct hs_profile **ret_profile)
{
    struct hs_buf trace = HS_BUF_INIT;
    struct hs_profile *profile = NULL;
    int r = hs_watched_types_fill(state);
    r = r < 0 ? r : write_trace(state->snap, names, &trace);
    r = r != 0 ? r : hs_profile_load_memory(trace.data, trace.bytes, &profile, NULL);
    hs_buf_deinit(&trace);
    r = r != 0 ? r : hs_frame_types_apply(profile);
    if (r != 0) {
        hs_profile_free(profile);
        return r;
    }
    *ret_profile = profile;
    return 0;
}

int hs_watch_profile_of_ledger(const struct hs_watch_state *state, struct hs_profile **ret_profile)
{
    struct hs_buf trace = HS_BUF_INIT;
    struct hs_snapshot snap = *state->snap; /* the same without what is large */
    snap.stack_count = snap.frame_count = snap.code_name_count = snap.type_count = 0;
    snap.part_count[HS_PARTS_LIVE] = 0;
    snap.module_count = snap.module_count > 0;
    snap.has_types = false;
    int r = write_trace(&snap, NULL, &trace);
    r = r != 0 ? r : hs_profile_load_memory(trace.data, trace.bytes, ret_profile, NULL);
    hs_buf_deinit(&trace);
    return r;
}
