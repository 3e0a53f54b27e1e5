/*
 * See heaps_message.h.
 */
#include "session/heaps_message.h"

Hs__Ctl__Heaps *hs_heaps_message_fill(struct hs_heaps_message *out,
                                      const struct hs_heap_selection *selection)
{
    if (hs_heap_selection_is_default(selection)) {
        return NULL;
    }
    hs__ctl__heaps__init(&out->message);
    out->message.has_is_without_malloc = out->message.has_is_without_others =
        out->message.has_other_interval_bytes = true;
    out->message.is_without_malloc = selection->is_without_malloc;
    out->message.has_has_lifetimes = out->message.has_lifetimes = selection->has_lifetimes;
    out->message.has_is_native_only = true;
    out->message.is_native_only = selection->is_native_only;
    out->message.is_without_others = selection->is_without_others;
    out->message.other_interval_bytes = selection->other_interval_bytes;
    for (uint32_t i = 0; i < selection->rule_count; i++) {
        out->patterns[i] = (char *)(uintptr_t)selection->rules[i].pattern;
        out->interval_bytes[i] = selection->rules[i].interval_bytes;
    }
    out->message.n_pattern = out->message.n_interval_bytes = selection->rule_count;
    out->message.pattern = out->patterns;
    out->message.interval_bytes = out->interval_bytes;
    return &out->message;
}
