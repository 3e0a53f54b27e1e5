/*
 * Walking all objects' relocations, and setting slots. See patch.h.
 */
#include "client/patch.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "arch/reloc.h"
#include "client/hook_table.h"
#include "client/linkmap.h"
#include "client/pages.h"
#include "client/real.h"
#include "rt/atomic.h"
#include "rt/sys.h"
#include "rt/text.h"

#define HOOKS_MAX   64U
#define SLOTS_MAX   65536U
#define OBJECTS_MAX 4096U
/* Symbols of one object that are ours, under any version; and relocations that name them. */
#define SYMBOLS_MAX 256U
#define MATCHES_MAX 8192U
/* Symbols are told from others by so many low bits of their number. */
#define SIEVE_BITS 4096U

struct slot {
    uint64_t *at;
    uint64_t was;
};

struct object {
    uint64_t bias_va;
    const void *dynamic;
};

/* What we changed; in memory of its own, 1 MiB of which only the used part counts. */
static struct {
    struct slot *slots;
    uint32_t slot_count;
    uint32_t cursor; /* where the last one was found: they come in the same order again */
    struct object objects[OBJECTS_MAX];
    uint32_t object_count;
    uint64_t unload_count; /* of the loader, when the objects were noted */
    bool is_applied;
} patched;

uint32_t hs_patch_is_due;
static uint32_t is_busy; /* one thread at a time */

/* What a slot of each hook may hold. */
struct meaning {
    uint64_t real_va; /* the definition that the program uses; 0: there is none */
    uint64_t
        entry_va; /* the executable's own entry for it, taken for its address everywhere; 0: none */
};

static struct meaning meanings[HOOKS_MAX];

/* One object, as its headers and its dynamic section describe it. */
struct view {
    uint64_t bias_va, start_va, end_va;
    uint64_t relro_va, relro_end_va;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const ElfW(Rela) * tables[2];
    uint64_t counts[2];
    uint64_t relative_count; /* the first of tables[0], without symbols */
    bool is_open;            /* its relocated part may be written to */
    bool is_foreign;         /* it was bound to another allocator */
};

typedef void visit_fn(struct view *view, const ElfW(Rela) * rela, uint32_t hook,
                      struct hs_patch_counts *counts);

/* What was found in one object. */
static struct {
    struct {
        uint32_t number, hook;
    } symbols[SYMBOLS_MAX];
    uint32_t symbol_count;
    uint64_t sieve[SIEVE_BITS / 64];
    struct {
        const ElfW(Rela) * rela;
        uint32_t hook;
    } matches[MATCHES_MAX];
    uint32_t match_count;
} found;

/* --- objects ------------------------------------------------------------------------------------- */

static void read_dynamic(struct view *view, const ElfW(Dyn) * dyn)
{
    for (; dyn->d_tag != DT_NULL; dyn++) {
        uint64_t va = dyn->d_un.d_ptr + (dyn->d_un.d_ptr < view->bias_va ? view->bias_va : 0);
        switch (dyn->d_tag) {
        case DT_SYMTAB:
            view->symbols = (const ElfW(Sym) *)va;
            break;
        case DT_STRTAB:
            view->strings = (const char *)va;
            break;
        case DT_GNU_HASH:
            view->gnu_hash = (const uint32_t *)va;
            break;
        case DT_HASH:
            view->sysv_hash = (const uint32_t *)va;
            break;
        case DT_RELA:
            view->tables[0] = (const ElfW(Rela) *)va;
            break;
        case DT_RELASZ:
            view->counts[0] = dyn->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELACOUNT:
            view->relative_count = dyn->d_un.d_val;
            break;
        case DT_JMPREL:
            view->tables[1] = (const ElfW(Rela) *)va;
            break;
        case DT_PLTRELSZ:
            view->counts[1] = dyn->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
}

/* False: nothing to do there, or nothing that we could understand. */
static bool look_at(const struct dl_phdr_info *info, struct view *ret_view,
                    const void **ret_dynamic)
{
    struct view view = { .bias_va = info->dlpi_addr, .start_va = UINT64_MAX };
    const ElfW(Dyn) *dynamic = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uint64_t va = view.bias_va + ph->p_vaddr;
        if (ph->p_type == PT_LOAD) {
            view.start_va = va < view.start_va ? va : view.start_va;
            view.end_va = va + ph->p_memsz > view.end_va ? va + ph->p_memsz : view.end_va;
        } else if (ph->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)va;
        } else if (ph->p_type == PT_GNU_RELRO) {
            view.relro_va = hs_align_down(va, 4096);
            view.relro_end_va = hs_align_down(va + ph->p_memsz, 4096);
        }
    }
    bool is_loader = view.bias_va != 0 && view.bias_va == getauxval(AT_BASE);
    bool is_vdso =
        view.start_va <= getauxval(AT_SYSINFO_EHDR) && getauxval(AT_SYSINFO_EHDR) < view.end_va;
    if (!dynamic || dynamic == _DYNAMIC || is_loader || is_vdso) {
        return false;
    }
    read_dynamic(&view, dynamic);
    *ret_dynamic = dynamic;
    *ret_view = view;
    return view.symbols && view.strings;
}

/* Index of the hook of that name; hs_hook_count: there is none. */
static uint32_t find_hook(const char *name)
{
    uint32_t i = 0;
    while (i < hs_hook_count &&
           (hs_hooks[i].name[0] != name[0] || strcmp(hs_hooks[i].name, name) != 0)) {
        i++;
    }
    return i;
}

/* Most names are told apart by their first letter. */
static bool may_be_hook(char first)
{
    static const char firsts[] = "mcrfapv_ds";
    return memchr(firsts, first, sizeof(firsts) - 1) != NULL;
}

static void note_symbol(const struct view *view, uint32_t number)
{
    const char *name = view->strings + view->symbols[number].st_name;
    uint32_t hook = may_be_hook(name[0]) ? find_hook(name) : hs_hook_count;
    if (hook < hs_hook_count && found.symbol_count < SYMBOLS_MAX) {
        found.symbols[found.symbol_count].number = number;
        found.symbols[found.symbol_count++].hook = hook;
        found.sieve[number % SIEVE_BITS / 64] |= UINT64_C(1) << (number % 64);
    }
}

/* An object of a hundred thousand symbols has a thousand that it does not define, and those come first. Of those
 * that it does define, and may be bound to another definition all the same, a hash table knows the numbers. */
static void find_symbols(const struct view *view, const struct link_map *map)
{
    uint32_t count = view->sysv_hash ? view->sysv_hash[1] : 0;
    if (view->gnu_hash) {
        count = view->gnu_hash[1];
    }
    found.symbol_count = 0;
    memset(found.sieve, 0, sizeof(found.sieve));
    for (uint32_t i = 1; i < count; i++) {
        note_symbol(view, i);
    }
    for (uint32_t h = 0; view->gnu_hash && map && h < hs_hook_count; h++) {
        uint32_t number = hs_linkmap_symbol_number(map, hs_hooks[h].name);
        if (number != 0) {
            note_symbol(view, number);
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

static void find_matches(const struct view *view, const void *dynamic)
{
    found.match_count = 0;
    find_symbols(view, map_of(dynamic));
    for (unsigned t = 0; t < 2; t++) {
        const ElfW(Rela) *table = view->tables[t];
        for (uint64_t i = t == 0 ? view->relative_count : 0; table && i < view->counts[t]; i++) {
            uint32_t symbol = (uint32_t)(table[i].r_info >> 32);
            uint32_t hook = hook_of_symbol(symbol);
            if (hook < hs_hook_count && hs_arch_is_function_slot(table[i].r_info) &&
                table[i].r_addend == 0 && found.match_count < MATCHES_MAX) {
                found.matches[found.match_count].rela = &table[i];
                found.matches[found.match_count++].hook = hook;
            }
        }
    }
}

static void visit_all(struct view *view, visit_fn *visit, struct hs_patch_counts *counts)
{
    for (uint32_t i = 0; i < found.match_count; i++) {
        visit(view, found.matches[i].rela, found.matches[i].hook, counts);
    }
}

/* --- slots --------------------------------------------------------------------------------------- */

static uint64_t *slot_of(const struct view *view, const ElfW(Rela) * rela)
{
    return (uint64_t *)(view->bias_va + rela->r_offset);
}

static const ElfW(Sym) * symbol_of(const struct view *view, const ElfW(Rela) * rela)
{
    return &view->symbols[rela->r_info >> 32];
}

/* The loader makes what it relocates read-only; unless the program has made it writable again. */
static bool open_slot(struct view *view, uint64_t *slot)
{
    uint64_t va = (uint64_t)slot;
    if (va < view->relro_va || va >= view->relro_end_va || view->is_open) {
        return true;
    }
    if (hs_sys_is_writable(va)) {
        return true;
    }
    view->is_open = hs_sys_mprotect((void *)view->relro_va, view->relro_end_va - view->relro_va,
                                    PROT_READ | PROT_WRITE) == 0;
    return view->is_open;
}

static void close_slots(const struct view *view)
{
    if (view->is_open) {
        hs_sys_mprotect((void *)view->relro_va, view->relro_end_va - view->relro_va, PROT_READ);
    }
}

/* Its address as other objects see it, if the executable has an entry of its own for the function. */
static void note_entry(struct view *view, const ElfW(Rela) * rela, uint32_t hook,
                       struct hs_patch_counts *counts)
{
    (void)counts;
    const ElfW(Sym) *symbol = symbol_of(view, rela);
    if (symbol->st_shndx == SHN_UNDEF && symbol->st_value != 0) {
        meanings[hook].entry_va = view->bias_va + symbol->st_value;
    }
}

static bool is_real(uint32_t hook, uint64_t value)
{
    const struct meaning *meaning = &meanings[hook];
    return value != 0 && (value == meaning->real_va || value == meaning->entry_va);
}

/* Not bound yet: it leads into the object itself, but not to a definition there, and on to the loader. */
static bool is_unbound(const struct view *view, const ElfW(Rela) * rela, uint64_t value)
{
    const ElfW(Sym) *symbol = symbol_of(view, rela);
    return rela >= view->tables[1] && rela < view->tables[1] + view->counts[1] &&
           value >= view->start_va && value < view->end_va &&
           (symbol->st_shndx == SHN_UNDEF || value != view->bias_va + symbol->st_value);
}

/* Bound, and to somebody else: then what is not bound yet would be, too. */
static void note_foreign(struct view *view, const ElfW(Rela) * rela, uint32_t hook,
                         struct hs_patch_counts *counts)
{
    (void)counts;
    uint64_t value = hs_load_relaxed(slot_of(view, rela));
    if (value != (uint64_t)hs_hooks[hook].va && !is_real(hook, value) &&
        !is_unbound(view, rela, value) && meanings[hook].real_va != 0) {
        view->is_foreign = true;
    }
}

static void lead_to_us(struct view *view, const ElfW(Rela) * rela, uint32_t hook,
                       struct hs_patch_counts *counts)
{
    uint64_t *at = slot_of(view, rela);
    uint64_t value = hs_load_relaxed(at);
    if (value == (uint64_t)hs_hooks[hook].va) {
        return;
    }
    bool is_ours_to_change =
        is_real(hook, value) ||
        (!view->is_foreign && meanings[hook].real_va != 0 && is_unbound(view, rela, value));
    if (!is_ours_to_change || patched.slot_count == SLOTS_MAX || !open_slot(view, at)) {
        counts->left += value != 0;
        return;
    }
    patched.slots[patched.slot_count++] = (struct slot){ at, value };
    hs_store_relaxed(at, (uint64_t)hs_hooks[hook].va);
    counts->changed++;
}

static uint64_t held_before(const uint64_t *at, uint32_t hook)
{
    for (uint32_t i = 0; i < patched.slot_count; i++) {
        patched.cursor = patched.cursor + 1 < patched.slot_count ? patched.cursor + 1 : 0;
        if (patched.slots[patched.cursor].at == at) {
            return patched.slots[patched.cursor].was;
        }
    }
    return meanings[hook].real_va;
}

static void lead_back(struct view *view, const ElfW(Rela) * rela, uint32_t hook,
                      struct hs_patch_counts *counts)
{
    uint64_t *at = slot_of(view, rela);
    if (hs_load_relaxed(at) == (uint64_t)hs_hooks[hook].va && open_slot(view, at)) {
        hs_store_relaxed(at, held_before(at, hook));
        counts->changed++;
    }
}

/* --- all of them --------------------------------------------------------------------------------- */

static void find_meanings(void)
{
    const struct link_map *self = hs_linkmap_self();
    for (uint32_t i = 0; i < hs_hook_count; i++) {
        meanings[i].real_va = (uint64_t)hs_linkmap_search(NULL, self, hs_hooks[i].name, NULL);
    }
}

/* True: it was noted before. */
static bool note_object(const struct dl_phdr_info *info, const void *dynamic)
{
    if (info->dlpi_subs != patched.unload_count) {
        /* Another one may be where one was. */
        patched.unload_count = info->dlpi_subs;
        patched.object_count = 0;
    }
    for (uint32_t i = 0; i < patched.object_count; i++) {
        if (patched.objects[i].bias_va == info->dlpi_addr &&
            patched.objects[i].dynamic == dynamic) {
            return true;
        }
    }
    if (patched.object_count < OBJECTS_MAX) {
        patched.objects[patched.object_count++] = (struct object){ info->dlpi_addr, dynamic };
    }
    return false;
}

static int on_apply(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct hs_patch_counts *counts = ctx;
    struct view view;
    const void *dynamic;
    (void)bytes;
    if (!look_at(info, &view, &dynamic) || note_object(info, dynamic)) {
        return 0;
    }
    find_matches(&view, dynamic);
    if (hs_linkmap_first() && hs_linkmap_first()->l_ld == dynamic) {
        visit_all(&view, note_entry, counts); /* it is the first */
    }
    visit_all(&view, note_foreign, counts);
    visit_all(&view, lead_to_us, counts);
    close_slots(&view);
    return 0;
}

static int on_undo(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct view view;
    const void *dynamic;
    (void)bytes;
    if (look_at(info, &view, &dynamic)) {
        find_matches(&view, dynamic);
        visit_all(&view, lead_back, ctx);
        close_slots(&view);
    }
    return 0;
}

static bool enter(void)
{
    uint32_t is_free = 0;
    return hs_cas_relaxed(&is_busy, &is_free, 1);
}

static void leave(void)
{
    hs_store_relaxed(&is_busy, 0);
}

void hs_patch_apply(struct hs_patch_counts *ret_counts)
{
    *ret_counts = (struct hs_patch_counts){ 0, 0 };
    if (hs_hook_count > HOOKS_MAX || !enter()) {
        return;
    }
    if (!patched.slots) {
        patched.slots = hs_pages_map_sparse(SLOTS_MAX * sizeof(struct slot));
    }
    if (patched.slots) {
        find_meanings();
        hs_store_relaxed(&hs_patch_is_due, 0);
        dl_iterate_phdr(on_apply, ret_counts);
        patched.is_applied = true;
    }
    leave();
}

void hs_patch_undo(struct hs_patch_counts *ret_counts)
{
    *ret_counts = (struct hs_patch_counts){ 0, 0 };
    if (!enter()) {
        return;
    }
    if (patched.slots) {
        dl_iterate_phdr(on_undo, ret_counts);
        patched.slot_count = patched.cursor = patched.object_count = 0;
        patched.is_applied = false;
        hs_sys_madvise(patched.slots, SLOTS_MAX * sizeof(struct slot), MADV_DONTNEED);
    }
    leave();
}

void hs_patch_new(void)
{
    struct hs_patch_counts unused;
    if (patched.is_applied) {
        hs_patch_apply(&unused);
    }
}
