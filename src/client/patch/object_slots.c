/*
 * Headers, symbols and relocations of one object. See object_slots.h.
 */
#include "client/patch/object_slots.h"

#include <string.h>
#include <sys/auxv.h>

#include "arch/reloc.h"
#include "client/host/linkmap.h"
#include "client/patch/hook_table.h"
#include "rt/base.h"
#include "rt/bits.h"
#include "rt/text.h"

/* Symbols of one object that name hooked functions, under any version; and relocations that name
 * those symbols. */
#define SYMBOLS_MAX 256U
#define SLOTS_MAX   8192U
/* A bit set of this size, indexed by the low bits of a symbol's number, excludes most symbols that
 * do not name a hook. */
#define SIEVE_BITS 4096U

/* What was found in one object. */
static struct {
    struct {
        uint32_t number, hook;
    } symbols[SYMBOLS_MAX];
    uint32_t symbol_count;
    uint64_t sieve[SIEVE_BITS / 64];
    struct hs_object_slot slots[SLOTS_MAX];
} found;

static void read_dynamic(struct hs_object *object, const ElfW(Dyn) * dyn)
{
    for (; dyn->d_tag != DT_NULL; dyn++) {
        uint64_t va = dyn->d_un.d_ptr + (dyn->d_un.d_ptr < object->bias_va ? object->bias_va : 0);
        switch (dyn->d_tag) {
        case DT_SYMTAB:
            object->symbols = (const ElfW(Sym) *)va;
            break;
        case DT_STRTAB:
            object->strings = (const char *)va;
            break;
        case DT_GNU_HASH:
            object->gnu_hash = (const uint32_t *)va;
            break;
        case DT_HASH:
            object->sysv_hash = (const uint32_t *)va;
            break;
        case DT_RELA:
            object->tables[0] = (const ElfW(Rela) *)va;
            break;
        case DT_RELASZ:
            object->counts[0] = dyn->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELACOUNT:
            object->relative_count = dyn->d_un.d_val;
            break;
        case DT_JMPREL:
            object->tables[1] = (const ElfW(Rela) *)va;
            break;
        case DT_PLTRELSZ:
            object->counts[1] = dyn->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
}

/* False: the object has no slots to look at, or its headers could not be understood. */
bool hs_object_look(const struct dl_phdr_info *info, struct hs_object *ret_object)
{
    struct hs_object object = { .bias_va = info->dlpi_addr, .start_va = UINT64_MAX };
    const ElfW(Dyn) *dynamic = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uint64_t va = object.bias_va + ph->p_vaddr;
        if (ph->p_type == PT_LOAD) {
            object.start_va = va < object.start_va ? va : object.start_va;
            object.end_va = va + ph->p_memsz > object.end_va ? va + ph->p_memsz : object.end_va;
            if (ph->p_flags & PF_W && object.data_count < HS_OBJECT_DATA_MAX) {
                object.data[object.data_count].start_va = va;
                object.data[object.data_count++].end_va = va + ph->p_memsz;
            }
        } else if (ph->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)va;
        } else if (ph->p_type == PT_GNU_RELRO) {
            object.relro_va = hs_align_down(va, 4096);
            object.relro_end_va = hs_align_down(va + ph->p_memsz, 4096);
        }
    }
    bool is_loader = object.bias_va != 0 && object.bias_va == getauxval(AT_BASE);
    bool is_vdso =
        object.start_va <= getauxval(AT_SYSINFO_EHDR) && getauxval(AT_SYSINFO_EHDR) < object.end_va;
    if (!dynamic || dynamic == _DYNAMIC || is_loader || is_vdso) {
        return false;
    }
    read_dynamic(&object, dynamic);
    object.dynamic = dynamic;
    *ret_object = object;
    return object.symbols && object.strings;
}

/* Index of the hook of that name; hs_hook_count: there is none. */
static uint32_t find_hook(const char *name)
{
    uint32_t i = 0;
    while (i < hs_hook_count && !hs_text_is_same(hs_hooks[i].name, name)) {
        i++;
    }
    return i;
}

/* The first letter already excludes most names. */
static bool may_be_hook(char first)
{
    for (const char *known = "mcrfapv_ds"; *known; known++) {
        if (*known == first) {
            return true;
        }
    }
    return false;
}

static void note_symbol(const struct hs_object *object, uint32_t number)
{
    const char *name = object->strings + object->symbols[number].st_name;
    uint32_t hook = may_be_hook(name[0]) ? find_hook(name) : hs_hook_count;
    if (hook < hs_hook_count && found.symbol_count < SYMBOLS_MAX) {
        found.symbols[found.symbol_count].number = number;
        found.symbols[found.symbol_count++].hook = hook;
        found.sieve[number % SIEVE_BITS / 64] |= UINT64_C(1) << (number % 64);
    }
}

static void find_symbols(const struct hs_object *object, const struct link_map *map)
{
    uint32_t count = object->sysv_hash ? object->sysv_hash[1] : 0;
    if (object->gnu_hash) {
        count = object->gnu_hash[1];
    }
    found.symbol_count = 0;
    memset(found.sieve, 0, sizeof(found.sieve));
    for (uint32_t i = 1; i < count; i++) {
        note_symbol(object, i);
    }
    for (uint32_t h = 0; object->gnu_hash && map && h < hs_hook_count; h++) {
        uint32_t number = hs_linkmap_symbol_number(map, hs_hooks[h].name);
        if (number != 0) {
            note_symbol(object, number);
        }
    }
}

static uint32_t hook_of_symbol(uint32_t number)
{
    if (!(found.sieve[number % SIEVE_BITS / 64] >> (number % 64) & 1)) {
        return hs_hook_count;
    }
    for (uint32_t i = 0; i < found.symbol_count; i++) {
        if (found.symbols[i].number == number) {
            return found.symbols[i].hook;
        }
    }
    return hs_hook_count;
}

static const struct link_map *map_of(const void *dynamic)
{
    const struct link_map *map = hs_linkmap_first();
    while (map && map->l_ld != dynamic) {
        map = map->l_next;
    }
    return map;
}

const struct hs_object_slot *hs_object_slots(const struct hs_object *object, uint32_t *ret_count)
{
    uint32_t count = 0;
    find_symbols(object, map_of(object->dynamic));
    for (unsigned t = 0; t < 2; t++) {
        const ElfW(Rela) *table = object->tables[t];
        for (uint64_t i = t == 0 ? object->relative_count : 0; table && i < object->counts[t];
             i++) {
            uint32_t number = (uint32_t)(table[i].r_info >> 32);
            uint32_t hook = hook_of_symbol(number);
            if (hook < hs_hook_count && hs_arch_is_function_slot(table[i].r_info) &&
                table[i].r_addend == 0 && count < SLOTS_MAX) {
                found.slots[count++] = (struct hs_object_slot){
                    .rela = &table[i],
                    .symbol = &object->symbols[number],
                    .at = (uint64_t *)(object->bias_va + table[i].r_offset),
                    .hook = hook,
                    .is_of_call = t == 1,
                };
            }
        }
    }
    *ret_count = count;
    return found.slots;
}
