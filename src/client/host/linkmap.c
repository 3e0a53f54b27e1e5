/*
 * Symbol lookup by the ELF hash tables of loaded objects. See linkmap.h.
 *
 * The tables are trusted as far as the loader trusted them when it bound the program's own symbols.
 */
#include "client/host/linkmap.h"

#include <elf.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/text.h"

/* The parts of a dynamic section that are needed. */
struct dynamic {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const uint16_t *versions;
};

static const struct link_map *last_lasting; /* NULL: not known */

struct hs_changed_symbols hs_changed_symbols;

void hs_linkmap_set_last(const struct link_map *last)
{
    hs_store_relaxed(&last_lasting, last);
}

/* Finds the loader's list as a debugger does. */
static const struct r_debug *find_debug(void)
{
    const ElfW(Phdr) *phdrs = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM);
    const ElfW(Phdr) *dynamic = NULL;
    uintptr_t bias = 0;
    for (unsigned long i = 0; phdrs && i < count; i++) {
        if (phdrs[i].p_type == PT_PHDR) {
            bias = (uintptr_t)phdrs - phdrs[i].p_vaddr;
        } else if (phdrs[i].p_type == PT_DYNAMIC) {
            dynamic = &phdrs[i];
        }
    }
    if (!dynamic) {
        return NULL;
    }
    const ElfW(Dyn) *dyn = (const ElfW(Dyn) *)(bias + dynamic->p_vaddr);
    for (; dyn->d_tag != DT_NULL; dyn++) {
        if (dyn->d_tag == DT_DEBUG) {
            return (const struct r_debug *)dyn->d_un.d_ptr;
        }
    }
    return NULL;
}

const struct link_map *hs_linkmap_first(void)
{
    const struct r_debug *debug = find_debug();
    return debug ? debug->r_map : NULL;
}

bool hs_linkmap_has_namespaces(void)
{
    /* Since version 2 (glibc 2.35) a list of them follows the structure. */
    const struct r_debug *debug = find_debug();
    return debug && debug->r_version >= 2 &&
           *(struct r_debug *const *)(const void *)(debug + 1) != NULL;
}

const struct link_map *hs_linkmap_self(void)
{
    /* _DYNAMIC is our own dynamic section; the loader's entry for the client points to it. */
    const struct link_map *map = hs_linkmap_first();
    while (map && map->l_ld != _DYNAMIC) {
        map = map->l_next;
    }
    return map;
}

static struct dynamic read_dynamic(const struct link_map *map)
{
    struct dynamic d = { NULL, NULL, NULL, NULL, NULL };
    for (const ElfW(Dyn) *dyn = map->l_ld; dyn && dyn->d_tag != DT_NULL; dyn++) {
        uintptr_t va = dyn->d_un.d_ptr;
        /* The loader relocates these addresses in place, but not in a read-only dynamic section
         * (vdso). */
        va += va < map->l_addr ? map->l_addr : 0;
        switch (dyn->d_tag) {
        case DT_SYMTAB:
            d.symbols = (const ElfW(Sym) *)va;
            break;
        case DT_STRTAB:
            d.strings = (const char *)va;
            break;
        case DT_GNU_HASH:
            d.gnu_hash = (const uint32_t *)va;
            break;
        case DT_HASH:
            d.sysv_hash = (const uint32_t *)va;
            break;
        case DT_VERSYM:
            d.versions = (const uint16_t *)va;
            break;
        default:
            break;
        }
    }
    return d;
}

typedef int rank_fn(const struct dynamic *d, uint32_t idx, const char *name);

static int rank_any(const struct dynamic *d, uint32_t idx, const char *name)
{
    return hs_text_is_same(d->strings + d->symbols[idx].st_name, name);
}

/* Higher is better; 0: not a definition. */
static int rank(const struct dynamic *d, uint32_t idx, const char *name)
{
    const ElfW(Sym) *sym = &d->symbols[idx];
    unsigned type = ELF64_ST_TYPE(sym->st_info);
    if (sym->st_shndx == SHN_UNDEF || sym->st_value == 0 ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT && type != STT_NOTYPE) ||
        !hs_text_is_same(d->strings + sym->st_name, name)) {
        return 0;
    }
    /* The default version is not hidden; an old one is used where there is nothing else. */
    return d->versions && d->versions[idx] & 0x8000 ? 1 : 2;
}

static uint32_t find_gnu(const struct dynamic *d, const char *name, rank_fn *rank_of)
{
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++) {
        hash = hash * 33 + (unsigned char)*c;
    }
    uint32_t bucket_count = d->gnu_hash[0];
    uint32_t first_hashed = d->gnu_hash[1];
    uint32_t bloom_words = d->gnu_hash[2];
    const uint32_t *buckets = d->gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = buckets + bucket_count;
    uint32_t idx = bucket_count ? buckets[hash % bucket_count] : 0;
    uint32_t best = 0;
    int best_rank = 0;
    while (idx >= first_hashed && idx != 0) {
        uint32_t found = chain[idx - first_hashed];
        int r = (found | 1) == (hash | 1) ? rank_of(d, idx, name) : 0;
        if (r > best_rank) {
            best = idx;
            best_rank = r;
        }
        if (found & 1) {
            break;
        }
        idx++;
    }
    return best;
}

static uint32_t find_sysv(const struct dynamic *d, const char *name, rank_fn *rank_of)
{
    uint32_t best = 0;
    int best_rank = 0;
    uint32_t symbol_count = d->sysv_hash[1];
    for (uint32_t idx = 1; idx < symbol_count; idx++) {
        int r = rank_of(d, idx, name);
        if (r > best_rank) {
            best = idx;
            best_rank = r;
        }
    }
    return best;
}

static uint32_t find(const struct dynamic *d, const char *name, rank_fn *rank_of)
{
    if (!d->symbols || !d->strings) {
        return 0;
    }
    return d->gnu_hash    ? find_gnu(d, name, rank_of)
           : d->sysv_hash ? find_sysv(d, name, rank_of)
                          : 0;
}

uint32_t hs_linkmap_symbol_number(const struct link_map *map, const char *name)
{
    struct dynamic d = read_dynamic(map);
    return find(&d, name, rank_any);
}

const ElfW(Sym) * hs_linkmap_entry(const struct link_map *map, const char *name)
{
    struct dynamic d = read_dynamic(map);
    uint32_t idx = find(&d, name, rank);
    return idx == 0 ? NULL : &d.symbols[idx];
}

uint64_t hs_linkmap_value(const ElfW(Sym) * symbol)
{
    for (uint32_t i = 0; i < hs_changed_symbols.count; i++) {
        if (hs_changed_symbols.symbols[i].symbol == symbol) {
            return hs_changed_symbols.symbols[i].value;
        }
    }
    return symbol->st_value;
}

void *hs_linkmap_symbol(const struct link_map *map, const char *name)
{
    const ElfW(Sym) *sym = hs_linkmap_entry(map, name);
    if (!sym) {
        return NULL;
    }
    void *va = (void *)(map->l_addr + (hs_linkmap_value(sym)));
    if (ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC) {
        void *(*choose)(void) = (void *(*)(void))va;
        return choose();
    }
    return va;
}

static const struct link_map *next_lasting(const struct link_map *map)
{
    return map == hs_load_relaxed(&last_lasting) ? NULL : map->l_next;
}

uint32_t hs_linkmap_lasting_count(void)
{
    uint32_t count = 0;
    const struct link_map *map = hs_load_relaxed(&last_lasting) ? hs_linkmap_first() : NULL;
    for (; map; map = next_lasting(map)) {
        count++;
    }
    return count;
}

void *hs_linkmap_search(const struct link_map *after, const struct link_map *except,
                        const char *name, const struct link_map **ret_map)
{
    const struct link_map *map = after ? next_lasting(after) : hs_linkmap_first();
    for (; map; map = next_lasting(map)) {
        void *va = map == except ? NULL : hs_linkmap_symbol(map, name);
        if (va) {
            if (ret_map) {
                *ret_map = map;
            }
            return va;
        }
    }
    return NULL;
}
