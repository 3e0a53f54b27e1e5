/*
 * The words of `run`: see run_words.h.
 */
#include "cli/run_words.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "profile/load.h"
#include "util/buf.h"
#include "view/report.h"

#define HS_STATUS_NOT_EXECUTABLE 126
#define HS_STATUS_NOT_FOUND      127
#define HS_SUMMARY_FRAMES        6

/* "x" or, when it is a script, "x (a script for y)": what the verdict is about. */
static const char *name_subject(const char *program, const struct hs_preflight *preflight,
                                char *text, size_t text_bytes)
{
    if (preflight->is_script) {
        snprintf(text, text_bytes, "%s: its interpreter %s", program, preflight->elf);
    } else {
        snprintf(text, text_bytes, "%s", program);
    }
    return text;
}

int hs_run_words_refuse(const char *program, const struct hs_preflight *preflight)
{
    char text[2 * PATH_MAX];
    const char *subject = name_subject(program, preflight, text, sizeof(text));
    switch (preflight->verdict) {
    case HS_PREFLIGHT_GO:
        return -1;
    case HS_PREFLIGHT_MISSING:
        hs_message("%s: %s", program,
                   strchr(program, '/') ? "no such program" : "no such program in PATH");
        return HS_STATUS_NOT_FOUND;
    case HS_PREFLIGHT_NOT_EXECUTABLE:
        hs_message("%s: not a program that may be executed", preflight->path);
        return HS_STATUS_NOT_EXECUTABLE;
    case HS_PREFLIGHT_NO_INTERPRETER:
        hs_message("%s is missing, or may not be executed", subject);
        return HS_STATUS_NOT_EXECUTABLE;
    case HS_PREFLIGHT_STATIC:
        hs_message(
            "%s is statically linked, so the dynamic loader cannot bring in the recorder, and "
            "nothing could be recorded; link it dynamically to profile it",
            subject);
        return HS_EXIT_STATUS_FAILED;
    case HS_PREFLIGHT_SECURE:
        hs_message("%s is %s, so the dynamic loader ignores LD_PRELOAD, and nothing could be "
                   "recorded; run heapscope as the user it runs as, or profile a copy without "
                   "that mark",
                   subject, preflight->rights);
        return HS_EXIT_STATUS_FAILED;
    case HS_PREFLIGHT_32BIT:
        hs_message("%s is a 32-bit program; only 64-bit ones can be profiled", subject);
        return HS_EXIT_STATUS_FAILED;
    case HS_PREFLIGHT_OTHER_MACHINE:
        hs_message("%s is a program for another processor; only native ones can be profiled",
                   subject);
        return HS_EXIT_STATUS_FAILED;
    case HS_PREFLIGHT_MUSL:
        hs_message("%s uses the musl C library; the recorder needs glibc", subject);
        return HS_EXIT_STATUS_FAILED;
    case HS_PREFLIGHT_SANITIZER:
        hs_message("%s is built with %s, whose malloc bears no other before it, so nothing could "
                   "be recorded; build it without the sanitizer to profile it",
                   subject, preflight->sanitizer);
        return HS_EXIT_STATUS_FAILED;
    }
    return -1;
}

static void say_nothing_recorded(const char *program)
{
    hs_message(
        "%s: nothing was recorded: no process brought in the recorder\n"
        "That happens when the program is ended at once, when its environment is cleared on the\n"
        "way (env -i, sudo), or when it runs in a container with a network of its own.",
        program);
}

void hs_run_words_gaps(const char *program, const struct hs_collector_result *result,
                       bool is_own_malloc_known)
{
    if (result->image_count == 0 && result->bad_count == 0) {
        say_nothing_recorded(program);
    } else if (!result->has_root_image) {
        hs_message("%s itself was not recorded, only programs that it started", program);
    }
    if (result->own_malloc_count > 0 && !is_own_malloc_known) {
        hs_message(
            "%llu of %llu programs carry a malloc of their own: what they allocate with it is "
            "not in the profile",
            (unsigned long long)result->own_malloc_count, (unsigned long long)result->image_count);
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
        hs_message_info("%llu process%s still run%s; %s heap is recorded as it was when %s ended",
                        (unsigned long long)result->running_count,
                        result->running_count == 1 ? "" : "es",
                        result->running_count == 1 ? "s" : "",
                        result->running_count == 1 ? "its" : "their", program);
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
    hs_buf_deinit(&text);
    hs_profile_free(profile);
}
