/*
 * Recognizes vtables: see vtable_types.h.
 */
#include "collect/types/vtable_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/types/type_text.h"
#include "rt/base.h"
#include "symbol/demangle.h"

#define WORD_BYTES      sizeof(uint64_t)
#define SEEN_MAX        (1U << 18)
#define MANGLED_MAX     1024U
#define DEMANGLED_MAX   8192U
#define HEAD_WORDS_MAX  256U /* before the address point: offsets of virtual bases */
#define BASES_MAX       64U  /* that are looked at, of one class */
#define BASES_AT_ONCE   16U
#define IS_VIRTUAL_BASE UINT64_C(1)
#define NAMES_PREFIX    "typeinfo name for "
#define VTABLES_PREFIX  "vtable for "

static const struct meta_name {
    const char *name;
    enum hs_vtable_meta_kind kind;
} meta_names[] = {
    { "N10__cxxabiv117__class_type_infoE", HS_VTABLE_META_CLASS },
    { "N10__cxxabiv120__si_class_type_infoE", HS_VTABLE_META_SINGLE },
    { "N10__cxxabiv121__vmi_class_type_infoE", HS_VTABLE_META_MULTIPLE },
};

struct type_info {
    uint64_t vtable_va;
    uint64_t name_va;
};

void hs_vtable_types_init(struct hs_vtable_types *vtables, const struct hs_type_memory *memory,
                          struct hs_type_names *names)
{
    *vtables = (struct hs_vtable_types){ .memory = memory, .names = names };
}

void hs_vtable_types_deinit(struct hs_vtable_types *vtables)
{
    hs_intern_deinit(&vtables->seen.ids);
    free(vtables->types);
    *vtables = (struct hs_vtable_types){ 0 };
}

static bool is_constant(const struct hs_vtable_types *vtables, uint64_t va)
{
    const struct hs_type_chunks *constants = vtables->memory->constants;
    return va >= 2 * WORD_BYTES && va < HS_TYPE_VA_MAX && va % WORD_BYTES == 0 &&
           (!constants || hs_type_chunks_may_have(constants, va)) &&
           hs_type_place_is_constant(vtables->memory->place(vtables->memory->ctx, va));
}

static bool read_words(const struct hs_vtable_types *vtables, uint64_t va, void *ret_words,
                       size_t word_count)
{
    return vtables->memory->read(vtables->memory->ctx, va, ret_words, word_count * WORD_BYTES);
}

/* --- type_info -------------------------------------------------------------------------------- */

/* Reads the type_info that a primary vtable in constant memory points to. */
static bool read_type_info(const struct hs_vtable_types *vtables, uint64_t vtable_va,
                           uint64_t *ret_va, struct type_info *ret_info)
{
    uint64_t head[2];
    if (!is_constant(vtables, vtable_va) ||
        !read_words(vtables, vtable_va - sizeof(head), head, 2) || head[0] != 0 ||
        !is_constant(vtables, head[1]) || !read_words(vtables, head[1], ret_info, 2)) {
        return false;
    }
    *ret_va = head[1];
    return true;
}

static enum hs_vtable_meta_kind kind_by_name(const struct hs_vtable_types *vtables,
                                             uint64_t name_va)
{
    char name[64];
    enum hs_vtable_meta_kind kind = HS_VTABLE_META_NONE;
    if (hs_type_text_read(vtables->memory, name_va, name, sizeof(name))) {
        for (size_t i = 0; i < HS_COUNT_OF(meta_names); i++) {
            kind = strcmp(name, meta_names[i].name) == 0 ? meta_names[i].kind : kind;
        }
    }
    return kind;
}

/*
 * Is the vtable that of one of the runtime's three classes? Each of these has one base, so that its
 * own type_info is of the second of them, as is that of the second.
 */
static enum hs_vtable_meta_kind look_at_meta(const struct hs_vtable_types *vtables,
                                             uint64_t vtable_va)
{
    struct type_info info, single;
    uint64_t info_va, single_va;
    enum hs_vtable_meta_kind kind = HS_VTABLE_META_NONE;
    if (read_type_info(vtables, vtable_va, &info_va, &info)) {
        kind = kind_by_name(vtables, info.name_va);
    }
    if (kind != HS_VTABLE_META_NONE &&
        (!read_type_info(vtables, info.vtable_va, &single_va, &single) ||
         single.vtable_va != info.vtable_va ||
         kind_by_name(vtables, single.name_va) != HS_VTABLE_META_SINGLE)) {
        kind = HS_VTABLE_META_NONE;
    }
    return kind;
}

static enum hs_vtable_meta_kind meta_kind(struct hs_vtable_types *vtables, uint64_t vtable_va)
{
    for (unsigned i = 0; i < vtables->meta_count; i++) {
        if (vtables->metas[i].va == vtable_va) {
            return vtables->metas[i].kind;
        }
    }
    enum hs_vtable_meta_kind kind = look_at_meta(vtables, vtable_va);
    if (vtables->meta_count < HS_VTABLE_META_MAX) {
        vtables->metas[vtables->meta_count++] = (struct hs_vtable_meta){ vtable_va, kind };
    }
    return kind;
}

/* --- classes with virtual bases --------------------------------------------------------------- */

struct base {
    uint64_t info_va;
    uint64_t flags; /* and the offset */
};

struct bases {
    uint64_t info_vas[BASES_MAX]; /* of classes whose bases are looked at */
    unsigned count, next;
    bool has_virtual;
};

static void add_base(struct bases *bases, const struct base *base)
{
    bases->has_virtual |= (base->flags & IS_VIRTUAL_BASE) != 0;
    if (bases->count < BASES_MAX) {
        bases->info_vas[bases->count++] = base->info_va;
    }
}

static void add_bases_of(struct hs_vtable_types *vtables, struct bases *bases, uint64_t info_va)
{
    uint64_t words[3];
    struct base list[BASES_AT_ONCE];
    if (!is_constant(vtables, info_va) || !read_words(vtables, info_va, words, 3)) {
        return;
    }
    enum hs_vtable_meta_kind kind = meta_kind(vtables, words[0]);
    if (kind == HS_VTABLE_META_SINGLE) {
        add_base(bases, &(struct base){ .info_va = words[2] });
    } else if (kind == HS_VTABLE_META_MULTIPLE) {
        uint64_t count = words[2] >> 32; /* the lower half has flags */
        count = count < BASES_AT_ONCE ? count : BASES_AT_ONCE;
        if (read_words(vtables, info_va + sizeof(words), list, 2 * count)) {
            for (uint64_t i = 0; i < count; i++) {
                add_base(bases, &list[i]);
            }
        }
    }
}

static bool has_virtual_base(struct hs_vtable_types *vtables, uint64_t info_va)
{
    struct bases bases = { .info_vas = { info_va }, .count = 1 };
    while (bases.next < bases.count && !bases.has_virtual) {
        add_bases_of(vtables, &bases, bases.info_vas[bases.next++]);
    }
    return bases.has_virtual;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Demangles, and leaves out what libiberty writes before the class. */
static int put_name(struct hs_vtable_types *vtables, const char *mangled, const char *prefix,
                    uint32_t *ret_idx)
{
    char text[DEMANGLED_MAX];
    size_t prefix_bytes = strlen(prefix);
    if (!hs_demangle(mangled, text, sizeof(text)) || strncmp(text, prefix, prefix_bytes) != 0 ||
        text[prefix_bytes] == '\0') {
        *ret_idx = 0;
        return 0;
    }
    return hs_type_names_put(vtables->names, HS_TYPE_CXX, text + prefix_bytes, ret_idx);
}

static int name_by_rtti(struct hs_vtable_types *vtables, uint64_t vtable_va,
                        struct hs_vtable_type *type)
{
    struct hs_type_symbol symbol;
    struct type_info info;
    uint64_t info_va;
    char text[MANGLED_MAX], mangled[MANGLED_MAX + sizeof("_ZTS")];
    if (!read_type_info(vtables, vtable_va, &info_va, &info) ||
        meta_kind(vtables, info.vtable_va) == HS_VTABLE_META_NONE ||
        !hs_type_place_is_constant(vtables->memory->place(vtables->memory->ctx, info.name_va)) ||
        !hs_type_text_read(vtables->memory, info.name_va, text, sizeof(text))) {
        return 0;
    }
    if (has_virtual_base(vtables, info_va) &&
        vtables->memory->find_symbol(vtables->memory->ctx, vtable_va, &symbol) &&
        strncmp(symbol.name, "_ZTV", 4) != 0) {
        return 0;
    }
    /* An asterisk: the name is compared by its address. */
    snprintf(mangled, sizeof(mangled), "_ZTS%s", text + (text[0] == '*' ? 1 : 0));
    type->has_rtti = true;
    return put_name(vtables, mangled, NAMES_PREFIX, &type->type_idx);
}

/* Without RTTI: the first function in a vtable is at the address point of the primary one. */
static bool is_first_function(const struct hs_vtable_types *vtables,
                              const struct hs_type_symbol *symbol, uint64_t vtable_va)
{
    const struct hs_type_memory *memory = vtables->memory;
    uint64_t words[HEAD_WORDS_MAX];
    uint64_t before_bytes = vtable_va - symbol->start_va;
    if (before_bytes < 2 * WORD_BYTES || before_bytes % WORD_BYTES != 0 ||
        before_bytes > sizeof(words) - WORD_BYTES ||
        before_bytes + WORD_BYTES > symbol->size_bytes ||
        !read_words(vtables, symbol->start_va, words, before_bytes / WORD_BYTES)) {
        return false;
    }
    bool is_first = true;
    for (size_t i = 0; i < before_bytes / WORD_BYTES; i++) {
        is_first &= memory->place(memory->ctx, words[i]) != HS_TYPE_PLACE_CODE;
    }
    return is_first;
}

static int name_by_symbol(struct hs_vtable_types *vtables, uint64_t vtable_va,
                          struct hs_vtable_type *type)
{
    const struct hs_type_memory *memory = vtables->memory;
    struct hs_type_symbol symbol;
    uint64_t function_va;
    if (!read_words(vtables, vtable_va, &function_va, 1) ||
        memory->place(memory->ctx, function_va) != HS_TYPE_PLACE_CODE ||
        !memory->find_symbol(memory->ctx, vtable_va, &symbol) || vtable_va < symbol.start_va ||
        !is_first_function(vtables, &symbol, vtable_va)) {
        return 0;
    }
    /* A vtable for the time of construction has another prefix. */
    return put_name(vtables, symbol.name, VTABLES_PREFIX, &type->type_idx);
}

/* --- one address ------------------------------------------------------------------------------ */

static int look(struct hs_vtable_types *vtables, uint64_t vtable_va, struct hs_vtable_type *type)
{
    uint64_t head[2]; /* where the object begins; its type_info */
    if (!read_words(vtables, vtable_va - sizeof(head), head, 2) || head[0] != 0) {
        return 0;
    }
    return head[1] != 0 ? name_by_rtti(vtables, vtable_va, type)
                        : name_by_symbol(vtables, vtable_va, type);
}

static int find_seen(struct hs_vtable_types *vtables, uint64_t va, struct hs_vtable_type *ret_type)
{
    struct hs_vtable_type *type;
    struct hs_vtable_type found = { 0 };
    struct hs_intern_key key = hs_intern_mix((struct hs_intern_key){ 0 }, va);
    bool is_new;
    *ret_type = found;
    type = hs_intern_elem(&vtables->seen, vtables->types, sizeof(*type), key);
    if (type || vtables->seen.ids.count >= SEEN_MAX) {
        *ret_type = type ? *type : found;
        return 0;
    }
    int r = look(vtables, va, &found);
    r = r == 0 ? hs_intern_at(&vtables->seen, &vtables->types, sizeof(*type), key, (void **)&type,
                              &is_new)
               : r;
    if (r == 0) {
        *type = found;
        *ret_type = found;
    }
    return r;
}

int hs_vtable_types_find(struct hs_vtable_types *vtables, uint64_t va,
                         struct hs_vtable_type *ret_type)
{
    struct hs_vtable_recent *recent = &vtables->recent[va / WORD_BYTES % HS_VTABLE_RECENT];
    int r = 0;
    *ret_type = (struct hs_vtable_type){ 0 };
    if (va != 0 && recent->va == va) {
        *ret_type = recent->type;
    } else if (is_constant(vtables, va)) {
        r = find_seen(vtables, va, ret_type);
        *recent = (struct hs_vtable_recent){ r == 0 ? va : 0, *ret_type };
    }
    return r;
}
