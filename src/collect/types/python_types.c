/*
 * Recognizes objects of CPython: see python_types.h.
 */
#include "collect/types/python_types.h"

#include <stdlib.h>
#include <string.h>

#include "collect/types/type_text.h"

#define WORD_BYTES       sizeof(uint64_t)
#define CANDIDATES_MAX   8U
#define SEEN_MAX         (1U << 18)
#define METATYPES_MAX    8U
#define OBJECT_BYTES_MAX (UINT64_C(1) << 30)
#define ITEM_BYTES_MAX   (UINT64_C(1) << 20)

/* Words of a PyTypeObject; the same in all of CPython 3. */
enum {
    WORD_COUNT_OF_REFERENCES,
    WORD_TYPE,
    WORD_NAME = 3,
    WORD_OBJECT_BYTES,
    WORD_ITEM_BYTES,
    WORD_FLAGS = 21,
    TYPE_WORDS,
};

/* tp_flags */
#define FLAG_WEAKREFS_BEFORE (UINT32_C(1) << 3)
#define FLAG_DICT_BEFORE     (UINT32_C(1) << 4)
#define FLAG_READY           (UINT32_C(1) << 12)
#define FLAG_IS_TRACKED      (UINT32_C(1) << 14)
#define FLAG_IS_TEXT         (UINT32_C(1) << 28)
#define FLAG_IS_TYPE         (UINT32_C(1) << 31)

static enum hs_type_place place_of(const struct hs_python_types *python, uint64_t va)
{
    return va < HS_TYPE_VA_MAX ? python->memory->place(python->memory->ctx, va)
                               : HS_TYPE_PLACE_NONE;
}

static bool read_type(const struct hs_python_types *python, uint64_t va,
                      uint64_t ret_words[TYPE_WORDS])
{
    return va != 0 && va % WORD_BYTES == 0 && va < HS_TYPE_VA_MAX &&
           place_of(python, va) != HS_TYPE_PLACE_NONE &&
           python->memory->read(python->memory->ctx, va, ret_words, TYPE_WORDS * WORD_BYTES);
}

static bool is_root(const struct hs_python_types *python, uint64_t va)
{
    uint64_t words[TYPE_WORDS];
    char name[sizeof("type")];
    return read_type(python, va, words) && words[WORD_TYPE] == va &&
           (words[WORD_FLAGS] & FLAG_IS_TYPE) != 0 && (words[WORD_FLAGS] & FLAG_IS_TRACKED) != 0 &&
           words[WORD_OBJECT_BYTES] >= sizeof(words) && words[WORD_OBJECT_BYTES] < 65536 &&
           hs_type_text_read(python->memory, words[WORD_NAME], name, sizeof(name)) &&
           strcmp(name, "type") == 0;
}

void hs_python_types_init(struct hs_python_types *python, const struct hs_type_memory *memory,
                          struct hs_type_names *names)
{
    uint64_t va;
    *python = (struct hs_python_types){ .memory = memory, .names = names };
    for (unsigned i = 0;
         i < CANDIDATES_MAX && python->root_va == 0 && memory->find_python(memory->ctx, i, &va);
         i++) {
        python->root_va = is_root(python, va) ? va : 0;
    }
}

void hs_python_types_deinit(struct hs_python_types *python)
{
    hs_intern_deinit(&python->seen.ids);
    free(python->types);
    *python = (struct hs_python_types){ 0 };
}

/* --- types ------------------------------------------------------------------------------------ */

/* Do the types of types from `va` on end at PyType_Type? */
static bool leads_to_root(const struct hs_python_types *python, uint64_t va)
{
    uint64_t words[TYPE_WORDS];
    for (unsigned i = 0; i < METATYPES_MAX && va != python->root_va; i++) {
        if (!read_type(python, va, words) || (words[WORD_FLAGS] & FLAG_IS_TYPE) == 0) {
            return false;
        }
        va = words[WORD_TYPE];
    }
    return va == python->root_va;
}

static int look(struct hs_python_types *python, uint64_t va, struct hs_python_type *type)
{
    uint64_t words[TYPE_WORDS];
    char name[HS_TYPE_NAME_BYTES_MAX];
    if (!read_type(python, va, words) || (words[WORD_FLAGS] & FLAG_READY) == 0 ||
        words[WORD_OBJECT_BYTES] < 2 * WORD_BYTES || words[WORD_OBJECT_BYTES] > OBJECT_BYTES_MAX ||
        words[WORD_ITEM_BYTES] > ITEM_BYTES_MAX || !leads_to_root(python, words[WORD_TYPE]) ||
        !hs_type_text_read(python->memory, words[WORD_NAME], name, sizeof(name))) {
        return 0;
    }
    type->flags = (uint32_t)words[WORD_FLAGS];
    /* A short text has less than a PyUnicodeObject. */
    type->object_bytes =
        (type->flags & FLAG_IS_TEXT) != 0 ? 2 * WORD_BYTES : words[WORD_OBJECT_BYTES];
    return hs_type_names_put(python->names, HS_TYPE_PYTHON, name, &type->type_idx);
}

static int find_seen(struct hs_python_types *python, uint64_t va, struct hs_python_type *ret_type)
{
    struct hs_python_type *type, found = { 0 };
    struct hs_intern_key key = hs_intern_mix((struct hs_intern_key){ 0 }, va);
    bool is_new;
    *ret_type = found;
    type = hs_intern_elem(&python->seen, python->types, sizeof(*type), key);
    if (type || python->seen.ids.count >= SEEN_MAX) {
        *ret_type = type ? *type : found;
        return 0;
    }
    int r = look(python, va, &found);
    r = r == 0 ? hs_intern_at(&python->seen, &python->types, sizeof(*type), key, (void **)&type,
                              &is_new)
               : r;
    if (r == 0) {
        *type = found;
        *ret_type = found;
    }
    return r;
}

static int find_type(struct hs_python_types *python, uint64_t va, struct hs_python_type *ret_type)
{
    struct hs_python_recent *recent = &python->recent[va / 64 % HS_PYTHON_RECENT];
    if (va != 0 && recent->va == va) {
        *ret_type = recent->type;
        return 0;
    }
    int r = find_seen(python, va, ret_type);
    *recent = (struct hs_python_recent){ r == 0 ? va : 0, *ret_type };
    return r;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* How many words are before the objects of a type. */
static unsigned words_before(uint32_t flags)
{
    bool is_tracked = (flags & FLAG_IS_TRACKED) != 0;
    bool has_more = (flags & (FLAG_DICT_BEFORE | FLAG_WEAKREFS_BEFORE)) != 0;
    return (is_tracked ? 2U : 0U) + (has_more ? 2U : 0U);
}

/* 0, or an address; its lowest bits are flags. */
static bool is_link(const struct hs_python_types *python, uint64_t word)
{
    word &= ~(uint64_t)(WORD_BYTES - 1);
    return word == 0 || place_of(python, word) != HS_TYPE_PLACE_NONE;
}

/* Do the words before the object, and its count of references, look like these? */
static bool is_object(const struct hs_python_types *python, const uint64_t *words, unsigned before)
{
    bool is_one =
        (words[before] & UINT32_MAX) != 0 && place_of(python, words[before]) == HS_TYPE_PLACE_NONE;
    for (unsigned i = before >= 2 ? before - 2 : 0; i < before && is_one; i++) {
        is_one = is_link(python, words[i]);
    }
    return is_one;
}

int hs_python_types_find(struct hs_python_types *python, const uint64_t words[HS_PYTHON_HEAD_WORDS],
                         unsigned word_count, uint64_t size_bytes, uint32_t *ret_idx)
{
    struct hs_python_type type;
    int r = 0;
    *ret_idx = 0;
    for (unsigned before = 0;
         before <= 4 && before + 2 <= word_count && python->root_va != 0 && *ret_idx == 0 && r == 0;
         before += 2) {
        if (is_object(python, words, before)) {
            r = find_type(python, words[before + 1], &type);
            bool is_of_it = r == 0 && type.type_idx != 0 && words_before(type.flags) == before &&
                            type.object_bytes <= size_bytes - before * WORD_BYTES;
            *ret_idx = is_of_it ? type.type_idx : 0;
        }
    }
    return r;
}
