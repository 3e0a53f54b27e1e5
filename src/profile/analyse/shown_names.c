/*
 * See shown_names.h. Frames may share lines, which are changed once.
 */
#include "profile/analyse/shown_names.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/model/profile_strings.h"
#include "util/buf.h"
#include "util/cxx_name.h"

struct renaming {
    struct hs_profile *p;
    const struct hs_shown_names *how;
    struct hs_profile_strings strings;
    bool *is_done; /* by line */
};

static const char *mark_of(const struct hs_profile_frame *frame, bool is_inlined)
{
    return is_inlined                                 ? " [inlined]"
           : frame->kind == HS_FRAME_KIND_JIT         ? " [jit]"
           : frame->kind == HS_FRAME_KIND_INTERPRETED ? " [interp]"
                                                      : "";
}

static int change(struct renaming *renaming, const struct hs_profile_frame *frame, bool is_inlined,
                  uint32_t *name)
{
    struct hs_buf text = HS_BUF_INIT;
    const char *old = hs_profile_string(renaming->p, *name);
    if (old[0] == '\0' || frame->kind == HS_FRAME_KIND_MARKER) {
        return 0;
    }
    if (renaming->how->is_short) {
        hs_cxx_write_short(&text, old);
    } else {
        hs_buf_str(&text, old);
    }
    hs_buf_str(&text, renaming->how->has_annotations ? mark_of(frame, is_inlined) : "");
    int err =
        text.err ? text.err : hs_profile_strings_put(&renaming->strings, hs_buf_text(&text), name);
    hs_buf_deinit(&text);
    return err;
}

static int change_frame(struct renaming *renaming, struct hs_profile_frame *frame)
{
    struct hs_profile *p = renaming->p;
    int err = frame->line_count == 0 ? change(renaming, frame, false, &frame->name) : 0;
    for (uint32_t i = 0; i < frame->line_count && err == 0; i++) {
        uint32_t line = frame->line_first + i;
        if (!renaming->is_done[line]) {
            renaming->is_done[line] = true;
            err = change(renaming, frame, i + 1 < frame->line_count, &p->lines[line].function);
        }
    }
    return err;
}

int hs_shown_names_apply(struct hs_profile *profile, const struct hs_shown_names *how)
{
    struct renaming renaming = { .p = profile, .how = how };
    if (!how->is_short && !how->has_annotations) {
        return 0;
    }
    renaming.is_done = calloc(profile->line_count + 1u, sizeof(bool));
    int err = renaming.is_done ? 0 : -ENOMEM;
    err = err ? err : hs_profile_strings_init(&renaming.strings, profile);
    for (uint32_t i = 0; i < profile->frame_count && err == 0; i++) {
        err = change_frame(&renaming, &profile->frames[i]);
    }
    hs_profile_strings_deinit(&renaming.strings);
    free(renaming.is_done);
    return err;
}
