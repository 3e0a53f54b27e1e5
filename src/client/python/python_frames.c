/*
 * Reading CPython's frames. See python_frames.h.
 */
#include "client/python/python_frames.h"

#include <string.h>

#include "client/python/python_lines.h"
#include "rt/base.h"

/* The owner of a frame that only stands for eval's native one. */
#define OWNED_BY_C 3

/* No code object has more. */
#define LINES_BYTES_MAX (1U << 24)

/* So many bytes of a table of lines are compared when its code object is met again. */
#define LISTED_LINES_BYTES 32U

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

static bool read_word(struct hs_script_memory *memory, uint64_t va, uint64_t *ret_word)
{
    return va % 8 == 0 && hs_script_read(memory, va, sizeof(*ret_word), ret_word);
}

/* Is the object of this type? */
static bool is_of_type(struct hs_script_memory *memory, uint64_t va, uint64_t type_va)
{
    uint64_t its_type_va;
    return read_word(memory, va + HS_PYTHON_OBJECT_TYPE, &its_type_va) && its_type_va == type_va;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* A walk that is being made. */
struct walking {
    struct hs_script_memory *memory;
    const struct hs_python_types *types;
    struct hs_python_walk *walk;
    uint32_t seen;          /* frames so far */
    uint32_t changed_count; /* as in the walk */
    uint32_t group;         /* the one that is being read */
    bool has_group_frames;  /* it has frames */
};

static inline bool are_equal(const struct hs_python_frame *a, const struct hs_python_frame *b)
{
    return a->va == b->va && a->back_va == b->back_va && a->code_va == b->code_va &&
           a->at_va == b->at_va && a->group == b->group && a->is_entry == b->is_entry;
}

static inline void keep(struct walking *w, const struct hs_python_frame *frame)
{
    uint32_t at = w->seen++;
    if (hs_unlikely(at >= HS_PYTHON_FRAMES_MAX)) {
        at = HS_PYTHON_FRAMES_INNER + (at - HS_PYTHON_FRAMES_MAX) % HS_PYTHON_FRAMES_OUTER;
    }
    if (!are_equal(&w->walk->frames[at], frame)) {
        w->walk->frames[at] = *frame;
        w->changed_count = at + 1;
    }
}

static inline void end_group(struct walking *w)
{
    if (!w->has_group_frames) {
        const struct hs_python_frame none = { .group = w->group };
        keep(w, &none);
    }
    w->group++;
    w->has_group_frames = false;
}

/* Reads one frame; *va becomes that of the next one outwards. */
static inline bool step(struct walking *w, const struct hs_python_layout *layout, uint64_t *va)
{
    const uint8_t *bytes =
        *va % 8 == 0 ? hs_script_peek(w->memory, *va, layout->frame_bytes) : NULL;
    if (hs_unlikely(!bytes)) {
        return false;
    }
    struct hs_python_frame frame = {
        .va = *va,
        .back_va = word_at(bytes, layout->back),
        .code_va = word_at(bytes, layout->code),
        .at_va =
            layout->minor >= 11 ? word_at(bytes, layout->place) : half_at(bytes, layout->place),
        .group = w->group,
        .is_entry = layout->owner == 0 && (layout->is_entry == 0 || bytes[layout->is_entry] != 0),
    };
    *va = frame.back_va;
    if (layout->owner != 0 && bytes[layout->owner] == OWNED_BY_C) {
        end_group(w);
        return true;
    }
    /* Frames of the middle are not described. */
    if (frame.code_va == 0 || (hs_unlikely(w->seen >= HS_PYTHON_FRAMES_MAX) &&
                               !is_of_type(w->memory, frame.code_va, w->types->code_type_va))) {
        return false;
    }
    keep(w, &frame);
    w->has_group_frames = true;
    if (frame.is_entry) {
        end_group(w);
    }
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
    const uint32_t count = w->seen < max ? w->seen : max;
    bool is_comparable = walk->count == count && walk->cut_idx == 0 && w->seen <= max;
    walk->changed_count = is_comparable ? w->changed_count : count;
    walk->count = count;
    walk->cut_idx = w->seen > max ? inner : 0;
    walk->group_count = w->group + w->has_group_frames;
    if (w->seen > max) {
        uint32_t oldest = inner + (w->seen - max) % HS_PYTHON_FRAMES_OUTER;
        reverse(walk->frames, inner, oldest);
        reverse(walk->frames, oldest, max);
        reverse(walk->frames, inner, max);
    }
}

/* The innermost frame. False: the state is not that of the thread, or cannot be read. */
static bool find_first(struct hs_script_memory *memory, const struct hs_python_layout *layout,
                       uint64_t state_va, uint64_t thread_id, uint64_t *ret_va)
{
    uint64_t its_thread;
    return read_word(memory, state_va + layout->thread_id, &its_thread) &&
           its_thread == thread_id && read_word(memory, state_va + layout->current, ret_va) &&
           (layout->cframe_frame == HS_PYTHON_NO_CFRAME ||
            read_word(memory, *ret_va + layout->cframe_frame, ret_va));
}

enum hs_python_result hs_python_frames_walk(struct hs_script_memory *memory,
                                            const struct hs_python_types *types, uint64_t state_va,
                                            uint64_t thread_id, struct hs_python_walk *walk)
{
    struct walking w = { .memory = memory, .types = types, .walk = walk };
    uint64_t va = 0;
    bool is_good = find_first(memory, &types->layout, state_va, thread_id, &va);
    while (is_good && va != 0 && w.seen < HS_PYTHON_WALK_MAX) {
        is_good = step(&w, &types->layout, &va);
    }
    if (!is_good) {
        walk->count = 0;
        return HS_PYTHON_USELESS;
    }
    settle(&w);
    return walk->count > 0 ? HS_PYTHON_FOUND : HS_PYTHON_IDLE;
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
static bool copy_text(struct hs_script_memory *memory, const struct hs_python_types *types,
                      uint64_t text_va, char *to, uint32_t room, struct hs_script_text *ret_text)
{
    uint64_t length;
    uint32_t state = hs_script_half(memory, text_va + HS_PYTHON_TEXT_STATE), used = 0;
    uint32_t kind = STATE_KIND(state);
    if (!is_of_type(memory, text_va, types->unicode_type_va) ||
        !read_word(memory, text_va + HS_PYTHON_TEXT_LENGTH, &length) || !(state & STATE_COMPACT) ||
        (kind != 1 && kind != 2 && kind != 4)) {
        return false;
    }
    bool is_ascii = state & STATE_ASCII;
    uint32_t count = length < room ? (uint32_t)length : room;
    uint64_t chars_va = text_va + (is_ascii ? types->layout.ascii_text : types->layout.wide_text);
    const uint8_t *chars = hs_script_at(memory, chars_va, count * kind);
    for (uint32_t i = 0, bytes = 1; chars && i < count && bytes > 0; i++) {
        bytes = put_char(char_at(chars, kind, i), to + used, room - 1 - used);
        used += bytes;
    }
    to[used] = '\0';
    *ret_text = (struct hs_script_text){ to, used, text_va };
    return chars != NULL;
}

/* A frame has not begun: it has no instruction yet. */
#define NOT_BEGUN UINT32_MAX

/* How far the instruction of a frame is from the first one, in bytes. */
static uint32_t offset_of(const struct hs_python_layout *layout,
                          const struct hs_script_place *place)
{
    if (layout->minor >= 11) {
        uint64_t off = place->at_va - (place->code_va + layout->instructions);
        return off < INT32_MAX ? (uint32_t)off : NOT_BEGUN;
    }
    /* Since 3.10 it counts instructions of two bytes. */
    return place->at_va < INT32_MAX / 2 ? (uint32_t)place->at_va << (layout->minor == 10)
                                        : NOT_BEGUN;
}

/* The line of an instruction. Of the table, what is listed tells it from others: its length, its
 * beginning and its end. */
static uint32_t line_of(struct hs_script_memory *memory, const struct hs_python_types *types,
                        uint64_t lines_va, uint32_t first_line, uint32_t off)
{
    uint64_t bytes = 0, table_va = lines_va + HS_PYTHON_BYTES_TEXT;
    if (off == NOT_BEGUN || !read_word(memory, lines_va + HS_PYTHON_OBJECT_SIZE, &bytes) ||
        bytes == 0 || bytes > LINES_BYTES_MAX) {
        return first_line;
    }
    hs_script_at(memory, table_va,
                 bytes < LISTED_LINES_BYTES ? (uint32_t)bytes : LISTED_LINES_BYTES);
    hs_script_at(memory, table_va + bytes - 1, 1);
    const uint8_t *table = hs_script_peek(memory, table_va, (uint32_t)bytes);
    return table ? hs_python_line(types->layout.minor, table, (uint32_t)bytes, first_line, off) : 0;
}

bool hs_python_describe(const void *roots, struct hs_script_memory *memory,
                        const struct hs_script_place *place, struct hs_script_frame *ret_frame)
{
    const struct hs_python_roots *python = roots;
    const struct hs_python_types *types = python->types;
    const struct hs_python_layout *layout = &types->layout;
    uint64_t code_va = place->code_va, file_va, name_va, lines_va;
    uint32_t first_line = hs_script_half(memory, code_va + layout->first_line);
    if (!is_of_type(memory, code_va, types->code_type_va) ||
        !read_word(memory, code_va + layout->file, &file_va) ||
        !read_word(memory, code_va + layout->name, &name_va) ||
        !read_word(memory, code_va + layout->lines, &lines_va)) {
        return false;
    }
    ret_frame->first_line = first_line <= INT32_MAX ? first_line : 0;
    ret_frame->line =
        line_of(memory, types, lines_va, ret_frame->first_line, offset_of(layout, place));
    bool has_name = copy_text(memory, types, name_va, python->words->function,
                              sizeof(python->words->function), &ret_frame->function);
    hs_script_change_list(memory);
    bool has_file = copy_text(memory, types, file_va, python->words->file,
                              sizeof(python->words->file), &ret_frame->file);
    hs_script_change_list(memory);
    if (!has_name || !has_file) {
        return false;
    }
    /* Since Python 3.13 the call of a class has a frame of the interpreter's own around __init__().
     * It is no function of the program. One text is its name and that of its file. */
    if (layout->minor >= 13 && file_va == name_va) {
        ret_frame->function.text = NULL;
    }
    return true;
}
