/*
 * Names and lines of Java methods. See java_method.h.
 */
#include "hotspot/java_method.h"

#include "hotspot/compressed_int.h"
#include "rt/base.h"
#include "rt/bits.h"

#define ACCESS_NATIVE    0x100U
#define CONST_BYTES_MAX  (UINT64_C(1) << 20)
#define LINE_CHUNK_BYTES 64U
/* A pair of numbers takes at most this many bytes. */
#define LINE_PAIR_BYTES_MAX 11U
#define LINE_PAIRS_MAX      65536U

/* The Symbol in a slot of the constant pool. */
static bool read_slot(const struct hs_hotspot_layout *layout,
                      const struct hs_hotspot_memory *memory, uint64_t pool_va, uint32_t idx,
                      uint64_t *ret_symbol_va)
{
    uint32_t length;
    return idx != 0 &&
           hs_hotspot_int(memory, pool_va + layout->at[HS_HOTSPOT_POOL_LENGTH], &length) &&
           idx < length &&
           hs_hotspot_word(memory,
                           pool_va + layout->size_bytes[HS_HOTSPOT_SIZE_POOL] + 8 * (uint64_t)idx,
                           ret_symbol_va);
}

static bool read_names(const struct hs_hotspot_layout *layout,
                       const struct hs_hotspot_memory *memory, uint64_t const_va,
                       struct hs_java_method *method)
{
    const uint64_t *at = layout->at;
    uint64_t pool_va, holder_va;
    uint16_t name_idx, source_idx;
    if (!hs_hotspot_word(memory, const_va + at[HS_HOTSPOT_CONST_POOL], &pool_va) ||
        !hs_hotspot_read(memory, const_va + at[HS_HOTSPOT_CONST_NAME], &name_idx, 2) ||
        !hs_hotspot_read(memory, pool_va + at[HS_HOTSPOT_POOL_SOURCE], &source_idx, 2) ||
        !hs_hotspot_word(memory, pool_va + at[HS_HOTSPOT_POOL_HOLDER], &holder_va) ||
        !hs_hotspot_word(memory, holder_va + at[HS_HOTSPOT_KLASS_NAME], &method->class_va) ||
        !read_slot(layout, memory, pool_va, name_idx, &method->name_va)) {
        return false;
    }
    if (!read_slot(layout, memory, pool_va, source_idx, &method->source_va)) {
        method->source_va = 0;
    }
    return true;
}

bool hs_java_method_read(const struct hs_hotspot_layout *layout,
                         const struct hs_hotspot_memory *memory, uint64_t method_va,
                         struct hs_java_method *ret_method)
{
    const uint64_t *at = layout->at;
    uint64_t const_va;
    uint32_t access, const_words;
    uint16_t code_bytes, flags;
    if (method_va % 8 != 0 ||
        !hs_hotspot_word(memory, method_va + at[HS_HOTSPOT_METHOD_CONST], &const_va) ||
        const_va % 8 != 0 ||
        !hs_hotspot_int(memory, method_va + at[HS_HOTSPOT_METHOD_ACCESS], &access) ||
        !hs_hotspot_int(memory, const_va + at[HS_HOTSPOT_CONST_SIZE], &const_words) ||
        !hs_hotspot_read(memory, const_va + at[HS_HOTSPOT_CONST_FLAGS], &flags, 2) ||
        !hs_hotspot_read(memory, const_va + at[HS_HOTSPOT_CONST_CODE_SIZE], &code_bytes, 2)) {
        return false;
    }
    ret_method->code_va = const_va + layout->size_bytes[HS_HOTSPOT_SIZE_CONST_METHOD];
    ret_method->code_bytes = code_bytes;
    ret_method->end_va = const_va + 8 * (uint64_t)const_words;
    ret_method->is_native = (access & ACCESS_NATIVE) != 0;
    ret_method->lines_va = (flags & (uint32_t)layout->constants[HS_HOTSPOT_HAS_LINES])
                               ? ret_method->code_va + code_bytes
                               : 0;
    return 8 * (uint64_t)const_words <= CONST_BYTES_MAX &&
           ret_method->code_va + code_bytes <= ret_method->end_va &&
           read_names(layout, memory, const_va, ret_method);
}

/* --- texts ------------------------------------------------------------------------------------ */

struct text {
    char *at;
    size_t length;
    size_t capacity; /* with the NUL */
};

/* Appends a Symbol, as much of it as there is room for. */
static bool append_symbol(const struct hs_hotspot_layout *layout,
                          const struct hs_hotspot_memory *memory, uint64_t symbol_va,
                          struct text *text)
{
    uint16_t length;
    if (!hs_hotspot_read(memory, symbol_va + layout->at[HS_HOTSPOT_SYMBOL_LENGTH], &length, 2) ||
        length == 0) {
        return false;
    }
    size_t room = text->capacity - text->length - 1, count = length < room ? length : room;
    if (!hs_hotspot_read(memory, symbol_va + layout->at[HS_HOTSPOT_SYMBOL_BODY],
                         text->at + text->length, count)) {
        return false;
    }
    text->length += count;
    return true;
}

/* From the form of class files to that of programs. */
static void make_external(struct text *text)
{
    for (size_t i = 0; i < text->length; i++) {
        char *c = &text->at[i];
        *c = *c == '/' ? '.' : *c == '+' ? '/' : (unsigned char)*c < ' ' ? '?' : *c;
    }
}

static size_t end_text(struct text *text)
{
    text->at[text->length] = '\0';
    return text->length;
}

size_t hs_java_method_function(const struct hs_hotspot_layout *layout,
                               const struct hs_hotspot_memory *memory,
                               const struct hs_java_method *method, char *ret_text, size_t capacity)
{
    struct text text = { .at = ret_text, .capacity = capacity };
    if (!append_symbol(layout, memory, method->class_va, &text)) {
        return 0;
    }
    make_external(&text);
    if (text.capacity - text.length > 1) {
        text.at[text.length++] = '.';
    }
    if (!append_symbol(layout, memory, method->name_va, &text)) {
        return 0;
    }
    return end_text(&text);
}

size_t hs_java_method_source(const struct hs_hotspot_layout *layout,
                             const struct hs_hotspot_memory *memory,
                             const struct hs_java_method *method, char *ret_text, size_t capacity)
{
    struct text text = { .at = ret_text, .capacity = capacity };
    if (method->source_va == 0 || !append_symbol(layout, memory, method->source_va, &text)) {
        text.length = 0;
    }
    return end_text(&text);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The table while it is read. */
struct line_reader {
    const struct hs_hotspot_memory *memory;
    uint64_t next_va; /* of the byte behind those in the buffer */
    uint64_t end_va;
    struct hs_cursor cursor;
    uint8_t bytes[LINE_CHUNK_BYTES];
};

/* Makes sure that a whole pair is in the buffer, if the table has one. */
static bool fill(struct line_reader *r)
{
    if (hs_cursor_left(&r->cursor) >= LINE_PAIR_BYTES_MAX) {
        return true;
    }
    uint64_t va = r->next_va - hs_cursor_left(&r->cursor);
    uint64_t left = va < r->end_va ? r->end_va - va : 0;
    size_t count = left < sizeof(r->bytes) ? (size_t)left : sizeof(r->bytes);
    if (count == 0 || !hs_hotspot_read(r->memory, va, r->bytes, count)) {
        return false;
    }
    r->cursor = (struct hs_cursor){ .at = r->bytes, .end = r->bytes + count };
    r->next_va = va + count;
    return true;
}

/* A byte 0 ends the table; 255 is followed by two numbers with signs; any other byte has five bits
 * for the bytecode and three for the line. */
uint32_t hs_java_method_line(const struct hs_hotspot_layout *layout,
                             const struct hs_hotspot_memory *memory,
                             const struct hs_java_method *method, uint32_t bci)
{
    struct line_reader r = { .memory = memory,
                             .next_va = method->lines_va,
                             .end_va = method->end_va };
    uint32_t line = 0, best_line = 0, best_bci = 0, at_bci = 0;
    if (method->lines_va == 0 || bci >= method->code_bytes) {
        return 0;
    }
    for (uint32_t i = 0; i < LINE_PAIRS_MAX && fill(&r); i++) {
        uint8_t byte = hs_cursor_u8(&r.cursor);
        if (byte == 0) {
            break;
        }
        if (byte == 0xff) {
            at_bci += (uint32_t)hs_compressed_signed(&r.cursor, layout->vm_major);
            line += (uint32_t)hs_compressed_signed(&r.cursor, layout->vm_major);
        } else {
            at_bci += byte >> 3;
            line += byte & 7;
        }
        if (r.cursor.is_bad) {
            return 0;
        }
        if (at_bci == bci) {
            return line;
        }
        /* Entries need not be sorted. */
        if (at_bci < bci && (best_line == 0 || at_bci >= best_bci)) {
            best_bci = at_bci;
            best_line = line;
        }
    }
    return best_line;
}

/* --- identity --------------------------------------------------------------------------------- */

#define HASH_BYTES_MAX 1024U

/* Adds bytes to a hash. */
static bool hash_bytes(const struct hs_hotspot_memory *memory, uint64_t va, uint64_t byte_count,
                       uint64_t *hash)
{
    uint64_t words[8];
    for (uint64_t off = 0; off < byte_count; off += sizeof(words)) {
        uint64_t left = byte_count - off;
        size_t count = left < sizeof(words) ? (size_t)left : sizeof(words);
        words[(count - 1) / 8] = 0;
        if (!hs_hotspot_read(memory, va + off, words, count)) {
            return false;
        }
        for (size_t i = 0; i < (count + 7) / 8; i++) {
            *hash = hs_hash_step(*hash, words[i]);
        }
    }
    return true;
}

static bool hash_symbol(const struct hs_hotspot_layout *layout,
                        const struct hs_hotspot_memory *memory, uint64_t symbol_va, uint64_t *hash)
{
    uint16_t length;
    *hash = hs_hash_step(*hash, symbol_va);
    return symbol_va == 0 ||
           (hs_hotspot_read(memory, symbol_va + layout->at[HS_HOTSPOT_SYMBOL_LENGTH], &length, 2) &&
            hash_bytes(memory, symbol_va + layout->at[HS_HOTSPOT_SYMBOL_BODY],
                       length < HASH_BYTES_MAX ? length : HASH_BYTES_MAX, hash));
}

uint64_t hs_java_method_hash(const struct hs_hotspot_layout *layout,
                             const struct hs_hotspot_memory *memory,
                             const struct hs_java_method *method)
{
    uint64_t hash = hs_hash_step(method->code_va, method->end_va);
    uint64_t line_bytes = method->lines_va ? method->end_va - method->lines_va : 0;
    if (!hash_symbol(layout, memory, method->class_va, &hash) ||
        !hash_symbol(layout, memory, method->name_va, &hash) ||
        !hash_symbol(layout, memory, method->source_va, &hash) ||
        !hash_bytes(memory, method->lines_va,
                    line_bytes < HASH_BYTES_MAX ? line_bytes : HASH_BYTES_MAX, &hash)) {
        return 0;
    }
    return hs_mix64(hash) | 1;
}
