/*
 * See missing_heaps.h.
 */
#include "profile/model/missing_heaps.h"

#include <stdlib.h>
#include <string.h>

#include "rt/text.h"

#define TOLD_MAX 8U

static bool has_match(const char *pattern, const char *const *heaps, size_t heap_count)
{
    for (size_t i = 0; i < heap_count; i++) {
        if (hs_text_matches(pattern, heaps[i])) {
            return true;
        }
    }
    return false;
}

/* A program chose this name. */
static void put_name(struct hs_buf *out, const char *name)
{
    for (; *name; name++) {
        hs_buf_char(out, (unsigned char)*name < ' ' || *name == 127 ? '?' : *name);
    }
}

static void put_registered(const char *const *heaps, size_t heap_count, struct hs_buf *out)
{
    size_t told = 0, left = 0;
    for (size_t i = 0; i < heap_count; i++) {
        if (strcmp(heaps[i], HS_PROFILE_HEAP_MALLOC) == 0) {
            continue;
        }
        if (told == TOLD_MAX) {
            left++;
            continue;
        }
        hs_buf_str(out, told++ == 0 ? "; registered were " : ", ");
        put_name(out, heaps[i]);
    }
    if (left > 0) {
        hs_buf_printf(out, " and %zu more", left);
    }
    hs_buf_str(out, told == 0 ? "; no heap was registered" : "");
}

void hs_missing_heaps_words(const char *const *asked, size_t asked_count, const char *const *heaps,
                            size_t heap_count, struct hs_buf *out)
{
    size_t missing = 0;
    for (size_t i = 0; i < asked_count; i++) {
        if (!has_match(asked[i], heaps, heap_count)) {
            hs_buf_str(out, missing++ == 0 ? "no process registered a heap named '" : "' or '");
            put_name(out, asked[i]);
        }
    }
    if (missing > 0) {
        hs_buf_char(out, '\'');
        put_registered(heaps, heap_count, out);
    }
}

void hs_missing_heaps_words_of(const struct hs_profile *p, struct hs_buf *out)
{
    if (p->asked_heap_count == 0) {
        return;
    }
    const char **names = calloc((size_t)p->asked_heap_count + p->heap_count, sizeof(*names));
    if (!names) {
        return;
    }
    for (uint32_t i = 0; i < p->asked_heap_count; i++) {
        names[i] = hs_profile_string(p, p->asked_heaps[i]);
    }
    const char **heaps = names + p->asked_heap_count;
    for (uint32_t i = 0; i < p->heap_count; i++) {
        heaps[i] = hs_profile_string(p, p->heaps[i]);
    }
    hs_missing_heaps_words(names, p->asked_heap_count, heaps, p->heap_count, out);
    free(names);
}
