/*
 * Copies the names of frames. See capture_code_names.h.
 *
 * There may be many names, and most of them share their texts. Therefore BYTES is copied once, and
 * the texts are made harmless where they lie in the copy.
 */
#include "collect/region/capture_code_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

#define UNKNOWN_CHAR 0xfffdU

/* Texts that overlap are looked at again and again: so many bytes at most. */
#define HS_CODE_TEXT_BUDGET_BYTES (UINT64_C(256) << 20)

/* The copy of BYTES. */
struct texts {
    char *bytes; /* with a NUL behind them */
    uint64_t count;
    uint64_t budget_bytes;
};

/* Replaces control characters, and bytes that are not UTF-8, by question marks. */
static void clean(char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        uint32_t character;
        size_t length = hs_utf8_next(text + i, bytes - i, &character);
        bool is_bad = length == 1 && character == UNKNOWN_CHAR;
        if (is_bad || character < 0x20 || (character >= 0x7f && character < 0xa0)) {
            memset(text + i, '?', length);
        }
        i += length;
    }
}

/* The text at an offset; "": there is none that is short enough. */
static const char *text_at(struct texts *texts, uint32_t off, size_t room)
{
    if (off == 0 || off >= texts->count || texts->budget_bytes < room) {
        return "";
    }
    char *text = texts->bytes + off;
    uint64_t left = texts->count - off;
    size_t bytes = strnlen(text, left < room ? (size_t)left : room);
    if (bytes == room) {
        return "";
    }
    texts->budget_bytes -= bytes;
    clean(text, bytes);
    return text;
}

static int copy_texts(const struct hs_region *region, struct hs_snapshot *snap,
                      struct texts *ret_texts)
{
    uint64_t count = hs_region_count(region, HS_SECTION_BYTES);
    char *bytes = malloc(count + 1);
    if (!bytes) {
        return -ENOMEM;
    }
    snap->code_texts = bytes;
    int r = hs_region_read(region, HS_SECTION_BYTES, 0, count, bytes);
    bytes[count] = '\0';
    *ret_texts = (struct texts){ bytes, count, HS_CODE_TEXT_BUDGET_BYTES };
    return r;
}

static void copy_name(const struct hs_code_name_v2 *from, struct texts *texts,
                      struct hs_snap_code_name *ret_name)
{
    *ret_name = (struct hs_snap_code_name){ .function = "", .file = "" };
    if (from->hash == 0) {
        return;
    }
    ret_name->function = text_at(texts, from->function_off, HS_CODE_FUNCTION_BYTES);
    ret_name->file = text_at(texts, from->file_off, HS_CODE_FILE_BYTES);
    ret_name->line = from->line;
    ret_name->first_line = from->first_line;
    ret_name->language = from->language < HS_LANGUAGE_N ? from->language : HS_LANGUAGE_OTHER;
}

static void copy_states(const struct hs_region *region, struct hs_snapshot *snap)
{
    for (unsigned i = 0; i < HS_LANGUAGE_N; i++) {
        uint8_t state = region->header.script_states[i];
        if (state == HS_SCRIPT_STATE_UNKNOWN || state == HS_SCRIPT_STATE_REFUSED) {
            snap->unread_interpreters |= 1U << i;
        }
    }
}

int hs_capture_code_names(const struct hs_region *region, struct hs_snapshot *snap)
{
    uint64_t count = hs_region_count(region, HS_SECTION_CODE_NAMES);
    struct texts texts;
    copy_states(region, snap);
    count = count < HS_CODE_NAMES_MAX ? count : HS_CODE_NAMES_MAX;
    if (count <= 1) {
        return 0; /* entry 0 is unused */
    }
    struct hs_code_name_v2 *from = calloc(count, sizeof(*from));
    snap->code_names = calloc(count, sizeof(*snap->code_names));
    int r = from && snap->code_names ? 0 : -ENOMEM;
    if (r == 0) {
        r = hs_region_read(region, HS_SECTION_CODE_NAMES, 0, count, from);
    }
    if (r == 0) {
        r = copy_texts(region, snap, &texts);
    }
    for (uint64_t i = 0; r == 0 && i < count; i++) {
        copy_name(&from[i], &texts, &snap->code_names[i]);
        snap->code_name_count = (uint32_t)i + 1;
    }
    free(from);
    return r;
}
