/*
 * Reads JavaScript functions. See js_function.h.
 *
 * V8's symbols say most of what is needed. What they do not say is the same from V8 10.2 (node 18)
 * to V8 14.6 (node 26), except where a comment says otherwise: the script's number lies behind the
 * line ends, the function's number behind the flags, and the meaning of a scope's flags. Whatever
 * is read through these is checked: a name is a string, and a position lies in the script.
 */
#include "v8/js_function.h"

#include <string.h>

/* Types of function objects, from the first one: V8 11.3 has 16. */
#define FUNCTION_TYPES 32U

/* A scope's flags. */
#define SCOPE_HAS_CLASS_VARIABLE (UINT32_C(1) << 10)
#define SCOPE_FUNCTION_VARIABLE  (UINT32_C(3) << 12)
#define SCOPE_HAS_INFERRED_NAME  (UINT32_C(1) << 14)

/* The names of more local variables are in a table. */
#define SCOPE_INLINED_LOCALS_MAX 75U
#define SCOPE_LOCALS_MAX         65536U

/* Lines of a script, at most. */
#define LINES_MAX (UINT32_C(1) << 24)

static int64_t value(const struct hs_v8 *v8, enum hs_v8_value which)
{
    return v8->layout->value[which];
}

bool hs_js_is_context(const struct hs_v8 *v8, uint64_t word)
{
    uint32_t type;
    return hs_v8_type(v8, &word, &type) && type >= (uint32_t)value(v8, HS_V8_TYPE_CONTEXT_FIRST) &&
           type <= (uint32_t)value(v8, HS_V8_TYPE_CONTEXT_LAST);
}

/* The first bytes of an object. */
struct head {
    uint8_t bytes[HS_V8_HEAD_BYTES];
};

static uint64_t field(const struct head *head, int64_t offset_bytes)
{
    uint64_t word;
    memcpy(&word, head->bytes + offset_bytes, sizeof(word));
    return word;
}

/* Reads the beginning of an object, up to a field, at once: this is done for each frame. Follows
 * *object to where the garbage collector has moved it. */
static bool read_head(const struct hs_v8 *v8, uint64_t *object, int64_t last_offset_bytes,
                      struct head *ret_head, uint64_t *ret_map)
{
    const uint64_t tag = (uint64_t)value(v8, HS_V8_OBJECT_TAG);
    const size_t byte_count = (size_t)last_offset_bytes + 8;
    if (!hs_v8_is_object(v8, *object) ||
        !v8->memory.read(v8->memory.ctx, *object - tag, ret_head->bytes, byte_count)) {
        return false;
    }
    uint64_t old = *object;
    *ret_map = field(ret_head, 0);
    return hs_v8_is_object(v8, *ret_map) ||
           (hs_v8_follow(v8, object, ret_map) && *object != old &&
            v8->memory.read(v8->memory.ctx, *object - tag, ret_head->bytes, byte_count));
}

bool hs_js_function_identify(const struct hs_v8 *v8, uint64_t function,
                             struct hs_js_identity *ret_identity)
{
    const int64_t number_off = value(v8, HS_V8_SCRIPT_LINE_ENDS) + value(v8, HS_V8_TAGGED_BYTES);
    struct head head;
    uint64_t map;
    struct hs_js_identity identity = { .script_map = 0 };
    if (!hs_v8_is_object(v8, function) ||
        !hs_v8_word(v8, function, value(v8, HS_V8_FUNCTION_SHARED), &identity.shared) ||
        !read_head(v8, &identity.shared, value(v8, HS_V8_SHARED_FLAGS), &head, &map)) {
        return false;
    }
    identity.shared_map = map;
    identity.name = field(&head, value(v8, HS_V8_SHARED_NAME));
    identity.script = field(&head, value(v8, HS_V8_SHARED_SCRIPT));
    identity.number = field(&head, value(v8, HS_V8_SHARED_FLAGS)) >> 32;
    /* Functions of V8 itself have no script. */
    if (read_head(v8, &identity.script, number_off, &head, &map)) {
        identity.script_map = map;
        identity.script_name = field(&head, value(v8, HS_V8_SCRIPT_NAME));
        identity.script_number = field(&head, number_off);
    }
    *ret_identity = identity;
    return true;
}

/* Under AddressSanitizer, what is read may be anything. */
__attribute__((no_sanitize("address"))) static inline uint64_t
load_field(const struct hs_v8_layout *layout, uint64_t object, int64_t offset_bytes)
{
    uint64_t word;
    memcpy(&word,
           (const void *)(uintptr_t)(object - (uint64_t)layout->value[HS_V8_OBJECT_TAG] +
                                     (uint64_t)offset_bytes),
           sizeof(word));
    return word;
}

bool hs_js_function_is(const struct hs_v8_layout *layout, uint64_t function,
                       const struct hs_js_identity *identity)
{
    const int32_t *at = layout->value;
    const uint64_t shared = identity->shared, script = identity->script;
    if (identity->script_map == 0 ||
        load_field(layout, function, at[HS_V8_FUNCTION_SHARED]) != shared ||
        load_field(layout, shared, at[HS_V8_SHARED_SCRIPT]) != script) {
        return false;
    }
    const int64_t number_off = (int64_t)at[HS_V8_SCRIPT_LINE_ENDS] + at[HS_V8_TAGGED_BYTES];
    return load_field(layout, shared, 0) == identity->shared_map &&
           load_field(layout, shared, at[HS_V8_SHARED_NAME]) == identity->name &&
           load_field(layout, shared, at[HS_V8_SHARED_FLAGS]) >> 32 == identity->number &&
           load_field(layout, script, 0) == identity->script_map &&
           load_field(layout, script, at[HS_V8_SCRIPT_NAME]) == identity->script_name &&
           load_field(layout, script, number_off) == identity->script_number;
}

/* --- name and position ------------------------------------------------------------------------ */

/* What a scope says of its function. */
struct scope {
    uint64_t name;     /* a string; 0: none */
    uint64_t inferred; /* the same for a name that V8 has made from where the function stands */
    uint32_t position; /* where the function begins in the script */
};

/* Reads word number `idx` behind the map. */
static bool scope_word(const struct hs_v8 *v8, uint64_t scope, uint64_t idx, uint64_t *ret_word)
{
    return hs_v8_word(v8, scope, (int64_t)(idx + 1) * value(v8, HS_V8_TAGGED_BYTES), ret_word);
}

/* A small integer among them. */
static bool scope_number(const struct hs_v8 *v8, uint64_t scope, uint64_t idx, uint32_t *ret_number)
{
    uint64_t word;
    return scope_word(v8, scope, idx, &word) && hs_v8_smi(v8, word, ret_number);
}

/* A scope's flags: a small integer, or a plain number in V8 13 and later. */
static bool scope_flags(const struct hs_v8 *v8, uint64_t scope, uint32_t *ret_flags)
{
    uint64_t word;
    if (!scope_word(v8, scope, 0, &word)) {
        return false;
    }
    *ret_flags = (uint32_t)word;
    return *ret_flags != 0 || hs_v8_smi(v8, word, ret_flags);
}

/* Is this the scope of a module? Before its local variables it has a word more, a number. Other
 * scopes have the name of a variable or function there; one without any has its position, of two
 * numbers, there. (The numbers of the kinds of scopes differ between versions of V8.) */
static bool is_module(const struct hs_v8 *v8, uint64_t scope, uint32_t flags, uint32_t count)
{
    const uint32_t named =
        SCOPE_HAS_CLASS_VARIABLE | SCOPE_FUNCTION_VARIABLE | SCOPE_HAS_INFERRED_NAME;
    uint64_t idx = (uint64_t)value(v8, HS_V8_SCOPE_FIRST_VARS);
    uint32_t number;
    if (count == 0 && (flags & (SCOPE_HAS_CLASS_VARIABLE | SCOPE_FUNCTION_VARIABLE))) {
        return false; /* no module has these */
    }
    idx += count == 0 && !(flags & named) ? 2 : 0;
    return scope_number(v8, scope, idx, &number);
}

/* Reads the scope of a function. False: it is not as in the versions that are known. */
static bool read_scope(const struct hs_v8 *v8, uint64_t scope, struct scope *ret)
{
    uint32_t flags, count, end;
    if (!scope_flags(v8, scope, &flags) ||
        !scope_number(v8, scope, (uint64_t)value(v8, HS_V8_SCOPE_LOCAL_COUNT), &count) ||
        count > SCOPE_LOCALS_MAX) {
        return false;
    }
    /* Names and properties of the local variables come first. */
    uint64_t idx = (uint64_t)value(v8, HS_V8_SCOPE_FIRST_VARS) + count +
                   (count < SCOPE_INLINED_LOCALS_MAX ? count : 1);
    idx += is_module(v8, scope, flags, count);
    idx += (flags & SCOPE_HAS_CLASS_VARIABLE) != 0;
    if (flags & SCOPE_FUNCTION_VARIABLE) {
        if (!scope_word(v8, scope, idx, &ret->name)) {
            return false;
        }
        idx += 2;
    }
    if ((flags & SCOPE_HAS_INFERRED_NAME) && !scope_word(v8, scope, idx++, &ret->inferred)) {
        return false;
    }
    if (hs_v8_scope_position_words(v8->layout) > 0) {
        idx = (uint64_t)value(v8, HS_V8_SCOPE_LOCAL_COUNT) + 1;
    }
    return scope_number(v8, scope, idx, &ret->position) && scope_number(v8, scope, idx + 1, &end) &&
           end >= ret->position;
}

static void read_name(const struct hs_v8 *v8, uint64_t string, struct hs_js_name *name)
{
    struct hs_v8_text text = { .text = name->function, .max_bytes = HS_JS_NAME_BYTES };
    name->function_bytes = hs_v8_text_add(v8, string, &text) ? text.bytes : 0;
}

/* --- script ----------------------------------------------------------------------------------- */

static bool is_type(const struct hs_v8 *v8, uint64_t object, enum hs_v8_value which)
{
    uint32_t type;
    return hs_v8_type(v8, &object, &type) && type == (uint32_t)value(v8, which);
}

static bool array_number(const struct hs_v8 *v8, uint64_t array, uint32_t idx, uint32_t *ret_number)
{
    uint64_t word;
    return hs_v8_word(v8, array,
                      value(v8, HS_V8_ARRAY_DATA) + (int64_t)idx * value(v8, HS_V8_TAGGED_BYTES),
                      &word) &&
           hs_v8_smi(v8, word, ret_number);
}

/* The line of a position, from an array of the positions at which lines end. */
static bool search_line(const struct hs_v8 *v8, uint64_t ends, uint32_t position,
                        uint32_t *ret_line)
{
    uint64_t word;
    uint32_t count, lo = 0;
    if (!is_type(v8, ends, HS_V8_TYPE_FIXED_ARRAY) ||
        !hs_v8_word(v8, ends, value(v8, HS_V8_ARRAY_LENGTH), &word) ||
        !hs_v8_smi(v8, word, &count) || count > LINES_MAX) {
        return false;
    }
    for (uint32_t hi = count; lo < hi;) {
        uint32_t middle = lo + (hi - lo) / 2, end;
        if (!array_number(v8, ends, middle, &end)) {
            return false;
        }
        if (end < position) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    *ret_line = lo + 1;
    return lo < count;
}

static uint32_t find_line(const struct hs_v8 *v8, uint64_t script, uint32_t position)
{
    uint64_t ends, source;
    uint32_t line;
    if (hs_v8_word(v8, script, value(v8, HS_V8_SCRIPT_LINE_ENDS), &ends) &&
        search_line(v8, ends, position, &line)) {
        return line;
    }
    return hs_v8_word(v8, script, value(v8, HS_V8_SCRIPT_SOURCE), &source) &&
                   hs_v8_count_lines(v8, source, position, &line)
               ? line + 1
               : 0;
}

/* Was the script made by eval() or new Function()? */
static bool is_eval(const struct hs_v8 *v8, uint64_t script)
{
    uint64_t from;
    return hs_v8_word(v8, script, value(v8, HS_V8_SCRIPT_EVAL_FROM), &from) &&
           is_type(v8, from, HS_V8_TYPE_SHARED);
}

static void read_script(const struct hs_v8 *v8, const struct hs_js_identity *identity,
                        const struct scope *scope, struct hs_js_name *name)
{
    struct hs_v8_text text = { .text = name->file, .max_bytes = HS_JS_FILE_BYTES };
    name->file_bytes =
        hs_v8_text_add(v8, identity->script_name, &text) && !text.is_cut ? text.bytes : 0;
    if (scope) {
        name->line = find_line(v8, identity->script, scope->position);
    }
    if (name->function_bytes == 0 && is_eval(v8, identity->script)) {
        static const char eval[] = "eval";
        for (name->function_bytes = 0; eval[name->function_bytes]; name->function_bytes++) {
            name->function[name->function_bytes] = eval[name->function_bytes];
        }
    }
}

bool hs_js_function_read(const struct hs_v8 *v8, uint64_t function,
                         const struct hs_js_identity *identity, struct hs_js_name *ret_name)
{
    const uint32_t first_type = (uint32_t)value(v8, HS_V8_TYPE_FUNCTION);
    struct scope scope = { .name = 0 };
    uint32_t type;
    ret_name->function_bytes = ret_name->file_bytes = ret_name->line = 0;
    if (!hs_v8_type(v8, &function, &type) || type < first_type ||
        type - first_type >= FUNCTION_TYPES || !is_type(v8, identity->shared, HS_V8_TYPE_SHARED)) {
        return false;
    }
    uint64_t scope_or_name = identity->name;
    const bool has_scope =
        hs_v8_type(v8, &scope_or_name, &type) && type == (uint32_t)value(v8, HS_V8_TYPE_SCOPE);
    if (has_scope) {
        if (!read_scope(v8, scope_or_name, &scope)) {
            return false;
        }
        read_name(v8, scope.name, ret_name);
        if (ret_name->function_bytes == 0) {
            read_name(v8, scope.inferred, ret_name);
        }
    } else {
        read_name(v8, identity->name, ret_name);
    }
    if (!is_type(v8, identity->script, HS_V8_TYPE_SCRIPT)) {
        return ret_name->function_bytes > 0; /* without either, it is a piece of V8 itself */
    }
    read_script(v8, identity, has_scope ? &scope : NULL, ret_name);
    return true;
}
