/*
 * CPython's structures by version. See python_layout.h.
 */
#include "client/python/python_layout.h"

#include <string.h>

#define NONE HS_PYTHON_NO_CFRAME

/* Where _Py_DebugOffsets of Python 3.13 has its fields: uint64_t each, behind eight characters. */
enum {
    OFFSETS_VERSION = 8,
    OFFSETS_FREE_THREADED = 16,
    OFFSETS_CURRENT_FRAME = 184,
    OFFSETS_THREAD_ID = 192,
    OFFSETS_BACK = 232,
    OFFSETS_CODE = 240,
    OFFSETS_PLACE = 248,
    OFFSETS_OWNER = 264,
    OFFSETS_FILE = 280,
    OFFSETS_NAME = 296, /* the qualified name */
    OFFSETS_LINES = 304,
    OFFSETS_FIRST_LINE = 312,
    OFFSETS_INSTRUCTIONS = 344,
    OFFSETS_TYPE = 360,
    OFFSETS_BYTES_SIZE = 520,
    OFFSETS_BYTES_TEXT = 528,
    OFFSETS_TEXT_STATE = 544,
    OFFSETS_TEXT_LENGTH = 552,
    OFFSETS_ASCII_TEXT = 560,
};

static const struct hs_python_layout layouts[] = {
    { 8, 176, 24, NONE, 112, 24, 32, 104, 0, 0, 128, 40, 104, 112, 120, 0, 48, 72 },
    { 9, 176, 24, NONE, 112, 24, 32, 104, 0, 0, 128, 40, 104, 112, 120, 0, 48, 72 },
    { 10, 176, 24, NONE, 104, 24, 32, 96, 0, 0, 128, 40, 104, 112, 120, 0, 48, 72 },
    { 11, 152, 56, 8, 72, 48, 32, 56, 68, 0, 144, 72, 112, 128, 136, 184, 48, 72 },
    { 12, 136, 56, 0, 72, 8, 0, 56, 0, 70, 144, 68, 112, 128, 136, 192, 40, 56 },
    { 13, 152, 72, NONE, 72, 8, 0, 56, 0, 70, 144, 68, 112, 128, 136, 200, 40, 56 },
};

static uint64_t word_at(const uint8_t *offsets, unsigned at)
{
    uint64_t word;
    memcpy(&word, offsets + at, sizeof(word));
    return word;
}

/* Takes one offset. False: it lies beyond what such a structure can have. */
static bool take(const uint8_t *offsets, unsigned at, unsigned align, uint16_t *ret)
{
    uint64_t value = word_at(offsets, at);
    *ret = (uint16_t)value;
    return value < 4096 && value % align == 0;
}

static uint16_t end_of(uint16_t so_far, uint16_t at, unsigned bytes)
{
    unsigned end = ((unsigned)at + bytes + 7U) & ~7U;
    return end > so_far ? (uint16_t)end : so_far;
}

/* Takes what the interpreter publishes. Objects of its free-threaded builds begin in another way,
 * and are not read. */
static bool take_published(const uint8_t *offsets, struct hs_python_layout *layout)
{
    static const char cookie[8] = { 'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y' };
    uint16_t owner = 0;
    bool is_good = memcmp(offsets, cookie, sizeof(cookie)) == 0 &&
                   word_at(offsets, OFFSETS_VERSION) >> 24 == 3 &&
                   (word_at(offsets, OFFSETS_VERSION) >> 16 & 0xff) == layout->minor &&
                   word_at(offsets, OFFSETS_FREE_THREADED) == 0 &&
                   word_at(offsets, OFFSETS_TYPE) == HS_PYTHON_OBJECT_TYPE &&
                   word_at(offsets, OFFSETS_BYTES_SIZE) == HS_PYTHON_OBJECT_SIZE &&
                   word_at(offsets, OFFSETS_BYTES_TEXT) == HS_PYTHON_BYTES_TEXT &&
                   word_at(offsets, OFFSETS_TEXT_STATE) == HS_PYTHON_TEXT_STATE &&
                   word_at(offsets, OFFSETS_TEXT_LENGTH) == HS_PYTHON_TEXT_LENGTH;
    is_good = is_good && take(offsets, OFFSETS_CURRENT_FRAME, 8, &layout->current) &&
              take(offsets, OFFSETS_THREAD_ID, 8, &layout->thread_id) &&
              take(offsets, OFFSETS_BACK, 8, &layout->back) &&
              take(offsets, OFFSETS_CODE, 8, &layout->code) &&
              take(offsets, OFFSETS_PLACE, 8, &layout->place) &&
              take(offsets, OFFSETS_OWNER, 1, &owner) &&
              take(offsets, OFFSETS_FILE, 8, &layout->file) &&
              take(offsets, OFFSETS_NAME, 8, &layout->name) &&
              take(offsets, OFFSETS_LINES, 8, &layout->lines) &&
              take(offsets, OFFSETS_FIRST_LINE, 4, &layout->first_line) &&
              take(offsets, OFFSETS_INSTRUCTIONS, 2, &layout->instructions) &&
              take(offsets, OFFSETS_ASCII_TEXT, 8, &layout->ascii_text);
    layout->owner = owner;
    layout->wide_text = (uint16_t)(layout->ascii_text + 16);
    uint16_t end = end_of(end_of(0, layout->back, 8), layout->code, 8);
    layout->frame_bytes = end_of(end_of(end, layout->place, 8), layout->owner, 1);
    end = end_of(end_of(16, layout->file, 8), layout->name, 8);
    layout->code_bytes = end_of(end_of(end, layout->lines, 8), layout->first_line, 4);
    return is_good;
}

bool hs_python_layout_make(uint32_t minor, const uint8_t *offsets,
                           struct hs_python_layout *ret_layout)
{
    if (minor < HS_PYTHON_MINOR_FIRST || minor > HS_PYTHON_MINOR_LAST) {
        return false;
    }
    *ret_layout = layouts[minor - HS_PYTHON_MINOR_FIRST];
    return minor < 13 || (offsets && take_published(offsets, ret_layout));
}
