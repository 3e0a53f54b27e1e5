/*
 * Looks up symbols of another process in the hash tables of its objects: see remote_objects.h.
 */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "inject/remote/remote_objects.h"

#define CHAIN_MAX  65536U
#define NAME_BYTES 128U
/* The bit that marks a version which is not the default. */
#define VERSION_HIDDEN 0x8000U

struct lookup {
    const struct hs_remote_memory *memory;
    const struct hs_remote_object *object;
    const char *name;
    int best_rank; /* 0: nothing found */
    ElfW(Sym) best;
};

static bool read_u32(const struct lookup *l, uint64_t va, uint32_t *ret_value)
{
    return hs_remote_memory_read(l->memory, va, ret_value, sizeof(*ret_value)) == 0;
}

/* Takes symbol `idx` if it defines the name and is better than what was found so far. A symbol
 * without a section is no definition: programs have such entries for functions of libraries whose
 * address they use. */
static void consider(struct lookup *l, uint32_t idx)
{
    ElfW(Sym) sym;
    char name[NAME_BYTES];
    uint16_t version = 0;
    if (hs_remote_memory_read(l->memory, l->object->symbols_va + idx * sizeof(sym), &sym,
                              sizeof(sym)) < 0) {
        return;
    }
    unsigned type = ELF64_ST_TYPE(sym.st_info);
    if (sym.st_shndx == SHN_UNDEF || sym.st_value == 0 ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT && type != STT_NOTYPE)) {
        return;
    }
    hs_remote_memory_read_text(l->memory, l->object->strings_va + sym.st_name, name, sizeof(name));
    if (strcmp(name, l->name) != 0) {
        return;
    }
    if (l->object->versions_va) {
        hs_remote_memory_read(l->memory, l->object->versions_va + idx * sizeof(version), &version,
                              sizeof(version));
    }
    int rank = version & VERSION_HIDDEN ? 1 : 2;
    if (rank > l->best_rank) {
        l->best_rank = rank;
        l->best = sym;
    }
}

static void find_gnu(struct lookup *l)
{
    uint32_t head[4]; /* buckets, first symbol, bloom words, shift */
    uint32_t hash = 5381, idx;
    for (const char *c = l->name; *c; c++) {
        hash = hash * 33 + (unsigned char)*c;
    }
    if (hs_remote_memory_read(l->memory, l->object->gnu_hash_va, head, sizeof(head)) < 0 ||
        head[0] == 0) {
        return;
    }
    uint64_t buckets_va =
        l->object->gnu_hash_va + sizeof(head) + (uint64_t)head[2] * sizeof(ElfW(Addr));
    uint64_t chain_va = buckets_va + (uint64_t)head[0] * 4;
    if (!read_u32(l, buckets_va + (uint64_t)(hash % head[0]) * 4, &idx) || idx < head[1]) {
        return;
    }
    for (unsigned n = 0; n < CHAIN_MAX; n++, idx++) {
        uint32_t found;
        if (!read_u32(l, chain_va + (uint64_t)(idx - head[1]) * 4, &found)) {
            return;
        }
        if ((found | 1) == (hash | 1)) {
            consider(l, idx);
        }
        if (found & 1) {
            return;
        }
    }
}

static void find_sysv(struct lookup *l)
{
    uint32_t head[2]; /* buckets, symbols */
    uint32_t hash = 0, idx;
    for (const char *c = l->name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    if (hs_remote_memory_read(l->memory, l->object->sysv_hash_va, head, sizeof(head)) < 0 ||
        head[0] == 0) {
        return;
    }
    uint64_t buckets_va = l->object->sysv_hash_va + sizeof(head);
    uint64_t chain_va = buckets_va + (uint64_t)head[0] * 4;
    if (!read_u32(l, buckets_va + (uint64_t)(hash % head[0]) * 4, &idx)) {
        return;
    }
    for (unsigned n = 0; n < CHAIN_MAX && idx != 0 && idx < head[1]; n++) {
        consider(l, idx);
        if (!read_u32(l, chain_va + (uint64_t)idx * 4, &idx)) {
            return;
        }
    }
}

bool hs_remote_objects_symbol(const struct hs_remote_memory *memory,
                              const struct hs_remote_object *object, const char *name,
                              struct hs_remote_symbol *ret_symbol)
{
    struct lookup l = { .memory = memory, .object = object, .name = name };
    if (!object->symbols_va || !object->strings_va) {
        return false;
    }
    if (object->gnu_hash_va) {
        find_gnu(&l);
    } else if (object->sysv_hash_va) {
        find_sysv(&l);
    }
    if (l.best_rank == 0) {
        return false;
    }
    ret_symbol->va = object->bias_va + l.best.st_value;
    ret_symbol->size_bytes = l.best.st_size;
    ret_symbol->type = ELF64_ST_TYPE(l.best.st_info);
    return true;
}

const struct hs_remote_object *hs_remote_objects_search(const struct hs_remote_memory *memory,
                                                        const struct hs_remote_objects *objects,
                                                        const char *name,
                                                        struct hs_remote_symbol *ret_symbol)
{
    for (size_t i = objects->count; i > 0; i--) {
        if (hs_remote_objects_symbol(memory, &objects->items[i - 1], name, ret_symbol)) {
            return &objects->items[i - 1];
        }
    }
    return NULL;
}
