/*
 * See cut_modules.h.
 */
#include "profile/model/cut_modules.h"

#include "rt/base.h"
#include "rt/text.h"
#include "util/buf.h"

static const struct {
    const char *name, *text;
} reasons[HS_UNWIND_REASON_N] = {
    [HS_UNWIND_REASON_NONE] = { "unknown", "it has no unwind information for this code" },
    [HS_UNWIND_REASON_ABSENT] = { "absent",
                                  "neither it nor a debug file has unwind information for this "
                                  "code" },
    [HS_UNWIND_REASON_OTHER_BUILD] = { "other_build",
                                       "the debug file that was found is that of another build" },
    [HS_UNWIND_REASON_TOO_LARGE] = { "too_large",
                                     "its unwind information is larger than heapscope reads" },
    [HS_UNWIND_REASON_UNREADABLE] = { "unreadable",
                                      "its file was deleted or replaced, or may not be read" },
    [HS_UNWIND_REASON_BROKEN] = { "broken", "its unwind information makes no sense" },
    [HS_UNWIND_REASON_SLOW] = { "not_read", "heapscope had not read its files in time" },
    [HS_UNWIND_REASON_LATE] = { "late",
                                "its unwind information is in a file; these stacks are from before "
                                "heapscope had read that, or end in code that it does not cover" },
    [HS_UNWIND_REASON_JIT] = { "jit", "code made at run time has no unwind information" },
};

const char *hs_cut_reason_name(uint8_t reason)
{
    return reasons[reason < HS_UNWIND_REASON_N ? reason : HS_UNWIND_REASON_NONE].name;
}

const char *hs_cut_reason_text(uint8_t reason)
{
    return reasons[reason < HS_UNWIND_REASON_N ? reason : HS_UNWIND_REASON_NONE].text;
}

/* Is it a file that a package of the system has installed? */
static bool is_of_system(const char *path)
{
    static const char *const folders[] = { "/usr/lib/", "/lib/",  "/lib64/",    "/usr/bin/",
                                           "/bin/",     "/sbin/", "/usr/sbin/", "/usr/libexec/" };
    for (size_t i = 0; i < HS_COUNT_OF(folders); i++) {
        if (hs_text_starts_with(path, folders[i])) {
            return true;
        }
    }
    return false;
}

void hs_cut_write_remedy(uint8_t reason, const char *path, struct hs_buf *buf)
{
    switch (reason) {
    case HS_UNWIND_REASON_LATE:
        hs_buf_str(buf, "'heapscope attach' reads it before it records");
        break;
    case HS_UNWIND_REASON_JIT:
        hs_buf_str(buf, "have the runtime keep frame pointers (java: -XX:+PreserveFramePointer)");
        break;
    case HS_UNWIND_REASON_OTHER_BUILD:
        hs_buf_str(buf, is_of_system(path) ? "install the debug package of the version that runs"
                                           : "put the debug file of this build in its place");
        break;
    case HS_UNWIND_REASON_UNREADABLE:
        hs_buf_str(buf, "restart the program, so that its file is the one that it runs");
        break;
    case HS_UNWIND_REASON_SLOW:
        hs_buf_str(buf, "record for longer, or with 'heapscope attach'");
        break;
    default:
        if (is_of_system(path)) {
            hs_buf_str(buf, "install its debug package (Debian: the package's name with -dbgsym), "
                            "or build it with -fasynchronous-unwind-tables");
        } else {
            hs_buf_str(buf, "build it with -fasynchronous-unwind-tables, or name the folder with "
                            "its debug file in PERFETTO_BINARY_PATH");
        }
    }
}
