/*
 * Builds symbol tables. See symbol_builder.h.
 *
 * A profile contains the same few thousand functions many times. Each string is therefore stored
 * once, together with its demangled form.
 */
#include "symbol/symbol_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "symbol/demangle.h"
#include "symbol/pc_search.h"
#include "util/array.h"
#include "util/buf.h"

#define STRINGS_MAX_BYTES (UINT32_C(1) << 30)
/* A longer name, which only a hostile file contains, is cut. */
#define STRING_MAX_BYTES HS_DEMANGLED_BYTES_MAX

#if HS_HAS_CHECKS
static bool are_ascending(const uint64_t *pcs, size_t pc_count)
{
    for (size_t i = 1; i < pc_count; i++) {
        if (pcs[i - 1] >= pcs[i]) {
            return false;
        }
    }
    return true;
}
#endif

int hs_symbol_builder_init(struct hs_symbol_builder *builder, const uint64_t *pcs, size_t pc_count)
{
    *builder = (struct hs_symbol_builder){ .pcs = pcs, .pc_count = pc_count };
    HS_ASSERT_SLOW(are_ascending(pcs, pc_count));
    builder->string_capacity_bytes = 16384;
    builder->table.strings = malloc(builder->string_capacity_bytes);
    builder->line_capacity = pc_count * 2 + 16;
    builder->table.lines = malloc(builder->line_capacity * sizeof(*builder->table.lines));
    builder->table.spans = calloc(pc_count + 1, sizeof(*builder->table.spans));
    builder->table.span_count = (uint32_t)pc_count;
    builder->demangle_buf = malloc(HS_DEMANGLED_BYTES_MAX);
    if (pc_count >= UINT32_MAX || !builder->table.strings || !builder->table.lines ||
        !builder->table.spans || !builder->demangle_buf) {
        hs_symbol_builder_deinit(builder);
        return -ENOMEM;
    }
    builder->table.strings[0] = '\0';
    builder->table.string_bytes = 1;
    return 0;
}

void hs_symbol_builder_deinit(struct hs_symbol_builder *builder)
{
    hs_symbol_table_deinit(&builder->table);
    hs_intern_deinit(&builder->string_ids);
    free(builder->entries);
    free(builder->demangle_buf);
    *builder = (struct hs_symbol_builder){ 0 };
}

static int append_string(struct hs_symbol_builder *builder, const char *text, size_t bytes)
{
    struct hs_symbol_table *table = &builder->table;
    if (bytes + 1 > STRINGS_MAX_BYTES - table->string_bytes) {
        return -ENOMEM;
    }
    int err = hs_array_reserve(&table->strings, &builder->string_capacity_bytes,
                               table->string_bytes + bytes + 1, 1);
    if (err != 0) {
        return err;
    }
    memcpy(table->strings + table->string_bytes, text, bytes);
    table->strings[table->string_bytes + bytes] = '\0';
    table->string_bytes += (uint32_t)(bytes + 1);
    return 0;
}

/* Interns a text without control characters. 0 after a failure. */
static uint32_t id_of(struct hs_symbol_builder *builder, const char *text, size_t bytes)
{
    uint32_t id = 0;
    bool is_new = false;
    builder->err = hs_intern_put(&builder->string_ids, hs_intern_hash(text, bytes), &id, &is_new);
    if (builder->err != 0 || !is_new) {
        return id;
    }
    builder->err = hs_array_reserve(&builder->entries, &builder->entry_capacity, (size_t)id + 1,
                                    sizeof(*builder->entries));
    uint32_t off = builder->table.string_bytes;
    if (builder->err == 0) {
        builder->err = append_string(builder, text, bytes);
    }
    if (builder->err == 0) {
        builder->entries[id] = (struct hs_symbol_string_entry){ .off = off };
    }
    return id;
}

/*
 * The size of the control character with which text[0 .. bytes) begins; 0 when it is none. U+0080
 * to U+009F are control characters too: a terminal may interpret U+009B as an escape sequence.
 */
static size_t control_bytes(const char *text, size_t bytes)
{
    unsigned char c = (unsigned char)text[0];
    if (c < 0x20 || c == 0x7f) {
        return 1;
    }
    return c == 0xc2 && bytes > 1 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0
               ? 2
               : 0;
}

/* True: eight bytes at once are printable ASCII, as those of nearly all names. */
static bool are_printable(const char *text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high_bits = 0x80 * ones;
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    /* A byte below ' ' borrows; DEL becomes 0x80 by adding one; others have the high bit. */
    uint64_t is_low = (word - ' ' * ones) & ~word, is_high = (word + ones) | word;
    return ((is_low | is_high) & high_bits) == 0;
}

/* Interns text[0 .. bytes), which holds no NUL, with its control characters replaced. */
static uint32_t intern(struct hs_symbol_builder *builder, const char *text, size_t bytes)
{
    if (bytes > STRING_MAX_BYTES) {
        bytes = STRING_MAX_BYTES;
    }
    size_t clean = 0;
    while (bytes - clean >= sizeof(uint64_t) && are_printable(text + clean)) {
        clean += sizeof(uint64_t);
    }
    while (clean < bytes && control_bytes(text + clean, bytes - clean) == 0) {
        clean++;
    }
    if (clean == bytes) {
        return id_of(builder, text, bytes);
    }
    char *copy = malloc(bytes);
    if (!copy) {
        builder->err = -ENOMEM;
        return 0;
    }
    size_t copied = 0;
    for (size_t i = 0; i < bytes;) {
        size_t control = control_bytes(text + i, bytes - i);
        copy[copied++] = control > 0 ? '?' : text[i];
        i += control > 0 ? control : 1;
    }
    uint32_t id = id_of(builder, copy, copied);
    free(copy);
    return id;
}

uint32_t hs_symbol_builder_string(struct hs_symbol_builder *builder, const char *text)
{
    if (builder->err != 0 || !text || !*text) {
        return 0;
    }
    uint32_t id = intern(builder, text, strlen(text));
    return builder->err == 0 ? builder->entries[id].off : 0;
}

/*
 * The length without the version: "memcpy@@GLIBC_2.14" is memcpy. A name that begins with '@' is
 * something else, and kept.
 */
static size_t bytes_without_version(const char *raw, size_t bytes)
{
    const char *at = memchr(raw, '@', bytes);
    return at && at != raw ? (size_t)(at - raw) : bytes;
}

static uint32_t demangled_off(struct hs_symbol_builder *builder, const char *raw, uint32_t raw_off)
{
    size_t bytes = strlen(raw);
    size_t bare = bytes_without_version(raw, bytes);
    const char *text = raw;
    char *copy = NULL;
    if (bare < bytes) {
        copy = strndup(raw, bare);
        if (!copy) {
            builder->err = -ENOMEM;
            return 0;
        }
        text = copy;
    }
    uint32_t off = raw_off;
    if (hs_demangle(text, builder->demangle_buf, HS_DEMANGLED_BYTES_MAX)) {
        off = hs_symbol_builder_string(builder, builder->demangle_buf);
    } else if (copy) {
        off = hs_symbol_builder_string(builder, copy);
    }
    free(copy);
    return off;
}

struct hs_symbol_name hs_symbol_builder_name(struct hs_symbol_builder *builder, const char *raw)
{
    struct hs_symbol_name name = { 0 };
    if (builder->err != 0 || !raw || !*raw) {
        return name;
    }
    uint32_t id = intern(builder, raw, strlen(raw));
    if (builder->err != 0) {
        return name;
    }
    name.system_name_off = builder->entries[id].off;
    if (builder->entries[id].demangled_off == 0) {
        uint32_t off = demangled_off(builder, raw, name.system_name_off);
        builder->entries[id].demangled_off = off;
    }
    name.function_off = builder->entries[id].demangled_off;
    return name;
}

struct hs_symbol_name hs_symbol_builder_name_pair(struct hs_symbol_builder *builder,
                                                  const char *system_name, const char *plain)
{
    struct hs_symbol_name name = hs_symbol_builder_name(builder, system_name ? system_name : plain);
    if (system_name && plain && name.function_off == name.system_name_off) {
        uint32_t off = hs_symbol_builder_string(builder, plain);
        name.function_off = off != 0 ? off : name.function_off;
    }
    return name;
}

void hs_symbol_builder_line(struct hs_symbol_builder *builder, size_t pc_idx,
                            struct hs_symbol_name name, uint32_t file_off, uint32_t line)
{
    struct hs_symbol_table *table = &builder->table;
    if (builder->err != 0) {
        return;
    }
    if (table->line_count >= UINT32_MAX / 2) {
        builder->err = -ENOMEM;
        return;
    }
    builder->err = hs_array_reserve(&table->lines, &builder->line_capacity,
                                    (size_t)table->line_count + 1, sizeof(*table->lines));
    if (builder->err != 0) {
        return;
    }
    struct hs_symbol_span *span = &table->spans[pc_idx];
    if (span->line_count == 0) {
        span->line_first = table->line_count;
    }
    span->line_count++;
    table->lines[table->line_count++] = (struct hs_symbol_line){
        .function_off = name.function_off,
        .system_name_off = name.system_name_off,
        .file_off = file_off,
        .line = file_off != 0 ? line : 0,
    };
}

void hs_symbol_builder_folded(struct hs_symbol_builder *builder, size_t pc_idx, const char *mark,
                              uint32_t folded_off)
{
    struct hs_symbol_table *table = &builder->table;
    const struct hs_symbol_span *span = &table->spans[pc_idx];
    struct hs_buf text = HS_BUF_INIT;
    if (builder->err != 0 || span->line_count == 0) {
        return;
    }
    uint32_t last = span->line_first + span->line_count - 1;
    hs_buf_printf(&text, "%s%s", table->strings + table->lines[last].function_off, mark);
    table->lines[last].function_off = hs_symbol_builder_string(builder, hs_buf_text(&text));
    table->lines[last].folded_off = folded_off;
    builder->err = builder->err ? builder->err : text.err;
    hs_buf_deinit(&text);
}

void hs_symbol_builder_source(struct hs_symbol_builder *builder, enum hs_symbol_source source)
{
    if (source > builder->table.source) {
        builder->table.source = source;
    }
}

/* The index of `pc`, which is probably the one behind `guess`; pc_count when it is not there. */
static size_t find_pc(const struct hs_symbol_builder *builder, uint64_t pc, size_t guess)
{
    if (guess + 1 < builder->pc_count && builder->pcs[guess + 1] == pc) {
        return guess + 1;
    }
    size_t idx = hs_pc_first(builder->pcs, builder->pc_count, pc);
    return idx < builder->pc_count && builder->pcs[idx] == pc ? idx : builder->pc_count;
}

static void count_named(struct hs_symbol_table *table)
{
    for (uint32_t i = 0; i < table->span_count; i++) {
        if (table->spans[i].line_count > 0) {
            const struct hs_symbol_line *line = &table->lines[table->spans[i].line_first];
            table->named_count += line->function_off != 0;
            table->lined_count += line->line != 0;
        }
    }
}

int hs_symbol_builder_finish(struct hs_symbol_builder *builder, const uint64_t *rel_pcs,
                             size_t rel_pc_count, struct hs_symbol_table *ret_table)
{
    if (builder->err != 0) {
        return builder->err;
    }
    struct hs_symbol_span *spans = calloc(rel_pc_count + 1, sizeof(*spans));
    if (!spans || rel_pc_count >= UINT32_MAX) {
        free(spans);
        return -ENOMEM;
    }
    size_t idx = 0;
    for (size_t i = 0; i < rel_pc_count; i++) {
        idx = find_pc(builder, rel_pcs[i], idx);
        if (idx < builder->pc_count) {
            spans[i] = builder->table.spans[idx];
        }
    }
    *ret_table = builder->table;
    builder->table = (struct hs_symbol_table){ 0 };
    free(ret_table->spans);
    ret_table->spans = spans;
    ret_table->span_count = (uint32_t)rel_pc_count;
    count_named(ret_table);
    return 0;
}
