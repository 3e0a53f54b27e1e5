/*
 * See heap_text_go.h.
 */
#include "profile/read/heap_text_go.h"

#include "trace/snapshot.h"

#define DEPTH_MAX 256 /* Go itself records 32 frames, and the functions inlined in them */

struct place {
    struct hs_line_at function, file;
    uint64_t va, line;
};

static size_t bytes_of(const struct hs_line_at *text)
{
    return (size_t)(text->end - text->at);
}

/* Takes a column: from the first character that is not blank up to the next tabs. */
static struct hs_line_at take_column(struct hs_line_at *at)
{
    hs_line_blanks(at);
    struct hs_line_at column = *at;
    const char *stop = memchr(at->at, '\t', bytes_of(at));
    column.end = stop ? stop : at->end;
    at->at = column.end;
    return column;
}

/* Cuts off "+0x84". */
static void cut_offset(struct hs_line_at *function)
{
    const char *plus = memrchr(function->at, '+', bytes_of(function));
    struct hs_line_at offset = { .at = plus ? plus + 1 : function->end, .end = function->end };
    uint64_t unused;
    if (plus && hs_line_address(&offset, &unused) && offset.at == offset.end) {
        function->end = plus;
    }
}

/* Cuts off ":17". */
static uint64_t cut_line(struct hs_line_at *file)
{
    const char *colon = memrchr(file->at, ':', bytes_of(file));
    struct hs_line_at number = { .at = colon ? colon + 1 : file->end, .end = file->end };
    uint64_t line = 0;
    if (colon && hs_line_number(&number, 10, &line) && number.at == number.end) {
        file->end = colon;
    }
    return line;
}

/* Reads "#	0x4b6f44	main.grow+0x84		/src/main.go:17"; an unknown function has only the address. */
static bool read_place(const struct hs_lines *lines, struct place *ret_place)
{
    struct hs_line_at at = { .at = lines->line, .end = lines->line + lines->bytes };
    if (!hs_line_word(&at, "#") || !hs_line_word(&at, "0x") ||
        !hs_line_number(&at, 16, &ret_place->va)) {
        return false;
    }
    ret_place->function = take_column(&at);
    ret_place->file = take_column(&at);
    cut_offset(&ret_place->function);
    ret_place->line = cut_line(&ret_place->file);
    return true;
}

static uint32_t frame_of(struct hs_builder *builder, uint32_t module, const struct place *place)
{
    const struct hs_builder_frame frame = {
        .module = module,
        .rel_pc = place->va,
        .name = hs_builder_string_n(builder, place->function.at, bytes_of(&place->function)),
        .file = hs_builder_string_n(builder, place->file.at, bytes_of(&place->file)),
        .line = place->line <= UINT32_MAX ? (uint32_t)place->line : 0,
        .kind = HS_FRAME_KIND_NATIVE,
    };
    return hs_builder_frame(builder, &frame);
}

bool hs_go_is_text(struct hs_lines lines)
{
    while (hs_lines_next(&lines)) {
        if (hs_lines_starts(&lines, "# runtime.MemStats")) {
            return true;
        }
    }
    return false;
}

uint32_t hs_go_stack(struct hs_builder *builder, struct hs_lines *lines)
{
    struct hs_lines ahead = *lines;
    struct place places[DEPTH_MAX];
    size_t count = 0;
    while (count < DEPTH_MAX && hs_lines_next(&ahead) && read_place(&ahead, &places[count])) {
        *lines = ahead;
        count++;
    }
    const struct hs_profile_module nowhere = { 0 };
    uint32_t module = count > 0 ? hs_builder_module(builder, &nowhere) : 0;
    uint32_t node = HS_NODE_NONE;
    for (size_t i = count; i > 0; i--) {
        node = hs_builder_node(builder, node, frame_of(builder, module, &places[i - 1]));
    }
    return node;
}
