/*
 * See symbolize_trace.h. Nothing is written before all names are found, so that a failure leaves no
 * half of the packets.
 */
#include "cli/read/symbolize_trace.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read/profile_file.h"
#include "cli/read/symbol_append.h"
#include "profile/read/load.h"
#include "trace/trace_input.h"
#include "util/human.h"

/* Writes to the output through hs_output_write(). */
static int fill(void *ctx, struct hs_buf *buf)
{
    return hs_symbol_append_fill(ctx, buf);
}

static void say_done(const char *name, const struct hs_symbol_append *found)
{
    char named[HS_HUMAN_BYTES], all[HS_HUMAN_BYTES], new[HS_HUMAN_BYTES], other[HS_HUMAN_BYTES];
    const struct hs_nameless_frames *frames = &found->frames;
    hs_human_exact(named, frames->named_count + found->new_count);
    hs_human_exact(all, frames->frame_count);
    hs_human_exact(new, found->new_count);
    hs_human_exact(other, frames->run_time_count);
    bool has_other = frames->run_time_count > 0;
    hs_message_info("%s: %s of %s frames have names, %s of them from this call%s%s%s", name, named,
                    all, new, has_other ? "; " : "", has_other ? other : "",
                    has_other ? " more are not code of a file, and have no name" : "");
}

static void say_damage(const char *name, const struct hs_trace_damage *damage)
{
    if (damage->is_truncated || damage->bad_packet_count > 0 || damage->skipped_bytes > 0 ||
        damage->has_bad_compression || damage->is_too_big) {
        hs_message("%s is damaged: names are looked up for what could be read", name);
    }
}

/* Writes the packets. Returns the exit status. */
static int write_found(const char *name, const char *output, struct hs_symbol_append *found)
{
    const struct hs_nameless_frames *frames = &found->frames;
    bool is_named = frames->named_count == frames->frame_count;
    say_damage(name, &frames->damage);
    hs_symbol_append_say_missing(found);
    say_done(name, found);
    if (!is_named && !hs_symbol_append_has_packets(found)) {
        hs_message("%s: no frame got a name: nothing is written", name);
        return HS_EXIT_STATUS_FAILED;
    }
    return hs_output_end(output, hs_output_write(output, fill, found, NULL));
}

int hs_symbolize_trace(const char *path, struct hs_trace_input *input, const char *output)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    struct hs_name_sources sources;
    struct hs_symbol_append found = { 0 };
    struct hs_load_report report = { 0 };
    int status, err = hs_symbol_sources_read(&sources);
    if (err != 0) {
        hs_trace_input_deinit(input);
        return hs_profile_file_fail(path, err, &report);
    }
    err = hs_symbol_append_find(path, input, &sources, &found);
    status = err ? hs_profile_file_fail(path, err, &report) : write_found(name, output, &found);
    hs_symbol_append_deinit(&found);
    hs_name_sources_deinit(&sources);
    return status;
}
