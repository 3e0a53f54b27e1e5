/*
 * Reads objects of V8's heap. See v8_object.h.
 */
#include "v8/v8_object.h"

#include <string.h>

/* Strings in one: halves of halves. */
#define STRINGS_MAX 64U
#define DEPTH_MAX   16U
/* References that lead from a string to the one that has its characters. */
#define HOPS_MAX 8U
/* Characters that are read at once, in bytes. */
#define CHUNK_BYTES 256U
/* In the type of an external string: it does not keep the address of its characters. No symbol
 * says so. */
#define UNCACHED_BIT 0x10U

#define REPLACEMENT  0xfffdU

static int64_t value(const struct hs_v8 *v8, enum hs_v8_value which)
{
    return v8->layout->value[which];
}

bool hs_v8_word(const struct hs_v8 *v8, uint64_t object, int64_t offset_bytes, uint64_t *ret_word)
{
    uint64_t va = object - (uint64_t)value(v8, HS_V8_OBJECT_TAG) + (uint64_t)offset_bytes;
    return v8->memory.read(v8->memory.ctx, va, ret_word, sizeof(*ret_word));
}

bool hs_v8_smi(const struct hs_v8 *v8, uint64_t word, uint32_t *ret_number)
{
    unsigned shift = (unsigned)(value(v8, HS_V8_SMI_SHIFT) + value(v8, HS_V8_SMI_SHIFT_MORE));
    if ((word & ((UINT64_C(1) << shift) - 1)) != 0 || word >> 63) {
        return false;
    }
    *ret_number = (uint32_t)(word >> shift);
    return true;
}

bool hs_v8_follow(const struct hs_v8 *v8, uint64_t *object, uint64_t *ret_map)
{
    uint64_t map, moved;
    if (!hs_v8_is_object(v8, *object) ||
        !hs_v8_word(v8, *object, value(v8, HS_V8_OBJECT_MAP), &map)) {
        return false;
    }
    if (map != 0 && (map & (uint64_t)value(v8, HS_V8_OBJECT_TAG_MASK)) == 0) {
        moved = map + (uint64_t)value(v8, HS_V8_OBJECT_TAG);
        if (!hs_v8_word(v8, moved, value(v8, HS_V8_OBJECT_MAP), &map)) {
            return false;
        }
        *object = moved;
    }
    *ret_map = map;
    return hs_v8_is_object(v8, map);
}

bool hs_v8_type(const struct hs_v8 *v8, uint64_t *object, uint32_t *ret_type)
{
    uint64_t map;
    uint16_t type;
    if (!hs_v8_follow(v8, object, &map) ||
        !v8->memory.read(v8->memory.ctx,
                         map - (uint64_t)value(v8, HS_V8_OBJECT_TAG) +
                             (uint64_t)value(v8, HS_V8_MAP_TYPE),
                         &type, sizeof(type))) {
        return false;
    }
    *ret_type = type;
    return true;
}

/* --- strings ---------------------------------------------------------------------------------- */

/* A part of a string. */
struct part {
    uint64_t string;
    uint32_t first;
    uint32_t count;
};

/* Characters in memory, one or two bytes each. */
struct chars {
    uint64_t va;
    uint32_t count;
    bool is_two_byte;
};

enum find {
    FIND_CHARS,
    FIND_CONS, /* the string consists of two others */
    FIND_NONE,
};

static bool read_length(const struct hs_v8 *v8, uint64_t string, uint32_t *ret_length)
{
    return v8->memory.read(v8->memory.ctx,
                           string - (uint64_t)value(v8, HS_V8_OBJECT_TAG) +
                               (uint64_t)value(v8, HS_V8_STRING_LENGTH),
                           ret_length, sizeof(*ret_length));
}

/* Where the characters of a string of a type are that has them itself. */
static bool locate_chars(const struct hs_v8 *v8, uint64_t string, uint32_t type, uint64_t *ret_va)
{
    const int32_t *values = v8->layout->value;
    uint32_t kind = type & (uint32_t)values[HS_V8_STRING_KIND_MASK];
    bool is_one_byte = (type & (uint32_t)values[HS_V8_STRING_WIDTH_MASK]) ==
                       (uint32_t)values[HS_V8_STRING_ONE_BYTE];
    if (kind == (uint32_t)values[HS_V8_STRING_SEQ]) {
        *ret_va = string - (uint64_t)values[HS_V8_OBJECT_TAG] +
                  (uint64_t)values[is_one_byte ? HS_V8_ONE_BYTE_CHARS : HS_V8_TWO_BYTE_CHARS];
        return true;
    }
    return kind == (uint32_t)values[HS_V8_STRING_EXTERNAL] && (type & UNCACHED_BIT) == 0 &&
           hs_v8_word(v8, string, values[HS_V8_EXTERNAL_RESOURCE] + 8, ret_va);
}

/* Goes from a part of a string to the string that has its characters, or two halves. */
static enum find find_part(const struct hs_v8 *v8, struct part *part, struct chars *ret_chars)
{
    const int32_t *values = v8->layout->value;
    for (uint32_t hops = 0; hops < HOPS_MAX; hops++) {
        uint32_t type, length, offset;
        uint64_t next, word;
        if (!hs_v8_type(v8, &part->string, &type) ||
            type >= (uint32_t)values[HS_V8_TYPE_STRING_END] ||
            !read_length(v8, part->string, &length) || part->first > length ||
            part->count > length - part->first) {
            return FIND_NONE;
        }
        uint32_t kind = type & (uint32_t)values[HS_V8_STRING_KIND_MASK];
        if (kind == (uint32_t)values[HS_V8_STRING_CONS]) {
            return FIND_CONS;
        }
        if (kind == (uint32_t)values[HS_V8_STRING_THIN]) {
            if (!hs_v8_word(v8, part->string, values[HS_V8_THIN_ACTUAL], &next)) {
                return FIND_NONE;
            }
        } else if (kind == (uint32_t)values[HS_V8_STRING_SLICED]) {
            if (!hs_v8_word(v8, part->string, values[HS_V8_SLICED_PARENT], &next) ||
                !hs_v8_word(v8, part->string, values[HS_V8_SLICED_OFFSET], &word) ||
                !hs_v8_smi(v8, word, &offset) || offset > UINT32_MAX / 2) {
                return FIND_NONE;
            }
            part->first += offset;
        } else {
            ret_chars->is_two_byte = (type & (uint32_t)values[HS_V8_STRING_WIDTH_MASK]) !=
                                     (uint32_t)values[HS_V8_STRING_ONE_BYTE];
            ret_chars->count = part->count;
            if (!locate_chars(v8, part->string, type, &ret_chars->va)) {
                return FIND_NONE;
            }
            ret_chars->va += (uint64_t)part->first << ret_chars->is_two_byte;
            return FIND_CHARS;
        }
        part->string = next;
    }
    return FIND_NONE;
}

/* Reads up to CHUNK_BYTES of characters from number `from`; returns how many: 0 is an error. */
static uint32_t read_chunk(const struct hs_v8 *v8, const struct chars *chars, uint32_t from,
                           uint16_t *ret_chars)
{
    uint8_t bytes[CHUNK_BYTES];
    uint32_t count = CHUNK_BYTES >> chars->is_two_byte;
    count = count < chars->count - from ? count : chars->count - from;
    if (!v8->memory.read(v8->memory.ctx, chars->va + ((uint64_t)from << chars->is_two_byte), bytes,
                         (size_t)count << chars->is_two_byte)) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        ret_chars[i] = chars->is_two_byte
                           ? (uint16_t)(bytes[2 * i] | (unsigned)bytes[2 * i + 1] << 8)
                           : bytes[i];
    }
    return count;
}

/* --- UTF-8 ------------------------------------------------------------------------------------ */

static void put_code_point(struct hs_v8_text *text, uint32_t code)
{
    code = code == 0 ? '?' : code; /* the text ends with a NUL */
    uint32_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (text->is_cut || bytes > text->max_bytes - text->bytes) {
        text->is_cut = true;
        return;
    }
    char *to = text->text + text->bytes;
    static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (uint32_t i = bytes - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    to[0] = (char)(first[bytes] | code);
    text->bytes += bytes;
}

/* Appends UTF-16. `pending`: the first half of a pair, which goes on in the next chunk; 0: none. */
static void put_chars(struct hs_v8_text *text, const uint16_t *chars, uint32_t count,
                      uint16_t *pending)
{
    for (uint32_t i = 0; i < count; i++) {
        bool is_second = chars[i] >= 0xdc00 && chars[i] < 0xe000;
        uint16_t before = *pending;
        *pending = 0;
        if (before && is_second) {
            put_code_point(text, 0x10000 + ((before - 0xd800U) << 10) + (chars[i] - 0xdc00U));
            continue;
        }
        if (before) {
            put_code_point(text, REPLACEMENT);
        }
        if (chars[i] >= 0xd800 && chars[i] < 0xdc00) {
            *pending = chars[i];
        } else {
            put_code_point(text, is_second ? REPLACEMENT : chars[i]);
        }
    }
}

/* Appends characters; `pending` as above. */
static bool put_all(const struct hs_v8 *v8, const struct chars *chars, struct hs_v8_text *text,
                    uint16_t *pending)
{
    uint16_t chunk[CHUNK_BYTES];
    for (uint32_t from = 0; from < chars->count && !text->is_cut;) {
        uint32_t count = read_chunk(v8, chars, from, chunk);
        if (count == 0) {
            return false;
        }
        put_chars(text, chunk, count, pending);
        from += count;
    }
    return true;
}

/* Replaces a part of a string of two halves by what it has of each. */
static bool push_halves(const struct hs_v8 *v8, const struct part *part, struct part *parts,
                        uint32_t *depth)
{
    struct part first = { .first = part->first }, second = { 0 };
    uint32_t length;
    if (*depth + 2 > DEPTH_MAX ||
        !hs_v8_word(v8, part->string, v8->layout->value[HS_V8_CONS_FIRST], &first.string) ||
        !hs_v8_word(v8, part->string, v8->layout->value[HS_V8_CONS_SECOND], &second.string) ||
        !hs_v8_is_object(v8, first.string) || !read_length(v8, first.string, &length)) {
        return false;
    }
    uint32_t in_first = part->first < length ? length - part->first : 0;
    first.count = part->count < in_first ? part->count : in_first;
    second.count = part->count - first.count;
    second.first = part->first > length ? part->first - length : 0;
    if (second.count > 0) {
        parts[(*depth)++] = second;
    }
    if (first.count > 0) {
        parts[(*depth)++] = first;
    }
    return true;
}

bool hs_v8_text_add(const struct hs_v8 *v8, uint64_t string, struct hs_v8_text *text)
{
    struct part parts[DEPTH_MAX] = { { .string = string } };
    uint32_t depth = 1, type;
    uint16_t pending = 0;
    if (!hs_v8_type(v8, &parts[0].string, &type) ||
        type >= (uint32_t)v8->layout->value[HS_V8_TYPE_STRING_END] ||
        !read_length(v8, parts[0].string, &parts[0].count)) {
        return false;
    }
    bool is_good = true;
    for (uint32_t n = 0; is_good && depth > 0 && !text->is_cut; n++) {
        struct part part = parts[--depth];
        struct chars chars;
        enum find find = n < STRINGS_MAX ? find_part(v8, &part, &chars) : FIND_NONE;
        is_good = find == FIND_CHARS  ? put_all(v8, &chars, text, &pending)
                  : find == FIND_CONS ? push_halves(v8, &part, parts, &depth)
                                      : false;
    }
    if (pending) {
        put_code_point(text, REPLACEMENT);
    }
    return is_good;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The same as find_part, for a string which may have been flattened: then its first half is all of
 * it. */
static bool find_flat(const struct hs_v8 *v8, struct part part, struct chars *ret_chars)
{
    enum find find = find_part(v8, &part, ret_chars);
    if (find == FIND_CONS &&
        hs_v8_word(v8, part.string, v8->layout->value[HS_V8_CONS_FIRST], &part.string)) {
        find = find_part(v8, &part, ret_chars);
    }
    return find == FIND_CHARS;
}

/* Counts the line feeds in bytes, eight at once: the sources of node's own functions have many
 * megabytes. False: there is a carriage return. */
static bool count_line_feeds(const uint8_t *bytes, uint32_t count, uint32_t *line_ends)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), sevens = 0x7f * ones;
    uint32_t line_feeds = 0, i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof(word));
        uint64_t feed = word ^ ('\n' * ones), carriage = word ^ ('\r' * ones);
        /* The highest bit of each byte that is 0. */
        feed = ~(((feed & sevens) + sevens) | feed | sevens);
        carriage = ~(((carriage & sevens) + sevens) | carriage | sevens);
        if (carriage != 0) {
            return false;
        }
        line_feeds += (uint32_t)__builtin_popcountll(feed);
    }
    for (; i < count; i++) {
        if (bytes[i] == '\r') {
            return false;
        }
        line_feeds += bytes[i] == '\n';
    }
    *line_ends += line_feeds;
    return true;
}

/* The same for a chunk of a string, if it has one byte a character, and no carriage return. */
static bool count_chunk(const struct hs_v8 *v8, const struct chars *chars, uint32_t from,
                        uint32_t count, uint32_t *line_ends)
{
    uint8_t bytes[CHUNK_BYTES];
    return !chars->is_two_byte && v8->memory.read(v8->memory.ctx, chars->va + from, bytes, count) &&
           count_line_feeds(bytes, count, line_ends);
}

bool hs_v8_count_lines(const struct hs_v8 *v8, uint64_t string, uint32_t position,
                       uint32_t *ret_line_ends)
{
    const struct part part = { .string = string, .count = position };
    struct chars chars;
    uint16_t chunk[CHUNK_BYTES], last = 0;
    uint32_t line_ends = 0;
    if (position > HS_V8_SCAN_CHARS_MAX || !find_flat(v8, part, &chars)) {
        return false;
    }
    for (uint32_t from = 0; from < position;) {
        uint32_t left = position - from, count = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        if (last != '\r' && count_chunk(v8, &chars, from, count, &line_ends)) {
            from += count;
            continue;
        }
        count = read_chunk(v8, &chars, from, chunk);
        if (count == 0) {
            return false;
        }
        for (uint32_t i = 0; i < count; i++) {
            uint16_t c = chunk[i];
            line_ends += (c == '\n' && last != '\r') || c == '\r' || c == 0x2028 || c == 0x2029;
            last = c;
        }
        from += count;
    }
    *ret_line_ends = line_ends;
    return true;
}
