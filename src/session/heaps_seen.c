/*
 * See heaps_seen.h.
 */
#include "session/heaps_seen.h"

#include <string.h>

#include "profile/model/missing_heaps.h"
#include "rt/text.h"

static void add_name(struct hs_heaps_seen *seen, const char *name)
{
    for (uint32_t i = 0; i < seen->count; i++) {
        if (strcmp(seen->names[i], name) == 0) {
            return;
        }
    }
    if (seen->count < HS_HEAPS_SEEN_MAX) {
        memcpy(seen->names[seen->count++], name, strlen(name) + 1);
    }
}

void hs_heaps_seen_add(struct hs_heaps_seen *seen, const struct hs_heap_selection *selection,
                       const struct hs_snapshot *snap)
{
    for (uint32_t i = 0; selection->rule_count > 0 && i < snap->heap_count; i++) {
        const char *name = snap->heaps[i].name;
        if (!memchr(name, '\0', HS_HEAP_NAME_BYTES) || name[0] == '\0') {
            continue;
        }
        for (uint32_t k = 0; k < selection->rule_count; k++) {
            seen->matched |= (uint32_t)hs_text_matches(selection->rules[k].pattern, name) << k;
        }
        add_name(seen, name);
    }
}

void hs_heaps_seen_words(const struct hs_heaps_seen *seen,
                         const struct hs_heap_selection *selection, struct hs_buf *out)
{
    const char *asked[HS_REGION_HEAP_RULES], *heaps[HS_HEAPS_SEEN_MAX];
    size_t asked_count = 0;
    _Static_assert(HS_REGION_HEAP_RULES <= 32, "bits of `matched`");
    for (uint32_t i = 0; i < selection->rule_count; i++) {
        if (!(seen->matched >> i & 1) && hs_heap_selection_is_asked(selection, i)) {
            asked[asked_count++] = selection->rules[i].pattern;
        }
    }
    for (uint32_t i = 0; i < seen->count; i++) {
        heaps[i] = seen->names[i];
    }
    hs_missing_heaps_words(asked, asked_count, heaps, seen->count, out);
}
