/*
 * Reading PHP's frames. See php_frames.h.
 */
#include "client/script/php_frames.h"

/* zend_executor_globals */
#define GLOBALS_CURRENT 488U

/* HashTable and its Bucket */
#define TABLE_DATA  16U
#define TABLE_COUNT 24U

/* zend_module_entry */
#define MODULE_BYTES     0U
#define MODULE_API       4U
#define MODULE_ZTS       9U
#define MODULE_BYTES_8_2 168U
#define API_8_2          20220829U

/* zend_execute_data */
#define FRAME_OPLINE   0U
#define FRAME_FUNC     24U
#define FRAME_INFO     40U
#define FRAME_PREV     48U
#define FRAME_INFO_TOP 0x20000U

/* zend_generator: a frame without a function lies in one that waits in `yield from` */
#define FRAME_THIS       32U
#define GENERATOR_FRAME  56U
#define GENERATOR_PARENT 152U
#define GENERATOR_FAKE   184U
#define GENERATORS_MAX   16U

/* zend_function */
#define FUNC_TYPE       0U
#define FUNC_NAME       8U
#define FUNC_SCOPE      16U
#define FUNC_OP_COUNT   80U
#define FUNC_OPS        88U
#define FUNC_FILE       152U
#define FUNC_FIRST_LINE 160U
#define TYPE_INTERNAL   1U
#define TYPE_USER       2U
#define TYPE_EVAL       4U

/* zend_op */
#define OP_BYTES 32U
#define OP_LINE  24U

/* zend_class_entry, zend_string */
#define CLASS_NAME       8U
#define STRING_TYPE      4U
#define STRING_BYTES     16U
#define STRING_TEXT      24U
#define STRING_TYPE_MASK 0xfU
#define IS_STRING        6U

#define FILE_BYTES       3072U
#define PART_BYTES       200U

/* Kinds of places: the outermost frame, another one; and no frame, but a module. */
enum { KIND_INNER, KIND_OUTERMOST, KIND_MODULE };

/* A zend_string. False: it is none. */
static bool string(struct hs_script_memory *memory, uint64_t va, uint32_t limit_bytes,
                   struct hs_script_text *ret_text)
{
    uint64_t bytes = hs_script_word(memory, va + STRING_BYTES);
    uint32_t type = hs_script_half(memory, va + STRING_TYPE) & STRING_TYPE_MASK;
    uint32_t kept = bytes < limit_bytes ? (uint32_t)bytes : limit_bytes;
    const char *text = hs_script_at(memory, va + STRING_TEXT, kept);
    if (va == 0 || type != IS_STRING || !text) {
        return false;
    }
    *ret_text = (struct hs_script_text){ .text = text, .bytes = kept };
    return true;
}

/* The name: CLASS::FUNCTION. False: it is no function. */
static bool name_function(struct hs_script_memory *memory, uint64_t func_va, bool is_outermost,
                          char *name, uint32_t *bytes)
{
    uint64_t class_va = hs_script_word(memory, func_va + FUNC_SCOPE);
    uint64_t name_va = hs_script_word(memory, func_va + FUNC_NAME);
    struct hs_script_text part;
    if (name_va == 0) { /* the code of a file or of an eval */
        bool is_eval = hs_script_byte(memory, func_va + FUNC_TYPE) == TYPE_EVAL;
        hs_script_append(name, bytes,
                         is_eval        ? HS_SCRIPT_LITERAL("{eval}")
                         : is_outermost ? HS_SCRIPT_LITERAL("{main}")
                                        : HS_SCRIPT_LITERAL("{include}"));
        return true;
    }
    if (class_va != 0) {
        if (!string(memory, hs_script_word(memory, class_va + CLASS_NAME), PART_BYTES, &part)) {
            return false;
        }
        hs_script_append(name, bytes, part);
        hs_script_append(name, bytes, HS_SCRIPT_LITERAL("::"));
    }
    if (!string(memory, name_va, PART_BYTES, &part)) {
        return false;
    }
    hs_script_append(name, bytes, part);
    return true;
}

/* Where a function of the script is. False: it is not what we know. */
static bool find_lines(struct hs_script_memory *memory, uint64_t op_va, uint64_t func_va,
                       struct hs_script_frame *frame)
{
    uint64_t ops_va = hs_script_word(memory, func_va + FUNC_OPS);
    uint64_t op_count = hs_script_half(memory, func_va + FUNC_OP_COUNT);
    uint64_t file_va = hs_script_word(memory, func_va + FUNC_FILE);
    hs_script_change_list(memory);
    bool has_file = string(memory, file_va, FILE_BYTES, &frame->file);
    frame->file.va = file_va;
    hs_script_change_list(memory);
    if (!has_file) {
        return false;
    }
    frame->first_line = hs_script_half(memory, func_va + FUNC_FIRST_LINE);
    if (op_va - ops_va < op_count * OP_BYTES && (op_va - ops_va) % OP_BYTES == 0) {
        frame->line = hs_script_half(memory, op_va + OP_LINE);
    } /* else the instruction of an exception, which belongs to no function */
    return ops_va != 0;
}

/* Is the module of the API whose offsets we know? */
static bool is_known(struct hs_script_memory *memory, uint64_t module_va)
{
    uint64_t bytes = 0;
    return hs_script_read(memory, module_va + MODULE_BYTES, 2, &bytes) &&
           bytes == MODULE_BYTES_8_2 && hs_script_half(memory, module_va + MODULE_API) == API_8_2 &&
           hs_script_byte(memory, module_va + MODULE_ZTS) == 0;
}

bool hs_php_describe(const void *roots, struct hs_script_memory *memory,
                     const struct hs_script_place *place, struct hs_script_frame *ret_frame)
{
    (void)roots;
    if (place->kind == KIND_MODULE) {
        return is_known(memory, place->code_va);
    }
    uint32_t type = hs_script_byte(memory, place->code_va + FUNC_TYPE), bytes = 0;
    if ((type != TYPE_INTERNAL && type != TYPE_USER && type != TYPE_EVAL) ||
        !name_function(memory, place->code_va, place->kind == KIND_OUTERMOST, ret_frame->name,
                       &bytes) ||
        (type != TYPE_INTERNAL && !find_lines(memory, place->at_va, place->code_va, ret_frame))) {
        return false;
    }
    ret_frame->function = (struct hs_script_text){ .text = ret_frame->name, .bytes = bytes };
    return true;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Reports a frame. False: it is not what we know. */
static bool on_frame(struct hs_script_walk *w, uint64_t frame_va, uint64_t func_va,
                     bool is_outermost)
{
    const struct hs_script_place place = {
        .code_va = func_va,
        .at_va = hs_script_word(w->memory, frame_va + FRAME_OPLINE),
        .kind = is_outermost ? KIND_OUTERMOST : KIND_INNER,
    };
    return hs_script_report(w, &place);
}

/* Was the frame begun by C code? */
static bool is_entry(struct hs_script_walk *w, uint64_t frame_va, uint64_t func_va)
{
    return hs_script_half(w->memory, frame_va + FRAME_INFO) & FRAME_INFO_TOP &&
           hs_script_byte(w->memory, func_va + FUNC_TYPE) != TYPE_INTERNAL;
}

/* Reports the generators that wait in `yield from` for the one that runs, whose frame is at
 * `root_va`. The frame at `fake_va` stands for them. False: they are not what we know. */
static bool on_waiting(struct hs_script_walk *w, uint64_t fake_va, uint64_t root_va)
{
    uint64_t waiting_va[GENERATORS_MAX], va = fake_va - GENERATOR_FAKE;
    uint32_t count = 0;
    bool is_root = hs_script_word(w->memory, fake_va + FRAME_THIS) != va; /* of another kind */
    while (!is_root && va != 0 && count < GENERATORS_MAX) {
        waiting_va[count++] = hs_script_word(w->memory, va + GENERATOR_FRAME);
        va = hs_script_word(w->memory, va + GENERATOR_PARENT);
        is_root = hs_script_word(w->memory, va + GENERATOR_FRAME) == root_va;
    }
    bool is_good = true;
    while (is_root && is_good && count > 0 && !w->is_full) {
        uint64_t frame_va = waiting_va[--count];
        uint64_t func_va = hs_script_word(w->memory, frame_va + FRAME_FUNC);
        is_good = func_va != 0 && on_frame(w, frame_va, func_va, false);
    }
    return is_good;
}

enum hs_script_end hs_php_read(const struct hs_php *php, struct hs_script_memory *memory,
                               const struct hs_script_sink *sink)
{
    struct hs_script_walk w = { .memory = memory, .sink = sink };
    uint32_t module_count = hs_script_half(memory, php->registry_va + TABLE_COUNT);
    uint64_t modules_va = hs_script_word(memory, php->registry_va + TABLE_DATA);
    const struct hs_script_place module = {
        .code_va = module_count != 0 ? hs_script_word(memory, modules_va) : 0, .kind = KIND_MODULE
    };
    if (module.code_va == 0) {
        return HS_SCRIPT_NONE; /* they are registered later */
    }
    if (!hs_script_report(&w, &module)) {
        return HS_SCRIPT_UNKNOWN;
    }
    uint64_t frame_va = hs_script_word(memory, php->globals_va + GLOBALS_CURRENT), inner_va = 0;
    bool is_any = frame_va != 0;
    for (uint32_t i = 0; frame_va != 0 && i < HS_SCRIPT_STEPS_MAX && !w.is_full; i++) {
        uint64_t func_va = hs_script_word(memory, frame_va + FRAME_FUNC);
        uint64_t prev_va = hs_script_word(memory, frame_va + FRAME_PREV);
        if (!hs_script_at(memory, frame_va, FRAME_PREV + 8) ||
            !(func_va != 0 ? on_frame(&w, frame_va, func_va, prev_va == 0)
                           : on_waiting(&w, frame_va, inner_va))) {
            return HS_SCRIPT_UNKNOWN;
        }
        if (func_va != 0 && !w.is_full && is_entry(&w, frame_va, func_va)) {
            hs_script_end_entry(&w);
        }
        inner_va = frame_va;
        frame_va = prev_va;
    }
    return !is_any ? HS_SCRIPT_NONE : frame_va != 0 ? HS_SCRIPT_CUT : HS_SCRIPT_WHOLE;
}
