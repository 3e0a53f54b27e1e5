/*
 * The table of names: see type_names.h.
 */
#include "collect/types/type_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "util/utf8.h"

#define CUT_MARK       "..."
#define CUT_MARK_BYTES (sizeof(CUT_MARK) - 1)

void hs_type_names_deinit(struct hs_type_names *names)
{
    hs_intern_deinit(&names->ids.ids);
    free(names->items);
    hs_buf_deinit(&names->texts);
    *names = (struct hs_type_names){ 0 };
}

/* Copies the name without control characters, at most HS_TYPE_NAME_BYTES_MAX bytes of it. */
static size_t clean(const char *name, char *ret_text)
{
    size_t name_bytes = strlen(name);
    size_t room = name_bytes <= HS_TYPE_NAME_BYTES_MAX ? HS_TYPE_NAME_BYTES_MAX
                                                       : HS_TYPE_NAME_BYTES_MAX - CUT_MARK_BYTES;
    size_t text_bytes = hs_utf8_clean(name, name_bytes, ret_text, room);
    for (size_t i = 0; i < text_bytes; i++) {
        ret_text[i] = ret_text[i] == '\t' ? ' ' : ret_text[i];
    }
    if (name_bytes > HS_TYPE_NAME_BYTES_MAX) {
        memcpy(ret_text + text_bytes, CUT_MARK, CUT_MARK_BYTES);
        text_bytes += CUT_MARK_BYTES;
    }
    ret_text[text_bytes] = '\0';
    return text_bytes;
}

int hs_type_names_put(struct hs_type_names *names, enum hs_type_language language, const char *name,
                      uint32_t *ret_idx)
{
    char text[HS_TYPE_NAME_BYTES_MAX + 1];
    size_t text_bytes = clean(name, text);
    struct hs_intern_key key = hs_intern_mix(hs_intern_hash(text, text_bytes), language);
    struct hs_type_name *item = hs_intern_elem(&names->ids, names->items, sizeof(*item), key);
    bool is_new;
    if (!item && names->ids.ids.count >= HS_TYPE_NAMES_MAX) {
        *ret_idx = 0;
        return 0;
    }
    if (!item) {
        size_t off = names->texts.bytes;
        hs_buf_add(&names->texts, text, text_bytes + 1);
        int r = names->texts.err;
        if (r == 0) {
            r = hs_intern_at(&names->ids, &names->items, sizeof(*item), key, (void **)&item,
                             &is_new);
        }
        if (r != 0) {
            return r;
        }
        *item = (struct hs_type_name){ .off = off, .language = language };
    }
    *ret_idx = (uint32_t)(item - names->items) + 1;
    HS_ASSERT(*ret_idx >= 1 && *ret_idx <= HS_TYPE_NAMES_MAX);
    return 0;
}

uint32_t hs_type_names_count(const struct hs_type_names *names)
{
    return names->ids.ids.count;
}

const char *hs_type_names_text(const struct hs_type_names *names, uint32_t idx)
{
    HS_ASSERT(idx >= 1 && idx <= names->ids.ids.count);
    return names->texts.data + names->items[idx - 1].off;
}

enum hs_type_language hs_type_names_language(const struct hs_type_names *names, uint32_t idx)
{
    HS_ASSERT(idx >= 1 && idx <= names->ids.ids.count);
    return names->items[idx - 1].language;
}

#if HS_HAS_CHECKS
bool hs_type_names_is_valid(const struct hs_type_names *names)
{
    bool is_valid = names->ids.ids.count <= HS_TYPE_NAMES_MAX;
    for (uint32_t i = 1; i <= names->ids.ids.count && is_valid; i++) {
        const char *text = hs_type_names_text(names, i);
        size_t text_bytes = strlen(text);
        is_valid = text_bytes <= HS_TYPE_NAME_BYTES_MAX;
        for (size_t at = 0; at < text_bytes && is_valid; at++) {
            is_valid = (unsigned char)text[at] >= 0x20 && text[at] != 0x7f;
        }
    }
    return is_valid;
}
#endif
