/*
 * The messages of `run`: see run_words.h.
 */
#include "cli/record/run_words.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/empty_words.h"
#include "cli/message.h"
#include "cli/preflight_words.h"
#include "cli/read/profile_file.h"
#include "profile/read/load.h"
#include "util/buf.h"
#include "view/report.h"

#define HS_SUMMARY_FRAMES 6

int hs_run_words_refuse(const char *program, const struct hs_preflight *preflight)
{
    struct hs_preflight_words words;
    if (!hs_preflight_words(program, preflight, &words)) {
        return -1;
    }
    hs_message("%s%s%s", words.what, words.remedy ? "; " : "", words.remedy ? words.remedy : "");
    return words.status;
}

static void say_nothing_recorded(const char *program)
{
    hs_message(
        "%s: nothing was recorded: no process has announced itself to heapscope\n"
        "That happens when the program ends at once, when its environment is cleared on the\n"
        "way (env -i, sudo), when it runs in a container with its own network, or when\n"
        "heapscope is permitted too few open files (ulimit -n).",
        program);
}

void hs_run_words_gaps(const char *program, const struct hs_program_run_result *result,
                       bool is_one_told)
{
    if (result->image_count == 0 && result->bad_count == 0) {
        say_nothing_recorded(program);
    } else if (!result->has_root_image) {
        hs_message("%s itself was not recorded; only programs that it started were", program);
    }
    if (result->image_count > 0 && result->has_silent_children) {
        hs_message_info("%s started other processes, and nothing was recorded of them: they "
                        "allocated nothing, or are statically linked, 32-bit, musl or set-user-id "
                        "programs, or had no LD_PRELOAD in their environment",
                        program);
    }
    if (result->own_malloc_count > is_one_told) {
        hs_message("%llu of %llu programs contain their own malloc, whose allocations are not in "
                   "the profile%s%s",
                   (unsigned long long)result->own_malloc_count,
                   (unsigned long long)result->image_count, result->own_malloc_why[0] ? ": " : "",
                   result->own_malloc_why);
    }
    if (result->bad_count > 0) {
        hs_message("%llu process%s could not be read and %s missing: %s",
                   (unsigned long long)result->bad_count, result->bad_count == 1 ? "" : "es",
                   result->bad_count == 1 ? "is" : "are",
                   result->bad_why ? result->bad_why : "unknown reason");
    }
    if (result->unseen_count > 0) {
        hs_message_info("%llu process%s ended before recording had begun",
                        (unsigned long long)result->unseen_count,
                        result->unseen_count == 1 ? "" : "es");
    }
    if (result->stranger_count > 0) {
        hs_message("%llu process%s of other users asked to be recorded, and %s refused",
                   (unsigned long long)result->stranger_count,
                   result->stranger_count == 1 ? "" : "es",
                   result->stranger_count == 1 ? "was" : "were");
    }
    if (result->running_count > 0) {
        bool is_one = result->running_count == 1;
        hs_message_info("%llu process%s %s still running; %s heap is recorded as it was when %s",
                        (unsigned long long)result->running_count, is_one ? "" : "es",
                        result->is_time_over ? (is_one ? "was" : "were") : (is_one ? "is" : "are"),
                        is_one ? "its" : "their",
                        result->is_time_over ? "the time of --duration was over"
                                             : "the program ended");
    }
}

void hs_run_words_summary(const char *trace_path, const char *file, uint32_t stack_count)
{
    struct hs_profile *profile = NULL;
    struct hs_buf text = HS_BUF_INIT;
    const struct hs_report_options options = {
        .view = HS_VIEW_AUTO,
        .top_count = stack_count,
        .stack_count = stack_count,
        .frame_count = HS_SUMMARY_FRAMES,
        .select = { .snapshot = HS_SELECT_LAST },
        .columns = hs_args_columns(STDERR_FILENO),
        .has_colour = isatty(STDERR_FILENO) == 1,
        .file = file,
    };
    int r = hs_profile_load(trace_path, &profile, NULL);
    if (r == 0 && profile->heap_count > 0) {
        hs_profile_file_choose_heaps(file, profile, NULL, NULL);
    }
    if (r == 0) {
        r = hs_report_write_summary(profile, &options, &text);
    }
    if (r == 0) {
        fputc('\n', stderr);
        fwrite(text.data, 1, text.bytes, stderr);
        fputc('\n', stderr);
        fflush(stderr);
    } else if (r < 0) {
        hs_message("no summary: %s", strerror(-r));
    }
    if (profile) {
        hs_empty_words_say(profile, HS_EMPTY_ASKED);
    }
    hs_buf_deinit(&text);
    hs_profile_free(profile);
}
