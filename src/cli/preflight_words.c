/*
 * The text of a refusal: see preflight_words.h.
 */
#include "cli/preflight_words.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"

#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND      127

/* The message is "PROGRAM before DETAIL after". */
struct refusal {
    const char *before, *after;
    const char *remedy;
};

static const struct refusal refusals[] = {
    [HS_PREFLIGHT_STATIC] = { "is statically linked, so the dynamic loader cannot load heapscope's "
                              "library, and nothing could be recorded",
                              "", "link it dynamically to profile it" },
    [HS_PREFLIGHT_SECURE] = { "is ",
                              ", so the dynamic loader ignores LD_PRELOAD, and nothing could be "
                              "recorded",
                              "run heapscope as the user that the program runs as, or profile a "
                              "copy without these privileges" },
    [HS_PREFLIGHT_32BIT] = { "is a 32-bit program, and heapscope can profile only 64-bit programs",
                             "", "build it for 64 bits" },
    [HS_PREFLIGHT_OTHER_MACHINE] = { "is a program for another processor, and heapscope can "
                                     "profile only native programs",
                                     "", "build it for this machine" },
    [HS_PREFLIGHT_MUSL] = { "uses the musl C library, and heapscope's library needs glibc", "",
                            "build it for glibc to profile it" },
    [HS_PREFLIGHT_SANITIZER] = { "is built with ",
                                 ", whose malloc cannot be replaced, so nothing could be recorded",
                                 "build it without the sanitizer to profile it" },
};

/* What the verdict is about: "x" or, when it is a script, "x: its interpreter y". */
static void name_subject(const char *program, const struct hs_preflight *preflight, char *text,
                         size_t text_bytes)
{
    if (preflight->is_script) {
        snprintf(text, text_bytes, "%s: its interpreter %s", program, preflight->elf);
    } else {
        snprintf(text, text_bytes, "%s", program);
    }
}

static void say_refusal(const char *subject, const struct hs_preflight *preflight,
                        struct hs_preflight_words *words)
{
    const char *detail = preflight->verdict == HS_PREFLIGHT_SECURE      ? preflight->rights
                         : preflight->verdict == HS_PREFLIGHT_SANITIZER ? preflight->sanitizer
                                                                        : "";
    const struct refusal *refusal = &refusals[preflight->verdict];
    snprintf(words->what, sizeof(words->what), "%s %s%s%s", subject, refusal->before, detail,
             refusal->after);
    words->remedy = refusal->remedy;
    words->status = HS_EXIT_STATUS_FAILED;
}

bool hs_preflight_words(const char *program, const struct hs_preflight *preflight,
                        struct hs_preflight_words *ret_words)
{
    char subject[2 * PATH_MAX];
    name_subject(program, preflight, subject, sizeof(subject));
    ret_words->remedy = NULL;
    switch (preflight->verdict) {
    case HS_PREFLIGHT_GO:
        return false;
    case HS_PREFLIGHT_MISSING:
        snprintf(ret_words->what, sizeof(ret_words->what), "%s: %s", program,
                 strchr(program, '/') ? "no such program" : "no such program in PATH");
        ret_words->status = STATUS_NOT_FOUND;
        return true;
    case HS_PREFLIGHT_NOT_EXECUTABLE:
        snprintf(ret_words->what, sizeof(ret_words->what),
                 "%s is not an executable file, or you have no permission to execute it",
                 preflight->path);
        ret_words->status = STATUS_NOT_EXECUTABLE;
        return true;
    case HS_PREFLIGHT_NO_INTERPRETER:
        snprintf(ret_words->what, sizeof(ret_words->what),
                 "%s does not exist, or you have no permission to execute it", subject);
        ret_words->status = STATUS_NOT_EXECUTABLE;
        return true;
    default:
        say_refusal(subject, preflight, ret_words);
        return true;
    }
}
