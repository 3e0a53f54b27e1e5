/*
 * Reading Ruby's control frames. See ruby_frames.h.
 */
#include "client/script/ruby_frames.h"

/* rb_execution_context_t, rb_thread_t */
#define EC_STACK       0U
#define EC_STACK_WORDS 8U
#define EC_FRAME       16U
#define EC_THREAD      48U
#define THREAD_EC      40U

/* rb_control_frame_t */
#define FRAME_BYTES     64U
#define BOTTOM_BYTES    64U /* a frame that runs nothing */
#define FRAME_PC        0U
#define FRAME_ISEQ      16U
#define FRAME_EP        32U
#define FLAG_FINISH     0x20U
#define FLAG_CFRAME     0x80U
#define FLAG_LOCAL      0x2U
#define STACK_WORDS_MAX (UINT64_C(1) << 32)

/* Objects. A code object's body is at 16. */
#define TYPE_MASK       0x1fU
#define TYPE_STRING     5U
#define TYPE_ARRAY      7U
#define IMEMO_MASK      0xf01fU
#define IMEMO_SVAR      0x201aU
#define IMEMO_METHOD    0x601aU
#define IMEMO_ISEQ      0x701aU
#define STRING_NOEMBED  0x2000U
#define ARRAY_EMBED     0x2000U
#define STRING_SHIFT    14U /* of the length of an embedded one */
#define ARRAY_SHIFT     15U
#define ISEQ_BODY       16U
#define METHOD_DEF      16U
#define DEF_TYPE_MASK   0xfU
#define DEF_TYPE_CFUNC  1U
#define DEF_ORIGINAL_ID 32U

/* rb_iseq_constant_body */
#define BODY_WORDS      4U
#define BODY_CODE       8U
#define BODY_PATH       64U
#define BODY_LABEL      80U
#define BODY_FIRST_LINE 88U
#define BODY_INFO       120U
#define BODY_INFO_COUNT 136U
#define BODY_INFO_INDEX 144U
#define INFO_BYTES      12U

/* The index of positions: the first 54 have 7 bits each; then there are blocks of 512. */
#define IMMEDIATE_COUNT 54U
#define IMMEDIATE_WORD  9U
#define BLOCKS          48U
#define BLOCK_BYTES     80U
#define BLOCK_POSITIONS 512U

/* IDs: those of operators are numbers, others have their kind in 4 bits. */
#define ID_LAST_OPERATOR 0xa9U
#define ID_UNIT          512U
#define SYMBOLS_IDS      16U

#define FILE_BYTES       3072U
#define NAME_BYTES       200U

/* Kinds of places. */
enum { KIND_SCRIPT, KIND_C };

bool hs_ruby_is_known(const char version[4])
{
    return memcmp(version, "3.1.", 4) == 0;
}

/* --- objects ---------------------------------------------------------------------------------- */

static uint64_t flags_of(struct hs_script_memory *memory, uint64_t object_va)
{
    return object_va % 8 == 0 ? hs_script_word(memory, object_va) : 0;
}

/* False: it is no string. */
static bool string(struct hs_script_memory *memory, uint64_t va, uint32_t limit_bytes,
                   struct hs_script_text *ret_text)
{
    uint64_t flags = flags_of(memory, va);
    bool is_embedded = !(flags & STRING_NOEMBED);
    uint64_t bytes = is_embedded ? flags >> STRING_SHIFT & 31 : hs_script_word(memory, va + 16);
    uint64_t text_va = is_embedded ? va + 16 : hs_script_word(memory, va + 24);
    uint32_t kept = bytes < limit_bytes ? (uint32_t)bytes : limit_bytes;
    const char *text = hs_script_at(memory, text_va, kept);
    if ((flags & TYPE_MASK) != TYPE_STRING || !text) {
        return false;
    }
    *ret_text = (struct hs_script_text){ .text = text, .bytes = kept };
    return true;
}

/* An element of an array; 0: there is none. */
static uint64_t element(struct hs_script_memory *memory, uint64_t va, uint64_t i)
{
    uint64_t flags = flags_of(memory, va);
    bool is_embedded = flags & ARRAY_EMBED;
    uint64_t count = is_embedded ? flags >> ARRAY_SHIFT & 3 : hs_script_word(memory, va + 16);
    uint64_t data_va = is_embedded ? va + 16 : hs_script_word(memory, va + 32);
    return (flags & TYPE_MASK) == TYPE_ARRAY && i < count ? hs_script_word(memory, data_va + i * 8)
                                                          : 0;
}

/* --- names of methods written in C ------------------------------------------------------------ */

static int64_t displacement(const uint8_t *code)
{
    int32_t value;
    memcpy(&value, code, sizeof(value));
    return value;
}

uint64_t hs_ruby_find_symbols(uint64_t id2str_va, struct hs_script_memory *memory)
{
    /* It ends with a jump to the function that reads the table. */
    const uint8_t *code = hs_script_at(memory, id2str_va, 64);
    uint64_t va = 0;
    for (uint32_t i = 0; code && i < 48 && va == 0; i++) {
        if (code[i] == 0xe9) {
            va = id2str_va + i + 5 + (uint64_t)displacement(code + i + 1);
        }
    }
    /* There `cmp %edi,last_id(%rip)`, and later `mov ids(%rip),%rdi`. */
    code = va ? hs_script_at(memory, va, HS_RUBY_CODE_BYTES) : NULL;
    uint64_t last_va = 0;
    for (uint32_t i = 0; code && i + 8 < HS_RUBY_CODE_BYTES; i++) {
        if (last_va == 0 && code[i] == 0x39 && code[i + 1] == 0x3d) {
            last_va = va + i + 6 + (uint64_t)displacement(code + i + 2);
        } else if (last_va != 0 && code[i] == 0x48 && code[i + 1] == 0x8b && code[i + 2] == 0x3d) {
            uint64_t ids_va = va + i + 7 + (uint64_t)displacement(code + i + 3);
            return ids_va == last_va + SYMBOLS_IDS ? last_va : 0;
        }
    }
    return 0;
}

/* The text of an ID. False: it has none. */
static bool id_text(const struct hs_ruby *ruby, struct hs_script_memory *memory, uint64_t id,
                    struct hs_script_text *ret_text)
{
    uint64_t number = id > ID_LAST_OPERATOR ? id >> 4 : id;
    uint64_t ids_va = hs_script_word(memory, ruby->symbols_va + SYMBOLS_IDS);
    if (number == 0 || number > hs_script_half(memory, ruby->symbols_va)) {
        return false;
    }
    uint64_t unit_va = element(memory, ids_va, number / ID_UNIT);
    return string(memory, element(memory, unit_va, number % ID_UNIT * 2), NAME_BYTES, ret_text);
}

/* The method that a C frame runs: what its environment has, or leads to; 0: none. */
static uint64_t method_of(struct hs_script_memory *memory, uint64_t method_va)
{
    if (method_va != 0 && (flags_of(memory, method_va) & IMEMO_MASK) == IMEMO_SVAR) {
        method_va = hs_script_word(memory, method_va + 8);
    }
    return method_va != 0 && (flags_of(memory, method_va) & IMEMO_MASK) == IMEMO_METHOD ? method_va
                                                                                        : 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The entry of a position, counted from 0, in a table of several. */
static uint32_t entry_at(struct hs_script_memory *memory, uint64_t index_va, uint32_t position)
{
    if (position < IMMEDIATE_COUNT) {
        uint64_t word = hs_script_word(memory, index_va + position / IMMEDIATE_WORD * 8);
        return (uint32_t)(word >> position % IMMEDIATE_WORD * 7 & 127) - 1;
    }
    position -= IMMEDIATE_COUNT;
    uint64_t block_va = index_va + BLOCKS + position / BLOCK_POSITIONS * BLOCK_BYTES;
    uint32_t part = position % BLOCK_POSITIONS / 64;
    uint32_t rank = hs_script_half(memory, block_va);
    uint64_t part_ranks = hs_script_word(memory, block_va + 8);
    uint64_t bits = hs_script_word(memory, block_va + 16 + part * 8);
    rank += part != 0 ? (uint32_t)(part_ranks >> (part - 1) * 9) & 511 : 0;
    return rank + (uint32_t)__builtin_popcountll(bits << (63 - position % 64)) - 1;
}

/* The line of a position in the code; 0: unknown. */
static uint32_t line_at(struct hs_script_memory *memory, uint64_t body_va, uint32_t position)
{
    uint32_t count = hs_script_half(memory, body_va + BODY_INFO_COUNT);
    uint64_t info_va = hs_script_word(memory, body_va + BODY_INFO);
    uint32_t i = 0;
    if (count > 1) {
        i = entry_at(memory, hs_script_word(memory, body_va + BODY_INFO_INDEX), position);
    }
    return i < count ? hs_script_half(memory, info_va + (uint64_t)i * INFO_BYTES) : 0;
}

/* --- places ----------------------------------------------------------------------------------- */

static void describe_c(const struct hs_ruby *ruby, struct hs_script_memory *memory,
                       uint64_t method_va, struct hs_script_frame *frame)
{
    method_va = method_of(memory, method_va);
    uint64_t def_va = method_va ? hs_script_word(memory, method_va + METHOD_DEF) : 0;
    if (def_va != 0 && (hs_script_byte(memory, def_va) & DEF_TYPE_MASK) == DEF_TYPE_CFUNC) {
        id_text(ruby, memory, hs_script_word(memory, def_va + DEF_ORIGINAL_ID), &frame->function);
    }
}

bool hs_ruby_describe(const void *roots, struct hs_script_memory *memory,
                      const struct hs_script_place *place, struct hs_script_frame *ret_frame)
{
    if (place->kind == KIND_C) {
        describe_c(roots, memory, place->code_va, ret_frame);
        return true;
    }
    uint64_t body_va = hs_script_word(memory, place->code_va + ISEQ_BODY);
    uint64_t code_va = hs_script_word(memory, body_va + BODY_CODE);
    uint64_t path_va = hs_script_word(memory, body_va + BODY_PATH);
    uint64_t first_line = hs_script_word(memory, body_va + BODY_FIRST_LINE);
    if ((flags_of(memory, place->code_va) & IMEMO_MASK) != IMEMO_ISEQ || (first_line & 1) == 0) {
        return false;
    }
    if ((flags_of(memory, path_va) & TYPE_MASK) == TYPE_ARRAY) {
        path_va = element(memory, path_va, 0);
    }
    hs_script_change_list(memory);
    bool has_file = string(memory, path_va, FILE_BYTES, &ret_frame->file);
    ret_frame->file.va = path_va;
    hs_script_change_list(memory);
    if (!has_file || !string(memory, hs_script_word(memory, body_va + BODY_LABEL), NAME_BYTES,
                             &ret_frame->function)) {
        return false;
    }
    ret_frame->first_line = (uint32_t)(first_line >> 1);
    ret_frame->line = ret_frame->first_line;
    if (place->at_va != 0) {
        uint64_t position = (place->at_va - code_va) / 8;
        if (position > hs_script_half(memory, body_va + BODY_WORDS)) {
            return false;
        }
        ret_frame->line = line_at(memory, body_va, (uint32_t)(position ? position - 1 : 0));
    }
    return true;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* False: it is not what we know. */
static bool on_frame(struct hs_script_walk *w, const struct hs_ruby *ruby, uint64_t frame_va)
{
    uint64_t iseq_va = hs_script_word(w->memory, frame_va + FRAME_ISEQ);
    uint64_t ep_va = hs_script_word(w->memory, frame_va + FRAME_EP);
    uint64_t flags = 0;
    if (!hs_script_read(w->memory, ep_va, 8, &flags)) {
        return false;
    }
    if (flags & FLAG_CFRAME) {
        uint64_t method_va =
            ruby->symbols_va && flags & FLAG_LOCAL ? hs_script_word(w->memory, ep_va - 16) : 0;
        const struct hs_script_place place = { .code_va = method_va, .kind = KIND_C };
        return method_va == 0 || hs_script_report(w, &place);
    }
    const struct hs_script_place place = {
        .code_va = iseq_va,
        .at_va = hs_script_word(w->memory, frame_va + FRAME_PC),
        .kind = KIND_SCRIPT,
    };
    if (iseq_va != 0 && !hs_script_report(w, &place)) {
        return false;
    }
    if (flags & FLAG_FINISH && !w->is_full) {
        hs_script_end_entry(w);
    }
    return true;
}

enum hs_script_end hs_ruby_read(const struct hs_ruby *ruby, uint64_t ec_va,
                                struct hs_script_memory *memory, const struct hs_script_sink *sink)
{
    struct hs_script_walk w = { .memory = memory, .sink = sink };
    uint64_t stack_va = hs_script_word(memory, ec_va + EC_STACK);
    uint64_t words = hs_script_word(memory, ec_va + EC_STACK_WORDS);
    uint64_t frame_va = hs_script_word(memory, ec_va + EC_FRAME);
    uint64_t thread_va = hs_script_word(memory, ec_va + EC_THREAD);
    if (ec_va == 0 || stack_va == 0 || frame_va == 0) {
        return HS_SCRIPT_NONE; /* it has not begun, or another thread has the lock */
    }
    uint64_t end_va = stack_va + words * 8 - BOTTOM_BYTES;
    if (words > STACK_WORDS_MAX || words * 8 < BOTTOM_BYTES || frame_va < stack_va ||
        frame_va > end_va || (end_va - frame_va) % FRAME_BYTES != 0 ||
        hs_script_word(memory, thread_va + THREAD_EC) != ec_va) {
        return HS_SCRIPT_UNKNOWN;
    }
    for (uint32_t i = 0; frame_va < end_va && i < HS_SCRIPT_STEPS_MAX && !w.is_full; i++) {
        if (!on_frame(&w, ruby, frame_va)) {
            return HS_SCRIPT_UNKNOWN;
        }
        frame_va += FRAME_BYTES;
    }
    return frame_va < end_va ? HS_SCRIPT_CUT : HS_SCRIPT_WHOLE;
}
