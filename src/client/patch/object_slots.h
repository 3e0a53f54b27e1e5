/*
 * The slots of one loaded object: the words through which it calls hooked functions, and other
 * words that hold the address of such a function.
 *
 * The slots are found through the relocations whose symbol is the name of one of hs_hooks. So the
 * numbers of these symbols are found first. An object with a hundred thousand symbols typically has
 * a thousand that it does not define; they come first in its symbol table, and the name of each is
 * compared. A symbol that the object defines may be bound to another definition all the same; its
 * number is found through the object's hash table. So few names are compared. The numbers become a
 * bit set, and most relocations cost one test of a bit.
 *
 * Trust     the object's tables are trusted as the loader trusts them.
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
