/*
 * See breakpad.h. One pass remembers for each address what covers it; the names are added then,
 * because the builder wants each address once.
 */
#include "symbol/breakpad.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol_builder.h"
#include "util/array.h"

#define FILES_MAX   (UINT64_C(1) << 24)
#define INLINES_MAX 64U /* calls inlined into each other; deeper ones are left out */

struct piece {
    const char *text;
    size_t bytes;
};

/* A call that was inlined at an address, and where it stands in the function around it. */
struct inlined {
    uint64_t origin, file;
    uint32_t line;
    uint32_t outer; /* index + 1 of the call that this one lies in; 0: it lies in the FUNC */
};

/* What is known of one address. */
struct found {
    struct piece function; /* empty: no symbol covers it, because a function ends in front of it */
    uint64_t start;        /* of the symbol */
    uint64_t file;
    uint32_t line;
    uint32_t inlined, inlined_count; /* index + 1 of the innermost call; how many there are */
    bool is_func, is_public;
};

struct reader {
    struct hs_symbol_builder *builder;
    uint64_t base_sva;
    struct found *found; /* by address */
    struct piece *files; /* by number */
    size_t file_count, file_capacity;
    struct piece *origins; /* names of functions that were inlined, by number */
    size_t origin_count, origin_capacity;
    struct inlined *inlined;
    size_t inlined_count, inlined_capacity;
    uint64_t func_start, func_end; /* of the FUNC above; the end is 0 when there is none */
    int err;
};

/* --- lines --- */

static bool next_line(struct piece *rest, struct piece *ret_line)
{
    if (rest->bytes == 0) {
        return false;
    }
    const char *stop = memchr(rest->text, '\n', rest->bytes);
    size_t bytes = stop ? (size_t)(stop - rest->text) : rest->bytes;
    *ret_line = (struct piece){ rest->text, bytes };
    if (bytes > 0 && rest->text[bytes - 1] == '\r') {
        ret_line->bytes--;
    }
    bytes += stop != NULL;
    rest->text += bytes;
    rest->bytes -= bytes;
    return true;
}

static void skip_blanks(struct piece *line)
{
    while (line->bytes > 0 && *line->text == ' ') {
        line->text++;
        line->bytes--;
    }
}

/* Takes a word off the line; it is empty at the end. */
static struct piece take_word(struct piece *line)
{
    skip_blanks(line);
    struct piece word = { line->text, 0 };
    while (line->bytes > 0 && *line->text != ' ') {
        line->text++;
        line->bytes--;
        word.bytes++;
    }
    return word;
}

static bool take_number(struct piece *line, unsigned base, uint64_t *ret_number)
{
    struct piece word = take_word(line);
    uint64_t number = 0;
    for (size_t i = 0; i < word.bytes; i++) {
        char c = word.text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit >= base || number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    *ret_number = number;
    return word.bytes > 0;
}

static bool take_tag(struct piece *line, const char *tag)
{
    size_t bytes = strlen(tag);
    if (line->bytes < bytes || memcmp(line->text, tag, bytes) != 0) {
        return false;
    }
    line->text += bytes;
    line->bytes -= bytes;
    return true;
}

bool hs_breakpad_head(const char *text, size_t bytes, struct hs_breakpad_head *ret_head)
{
    struct piece rest = { text, bytes }, line;
    struct hs_breakpad_head head = { 0 };
    if (!next_line(&rest, &line) || !take_tag(&line, "MODULE ")) {
        return false;
    }
    (void)take_word(&line); /* system */
    (void)take_word(&line); /* processor */
    struct piece module_id = take_word(&line);
    head.module_id = module_id.text;
    head.module_id_bytes = module_id.bytes;
    skip_blanks(&line);
    head.name = line.text;
    head.name_bytes = line.bytes;
    while (next_line(&rest, &line) && take_tag(&line, "INFO ")) {
        if (take_tag(&line, "CODE_ID ")) {
            struct piece id = take_word(&line);
            head.code_id = id.text;
            head.code_id_bytes = id.bytes;
        }
    }
    *ret_head = head;
    return head.name_bytes > 0;
}

/* --- records --- */

/* An address of the builder as the file states it. */
static uint64_t pc_at(const struct reader *r, size_t i)
{
    uint64_t pc = r->builder->pcs[i];
    return pc > r->base_sva ? pc - r->base_sva : 0;
}

/* The first address that is at least `pc`. */
static size_t first_pc(const struct reader *r, uint64_t pc)
{
    size_t low = 0, high = r->builder->pc_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pc_at(r, middle) < pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Reads "0 /src/main.c" into an array of texts by number. */
static void read_text(struct reader *r, struct piece line, struct piece **texts, size_t *count,
                      size_t *capacity)
{
    uint64_t number;
    if (!take_number(&line, 10, &number) || number > *count + FILES_MAX / 256 ||
        number >= FILES_MAX) {
        return;
    }
    size_t wanted = (size_t)number + 1;
    r->err = hs_array_reserve(texts, capacity, wanted, sizeof((*texts)[0]));
    if (r->err == 0) {
        for (; *count < wanted; ++*count) {
            (*texts)[*count] = (struct piece){ 0 };
        }
        skip_blanks(&line);
        (*texts)[number] = line;
    }
}

/*
 * From `pc` on, the symbol that starts at `start` counts. It is noted at the first address there
 * only; add_names() carries it on.
 */
static void note_symbol(struct reader *r, uint64_t pc, uint64_t start, struct piece name)
{
    size_t i = first_pc(r, pc);
    struct found *found = &r->found[i];
    if (i < r->builder->pc_count && !found->is_func &&
        (!found->is_public || found->start < start)) {
        *found = (struct found){ .function = name, .start = start, .is_public = true };
    }
}

/* Reads "m 1130 2a 0 main"; the first word may be missing. */
static void read_func(struct reader *r, struct piece line)
{
    uint64_t start, size, unused;
    (void)take_tag(&line, "m ");
    r->func_end = 0;
    if (!take_number(&line, 16, &start) || !take_number(&line, 16, &size) ||
        !take_number(&line, 16, &unused) || size == 0 || size > UINT64_MAX - start) {
        return;
    }
    skip_blanks(&line);
    r->func_start = start;
    r->func_end = start + size;
    for (size_t i = first_pc(r, start); i < r->builder->pc_count; i++) {
        struct found *found = &r->found[i];
        if (pc_at(r, i) >= r->func_end) {
            break;
        }
        if (found->is_func) {
            break; /* a function that overlaps another one: the first counts */
        }
        *found = (struct found){ .function = line, .start = start, .is_func = true };
    }
    note_symbol(r, r->func_end, start, (struct piece){ 0 });
}

/* Reads "1130 8 12 0": address, size, line, file. */
static void read_line(struct reader *r, struct piece line)
{
    uint64_t start, size, number, file;
    if (!take_number(&line, 16, &start) || !take_number(&line, 16, &size) ||
        !take_number(&line, 10, &number) || !take_number(&line, 10, &file) ||
        start < r->func_start || start >= r->func_end || size > r->func_end - start ||
        number > UINT32_MAX) {
        return;
    }
    for (size_t i = first_pc(r, start); i < r->builder->pc_count; i++) {
        struct found *found = &r->found[i];
        if (pc_at(r, i) >= start + size || found->start != r->func_start) {
            break;
        }
        if (found->line > 0) {
            break; /* the first counts */
        }
        found->line = (uint32_t)number;
        found->file = file;
    }
}

/* Notes the call at the addresses of a range. Calls come behind those that they lie in, so that an
 * address of the range has `level` of them already; else the line is damaged. */
static void note_inlined(struct reader *r, uint64_t start, uint64_t size, uint64_t level,
                         const struct inlined *call)
{
    for (size_t i = first_pc(r, start); i < r->builder->pc_count && r->err == 0; i++) {
        struct found *found = &r->found[i];
        if (pc_at(r, i) >= start + size || !found->is_func || found->start != r->func_start ||
            found->inlined_count != level) {
            break;
        }
        r->err = hs_array_reserve(&r->inlined, &r->inlined_capacity, r->inlined_count + 1,
                                  sizeof(r->inlined[0]));
        if (r->err == 0) {
            r->inlined[r->inlined_count] = *call;
            r->inlined[r->inlined_count].outer = found->inlined;
            found->inlined = (uint32_t)++r->inlined_count;
            found->inlined_count++;
        }
    }
}

/* Reads "0 25 1 7 1130 8 1140 2": level, line and file of the call, origin, then addresses and
 * sizes. */
static void read_inline(struct reader *r, struct piece line)
{
    uint64_t level, number, start, size;
    struct inlined call = { 0 };
    if (!take_number(&line, 10, &level) || !take_number(&line, 10, &number) ||
        !take_number(&line, 10, &call.file) || !take_number(&line, 10, &call.origin) ||
        number > UINT32_MAX || level >= INLINES_MAX) {
        return;
    }
    call.line = (uint32_t)number;
    while (r->err == 0 && take_number(&line, 16, &start) && take_number(&line, 16, &size)) {
        if (start >= r->func_start && start < r->func_end && size <= r->func_end - start) {
            note_inlined(r, start, size, level, &call);
        }
    }
}

/* Reads "m 1200 0 start". */
static void read_public(struct reader *r, struct piece line)
{
    uint64_t start, unused;
    (void)take_tag(&line, "m ");
    if (take_number(&line, 16, &start) && take_number(&line, 16, &unused)) {
        skip_blanks(&line);
        note_symbol(r, start, start, line);
    }
}

static void read_record(struct reader *r, struct piece line)
{
    if (take_tag(&line, "FILE ")) {
        read_text(r, line, &r->files, &r->file_count, &r->file_capacity);
    } else if (take_tag(&line, "INLINE_ORIGIN ")) {
        read_text(r, line, &r->origins, &r->origin_count, &r->origin_capacity);
    } else if (r->func_end > 0 && take_tag(&line, "INLINE ")) {
        read_inline(r, line);
    } else if (take_tag(&line, "FUNC ")) {
        read_func(r, line);
    } else if (take_tag(&line, "PUBLIC ")) {
        read_public(r, line);
    } else if (r->func_end > 0 && line.bytes > 0 && line.text[0] != 'I' && line.text[0] != 'S') {
        read_line(r, line); /* not INFO or STACK */
    }
}

/* --- names --- */

static const char *copy(struct reader *r, struct piece piece, char **ret_copy)
{
    *ret_copy = strndup(piece.text ? piece.text : "", piece.bytes);
    r->err = r->err ? r->err : *ret_copy ? 0 : -ENOMEM;
    return *ret_copy ? *ret_copy : "";
}

static void add_line(struct reader *r, size_t pc_idx, struct piece function, uint64_t file,
                     uint32_t line)
{
    char *name, *path;
    struct piece text = line > 0 && file < r->file_count ? r->files[file] : (struct piece){ 0 };
    const char *shown = copy(r, function, &name), *shown_path = copy(r, text, &path);
    hs_symbol_builder_line(r->builder, pc_idx, hs_symbol_builder_name(r->builder, shown),
                           hs_symbol_builder_string(r->builder, shown_path), line);
    free(name);
    free(path);
}

/* Adds the names of an address, the innermost call first. Each call stands on a line of the
 * function around it. */
static void add_name(struct reader *r, size_t pc_idx, const struct found *found)
{
    uint64_t file = found->file;
    uint32_t line = found->line;
    for (uint32_t i = found->is_func ? found->inlined : 0; i > 0; i = r->inlined[i - 1].outer) {
        const struct inlined *call = &r->inlined[i - 1];
        if (call->origin < r->origin_count && r->origins[call->origin].bytes > 0) {
            add_line(r, pc_idx, r->origins[call->origin], file, line);
        }
        file = call->file;
        line = call->line;
    }
    add_line(r, pc_idx, found->function, file, line);
    hs_symbol_builder_source(r->builder,
                             found->line > 0 ? HS_SYMBOL_SOURCE_DWARF : HS_SYMBOL_SOURCE_SYMTAB);
}

static void add_names(struct reader *r)
{
    const struct found *symbol = NULL; /* the last one that was noted */
    for (size_t i = 0; i < r->builder->pc_count && r->err == 0; i++) {
        const struct found *found = &r->found[i];
        symbol = found->is_public ? found : symbol;
        const struct found *best = found->is_func ? found : symbol;
        if (best && best->function.bytes > 0 && !hs_symbol_builder_has(r->builder, i)) {
            add_name(r, i, best);
        }
    }
}

int hs_breakpad_names(struct hs_symbol_builder *builder, uint64_t base_sva, const char *text,
                      size_t bytes)
{
    struct reader r = {
        .builder = builder,
        .base_sva = base_sva,
        .found = calloc(builder->pc_count + 1, sizeof(*r.found)),
    };
    struct piece rest = { text, bytes }, line;
    r.err = r.found ? 0 : -ENOMEM;
    while (r.err == 0 && next_line(&rest, &line)) {
        read_record(&r, line);
    }
    add_names(&r);
    free(r.found);
    free(r.files);
    free(r.origins);
    free(r.inlined);
    return r.err ? r.err : builder->err;
}
