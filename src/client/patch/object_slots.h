/*
 * The slots of one loaded object: the words through which it calls hooked functions, or which hold
 * such a function's address.
 *
 * They are found through the relocations that name one of hs_hooks. Of a hundred thousand symbols
 * an object typically has a thousand that it does not define, and those come first in its symbol
 * table. The numbers of symbols that it defines, which may be bound to another definition all the
 * same, are found through its hash table. So few names are compared, and each relocation costs one
 * test of a bit.
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

/* What is known of one loaded object. */
struct hs_object {
    const void *dynamic; /* its dynamic section */
    uint64_t bias_va, start_va, end_va;
    /* The part that the loader relocates and then makes read-only. */
    uint64_t relro_va, relro_end_va;
    struct {
        uint64_t start_va, end_va;
    } data[HS_OBJECT_DATA_MAX]; /* writable segments, which include that part */
    uint32_t data_count;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const ElfW(Rela) * tables[2]; /* DT_RELA, DT_JMPREL */
    uint64_t counts[2];
    uint64_t relative_count; /* the first entries of tables[0], which name no symbols */
};

/* One slot of an object. */
struct hs_object_slot {
    const ElfW(Rela) * rela;
    const ElfW(Sym) * symbol;
    uint64_t *at;
    uint32_t hook;   /* index in hs_hooks */
    bool is_of_call; /* in DT_JMPREL: perhaps not bound yet */
};

/* Describes a loaded object. False: it is the loader, the vdso or the client, or it could not be
 * understood. */
bool hs_object_look(const struct dl_phdr_info *info, struct hs_object *ret_object);

/* The slots of an object; valid until the next call. */
const struct hs_object_slot *hs_object_slots(const struct hs_object *object, uint32_t *ret_count);
