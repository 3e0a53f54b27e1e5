/*
 * The words of memory in one object that calls of ours go through, or that hold such a function's address.
 *
 * Found by the relocations that name one of hs_hooks. Of a hundred thousand symbols an object has a thousand that it
 * does not define, and those come first in its table; of those that it defines, and may be bound to another
 * definition all the same, its hash table knows the numbers. So few names are compared, and each relocation is one
 * look at a bit.
 *
 * Trust     the tables, as far as the loader trusted them.
 * Threads   one; the object must stay loaded.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Linkers make one; some make two. */
#define HS_OBJECT_DATA_MAX 4U

struct hs_object {
    const void *dynamic; /* its dynamic section */
    uint64_t bias_va, start_va, end_va;
    uint64_t relro_va, relro_end_va; /* what the loader relocates and then closes */
    struct {
        uint64_t start_va, end_va;
    } data[HS_OBJECT_DATA_MAX]; /* segments that are writable, but for that */
    uint32_t data_count;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const ElfW(Rela) * tables[2]; /* DT_RELA, DT_JMPREL */
    uint64_t counts[2];
    uint64_t relative_count; /* the first of tables[0], without symbols */
};

struct hs_object_slot {
    const ElfW(Rela) * rela;
    const ElfW(Sym) * symbol;
    uint64_t *at;
    uint32_t hook;   /* index in hs_hooks */
    bool is_of_call; /* in DT_JMPREL: perhaps not bound yet */
};

/* False: the loader, the vdso, us; or nothing that could be understood. */
bool hs_object_look(const struct dl_phdr_info *info, struct hs_object *ret_object);

/* Of that object, until the next call. */
const struct hs_object_slot *hs_object_slots(const struct hs_object *object, uint32_t *ret_count);
