/*
 * See watch_event_classes.h.
 */
#include "cli/ui/watch_event_classes.h"

#include <stddef.h>

#include "profile/model/runtime_frames.h"

/* NULL: the frame has no name of its own. */
static const struct hs_snap_code_name *code_name_of(const struct hs_snapshot *snap,
                                                    const struct hs_snap_frame *frame)
{
    bool is_named = (frame->flags & HS_FRAME_NAMED) && frame->pc < snap->code_name_count;
    return is_named ? &snap->code_names[frame->pc] : NULL;
}

bool hs_event_classes_note(uint32_t *languages, const struct hs_snapshot *snap,
                           const struct hs_snap_frame *frame)
{
    const struct hs_snap_code_name *name = code_name_of(snap, frame);
    uint32_t bit = name ? UINT32_C(1) << name->language : 0;
    bool is_new = (bit & ~*languages) != 0;
    *languages |= bit;
    return is_new;
}

static bool is_of_runtime(uint32_t languages, const char *module_path)
{
    for (uint32_t language = 0; language < HS_LANGUAGE_N; language++) {
        if ((languages >> language & 1) &&
            hs_frame_is_of_runtime(hs_snap_language_module(language), module_path)) {
            return true;
        }
    }
    return false;
}

enum hs_frame_class hs_event_class_of(uint32_t languages, const struct hs_snapshot *snap,
                                      const struct hs_snap_frame *frame, const char *name,
                                      const char *module_path)
{
    const struct hs_snap_code_name *code_name = code_name_of(snap, frame);
    if (frame->flags & HS_FRAME_MARKER) {
        return HS_FRAME_CLASS_MARKER;
    }
    if (code_name) {
        const char *module = hs_snap_language_module(code_name->language);
        return hs_frame_is_of_script_library(module, code_name->function, code_name->file)
                   ? HS_FRAME_CLASS_LIBRARY
                   : HS_FRAME_CLASS_USER;
    }
    enum hs_frame_class class_ = hs_frame_class_of(name, module_path);
    /* Code that was made at run time and has no name is a piece of the runtime. */
    bool is_made = languages != 0 && name[0] == '\0' && module_path[0] == '\0';
    bool is_runtime =
        class_ == HS_FRAME_CLASS_USER && (is_made || is_of_runtime(languages, module_path));
    return is_runtime ? HS_FRAME_CLASS_RUNTIME : class_;
}
