/*
 * Reading CPython's frames. See python_frames.h.
 */
#include "client/python/python_frames.h"

#include <string.h>

#include "client/python/python_lines.h"
#include "rt/base.h"
#include "rt/bits.h"

/* The owner of a frame that only stands for eval's native one. */
#define OWNED_BY_C 3

/* No code object has more. */
#define LINES_BYTES_MAX (1U << 24)

/* Of a text's state. */
#define STATE_KIND(state) ((state) >> 2 & 7U)
#define STATE_COMPACT     0x20U
#define STATE_ASCII       0x40U

static uint64_t word_at(const uint8_t *from, unsigned off)
{
    uint64_t word;
    memcpy(&word, from + off, sizeof(word));
    return word;
}

static uint32_t half_at(const uint8_t *from, unsigned off)
{
    uint32_t half;
    memcpy(&half, from + off, sizeof(half));
    return half;
}

static const uint8_t *read_at(const struct hs_python_memory *memory, uint64_t va, uint32_t bytes)
{
    return va != 0 && va % 8 == 0 ? memory->at(memory->ctx, va, bytes) : NULL;
}

static bool read_word(const struct hs_python_memory *memory, uint64_t va, uint64_t *ret_word)
{
    const uint8_t *from = read_at(memory, va, sizeof(*ret_word));
    if (from) {
        *ret_word = word_at(from, 0);
    }
    return from != NULL;
}

/* --- code objects ----------------------------------------------------------------------------- */

/* What of a code object is read. */
struct code {
    uint32_t first_line;
    uint64_t file_va, name_va, lines_va;
};

static bool read_code(const struct hs_python_memory *memory, const struct hs_python_types *types,
                      uint64_t code_va, struct code *ret_code)
{
    const struct hs_python_layout *layout = &types->layout;
    const uint8_t *code = read_at(memory, code_va, layout->code_bytes);
    if (!code || word_at(code, HS_PYTHON_OBJECT_TYPE) != types->code_type_va) {
        return false;
    }
    *ret_code = (struct code){
        .first_line = half_at(code, layout->first_line),
        .file_va = word_at(code, layout->file),
        .name_va = word_at(code, layout->name),
        .lines_va = word_at(code, layout->lines),
    };
    return true;
}

static bool hash_text(const struct hs_python_memory *memory, const struct hs_python_types *types,
                      uint64_t text_va, uint64_t *hash)
{
    const uint8_t *text = read_at(memory, text_va, HS_PYTHON_TEXT_HEAD);
    if (!text || word_at(text, HS_PYTHON_OBJECT_TYPE) != types->unicode_type_va) {
        return false;
    }
    *hash = hs_hash_step(*hash, text_va);
    *hash = hs_hash_step(*hash, word_at(text, HS_PYTHON_TEXT_LENGTH));
    *hash = hs_hash_step(*hash, word_at(text, HS_PYTHON_TEXT_HASH));
    return true;
}

static bool hash_lines(const struct hs_python_memory *memory, uint64_t lines_va, uint64_t *hash)
{
    /* Each bytes object has at least one byte of text, a NUL, and lies in whole words. */
    const uint8_t *lines = read_at(memory, lines_va, HS_PYTHON_BYTES_TEXT + 8);
    if (!lines) {
        return false;
    }
    uint64_t bytes = word_at(lines, HS_PYTHON_OBJECT_SIZE);
    *hash = hs_hash_step(*hash, lines_va);
    *hash = hs_hash_step(*hash, bytes);
    *hash = hs_hash_step(*hash, word_at(lines, HS_PYTHON_BYTES_HASH));
    *hash = hs_hash_step(*hash, bytes >= 8 ? word_at(lines, HS_PYTHON_BYTES_TEXT) : 0);
    return bytes <= LINES_BYTES_MAX;
}

/* Since Python 3.13 the call of a class has a frame of the interpreter's own around __init__(). It
 * is no function of the program. One text is its name and that of its file. */
static bool is_helper(const struct hs_python_layout *layout, const struct code *code)
{
    return layout->minor >= 13 && code->file_va == code->name_va;
}

/* The hash of a code object; 0: that of a helper. False: it is none. */
static bool hash_code(const struct hs_python_memory *memory, const struct hs_python_types *types,
                      uint64_t code_va, uint64_t *ret_hash)
{
    struct code code;
    if (!read_code(memory, types, code_va, &code)) {
        return false;
    }
    *ret_hash = 0;
    if (is_helper(&types->layout, &code)) {
        return true;
    }
    *ret_hash = hs_hash_step(code_va, code.first_line);
    return hash_text(memory, types, code.file_va, ret_hash) &&
           hash_text(memory, types, code.name_va, ret_hash) &&
           hash_lines(memory, code.lines_va, ret_hash);
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint32_t offset_of(const struct hs_python_layout *layout, const uint8_t *frame,
                          uint64_t code_va)
{
    if (layout->minor >= 11) {
        uint64_t off = word_at(frame, layout->place) - (code_va + layout->instructions);
        return off < INT32_MAX ? (uint32_t)off : HS_PYTHON_NOT_BEGUN;
    }
    /* Since 3.10 it counts instructions of two bytes. */
    uint32_t last = half_at(frame, layout->place);
    return last < INT32_MAX / 2 ? last << (layout->minor == 10) : HS_PYTHON_NOT_BEGUN;
}

/* A walk that is being made. */
struct walking {
    const struct hs_python_memory *memory;
    const struct hs_python_types *types;
    struct hs_python_walk *walk;
    uint32_t seen;         /* frames so far */
    uint32_t group;        /* the one that is being read */
    bool has_group_frames; /* it has frames */
};

static void keep(struct walking *w, const struct hs_python_frame *frame)
{
    uint32_t at = w->seen++;
    if (at >= HS_PYTHON_FRAMES_MAX) {
        at = HS_PYTHON_FRAMES_INNER + (at - HS_PYTHON_FRAMES_MAX) % HS_PYTHON_FRAMES_OUTER;
    }
    w->walk->frames[at] = *frame;
}

static void end_group(struct walking *w)
{
    if (!w->has_group_frames) {
        const struct hs_python_frame none = { .group = w->group };
        keep(w, &none);
    }
    w->group++;
    w->has_group_frames = false;
}

/* Reads one frame; *va becomes that of the next one outwards. */
static bool step(struct walking *w, uint64_t *va)
{
    const struct hs_python_layout *layout = &w->types->layout;
    const uint8_t *bytes = read_at(w->memory, *va, layout->frame_bytes);
    if (!bytes) {
        return false;
    }
    uint64_t back_va = word_at(bytes, layout->back);
    if (layout->owner != 0 && bytes[layout->owner] == OWNED_BY_C) {
        end_group(w);
        *va = back_va;
        return true;
    }
    struct hs_python_frame frame = { .code_va = word_at(bytes, layout->code), .group = w->group };
    bool is_entry = layout->owner == 0 && (layout->is_entry == 0 || bytes[layout->is_entry] != 0);
    frame.off = offset_of(layout, bytes, frame.code_va);
    if (!hash_code(w->memory, w->types, frame.code_va, &frame.hash)) {
        return false;
    }
    if (frame.hash == 0) {
        *va = back_va;
        return true;
    }
    frame.hash = hs_mix64(hs_hash_step(frame.hash, frame.off));
    keep(w, &frame);
    w->has_group_frames = true;
    if (is_entry) {
        end_group(w);
    }
    *va = back_va;
    return true;
}

static void reverse(struct hs_python_frame *frames, uint32_t from, uint32_t end)
{
    while (from + 1 < end) {
        struct hs_python_frame kept = frames[from];
        frames[from++] = frames[--end];
        frames[end] = kept;
    }
}

/* Puts the outermost frames, which were kept in a ring, in order. */
static void settle(struct walking *w)
{
    struct hs_python_walk *walk = w->walk;
    const uint32_t inner = HS_PYTHON_FRAMES_INNER, max = HS_PYTHON_FRAMES_MAX;
    walk->count = w->seen < max ? w->seen : max;
    walk->cut_idx = w->seen > max ? inner : 0;
    walk->group_count = w->group + w->has_group_frames;
    if (w->seen > max) {
        uint32_t oldest = inner + (w->seen - max) % HS_PYTHON_FRAMES_OUTER;
        reverse(walk->frames, inner, oldest);
        reverse(walk->frames, oldest, max);
        reverse(walk->frames, inner, max);
    }
    walk->hash = walk->cut_idx;
    for (uint32_t i = 0; i < walk->count; i++) {
        walk->hash = hs_hash_step(walk->hash, walk->frames[i].hash ^ walk->frames[i].group);
    }
    walk->hash = hs_mix64(walk->hash);
}

enum hs_python_result hs_python_frames_walk(const struct hs_python_memory *memory,
                                            const struct hs_python_types *types, uint64_t state_va,
                                            uint64_t thread_id, struct hs_python_walk *ret_walk)
{
    const struct hs_python_layout *layout = &types->layout;
    struct walking w = { .memory = memory, .types = types, .walk = ret_walk };
    uint64_t its_thread, va;
    if (!read_word(memory, state_va + layout->thread_id, &its_thread) || its_thread != thread_id ||
        !read_word(memory, state_va + layout->current, &va) ||
        (layout->cframe_frame != HS_PYTHON_NO_CFRAME &&
         !read_word(memory, va + layout->cframe_frame, &va))) {
        return HS_PYTHON_USELESS;
    }
    while (va != 0 && w.seen < HS_PYTHON_WALK_MAX) {
        if (!step(&w, &va)) {
            return HS_PYTHON_USELESS;
        }
    }
    settle(&w);
    return ret_walk->count > 0 ? HS_PYTHON_FOUND : HS_PYTHON_IDLE;
}

/* --- in words --------------------------------------------------------------------------------- */

/* Writes one character as UTF-8 and returns its length; 0: there is no room. */
static uint32_t put_char(uint32_t c, char *to, uint32_t room)
{
    c = c == 0 || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ? '?' : c;
    uint32_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    if (bytes > room) {
        return 0;
    }
    for (uint32_t i = bytes - 1; i > 0; i--) {
        to[i] = (char)(0x80U | (c & 0x3fU));
        c >>= 6;
    }
    to[0] = (char)(heads[bytes] | c);
    return bytes;
}

static uint32_t char_at(const uint8_t *text, uint32_t kind, uint32_t i)
{
    uint32_t c = 0;
    memcpy(&c, text + (uint64_t)i * kind, kind);
    return c;
}

/* Copies a text as UTF-8, with a NUL behind it, as much as there is room for. */
static bool copy_text(const struct hs_python_memory *memory, const struct hs_python_types *types,
                      uint64_t text_va, char *to, uint32_t room, uint32_t *ret_bytes)
{
    const uint8_t *head = read_at(memory, text_va, HS_PYTHON_TEXT_HEAD);
    if (!head || word_at(head, HS_PYTHON_OBJECT_TYPE) != types->unicode_type_va) {
        return false;
    }
    uint32_t state = half_at(head, HS_PYTHON_TEXT_STATE), kind = STATE_KIND(state), used = 0;
    uint64_t length = word_at(head, HS_PYTHON_TEXT_LENGTH);
    uint32_t count = length < room ? (uint32_t)length : room;
    if (!(state & STATE_COMPACT) || (kind != 1 && kind != 2 && kind != 4)) {
        return false;
    }
    uint64_t chars_va =
        text_va + (state & STATE_ASCII ? types->layout.ascii_text : types->layout.wide_text);
    const uint8_t *chars = count == 0 ? head : read_at(memory, chars_va, count * kind);
    for (uint32_t i = 0, bytes = 1; chars && i < count && bytes > 0; i++) {
        bytes = put_char(char_at(chars, kind, i), to + used, room - 1 - used);
        used += bytes;
    }
    to[used] = '\0';
    *ret_bytes = used;
    return chars != NULL;
}

static uint32_t line_of(const struct hs_python_memory *memory, const struct hs_python_types *types,
                        const struct code *code, uint32_t off)
{
    const uint8_t *head = read_at(memory, code->lines_va, HS_PYTHON_BYTES_TEXT);
    uint64_t bytes = head ? word_at(head, HS_PYTHON_OBJECT_SIZE) : 0;
    uint32_t first_line = code->first_line <= INT32_MAX ? code->first_line : 0;
    if (off == HS_PYTHON_NOT_BEGUN || bytes == 0 || bytes > LINES_BYTES_MAX) {
        return first_line;
    }
    const uint8_t *table = read_at(memory, code->lines_va + HS_PYTHON_BYTES_TEXT, (uint32_t)bytes);
    return table ? hs_python_line(types->layout.minor, table, (uint32_t)bytes, first_line, off) : 0;
}

bool hs_python_frame_describe(const struct hs_python_memory *memory,
                              const struct hs_python_types *types,
                              const struct hs_python_frame *frame,
                              struct hs_python_description *ret)
{
    struct code code;
    if (!read_code(memory, types, frame->code_va, &code)) {
        return false;
    }
    ret->first_line = code.first_line <= INT32_MAX ? code.first_line : 0;
    ret->line = line_of(memory, types, &code, frame->off);
    return copy_text(memory, types, code.name_va, ret->function, sizeof(ret->function),
                     &ret->function_bytes) &&
           copy_text(memory, types, code.file_va, ret->file, sizeof(ret->file), &ret->file_bytes);
}
