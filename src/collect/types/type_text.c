/*
 * Reads names: see type_text.h.
 */
#include "collect/types/type_text.h"

#include <string.h>

#include "util/utf8.h"

/* A piece of this length does not cross the end of a page if it begins at a multiple of it. */
#define PIECE_BYTES 64U

static bool is_text(const char *text, size_t text_bytes)
{
    uint32_t c;
    for (size_t i = 0; i < text_bytes; i += hs_utf8_next(text + i, text_bytes - i, &c)) {
        hs_utf8_next(text + i, text_bytes - i, &c);
        if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffd) {
            return false;
        }
    }
    return text_bytes > 0;
}

bool hs_type_text_read(const struct hs_type_memory *memory, uint64_t va, char *ret_text,
                       size_t room_bytes)
{
    size_t text_bytes = 0;
    if (va == 0 || va >= HS_TYPE_VA_MAX) {
        return false;
    }
    while (text_bytes < room_bytes) {
        size_t piece_bytes = PIECE_BYTES - (va + text_bytes) % PIECE_BYTES;
        size_t left_bytes = room_bytes - text_bytes;
        piece_bytes = piece_bytes < left_bytes ? piece_bytes : left_bytes;
        if (!memory->read(memory->ctx, va + text_bytes, ret_text + text_bytes, piece_bytes)) {
            return false;
        }
        const char *end = memchr(ret_text + text_bytes, 0, piece_bytes);
        if (end) {
            return is_text(ret_text, (size_t)(end - ret_text));
        }
        text_bytes += piece_bytes;
    }
    return false;
}
