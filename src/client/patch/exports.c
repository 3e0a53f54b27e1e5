/*
 * Changing entries of symbol tables. See exports.h.
 */
#include "client/patch/exports.h"

#include <elf.h>
#include <sys/mman.h>

#include "client/host/linkmap.h"
#include "client/host/real.h"
#include "client/patch/hook_table.h"
#include "client/patch/object_slots.h"
#include "client/patch/own_hook_table.h"
#include "client/patch/patch.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"
#include "rt/sys.h"
#include "rt/text.h"

#define PAGE_BYTES UINT64_C(4096)

/* The first changed entries, which are the C library's; the others are of the library that serves
 * malloc. */
static uint32_t libc_count;

/* Notes an entry that is to be changed. False: it cannot be. */
static bool note(const struct link_map *map, const char *name, const void *hook)
{
    const ElfW(Sym) *symbol = hs_linkmap_entry(map, name);
    if (!symbol || !hook) {
        return true;
    }
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC ||
        hs_changed_symbols.count == HS_CHANGED_SYMBOLS_MAX) {
        return false;
    }
    HS_ASSERT(hs_linkmap_value(symbol) == symbol->st_value); /* it is not noted yet */
    hs_changed_symbols.symbols[hs_changed_symbols.count++] = (struct hs_changed_symbol){
        .symbol = symbol,
        .value = symbol->st_value,
        .new_value = (uint64_t)hook - map->l_addr,
    };
    return true;
}

/* Sets the entries from `first` to `end`, which are of one library. Their pages are read-only,
 * unless the program has changed that. */
static bool write_from(uint32_t first, uint32_t end, bool is_restored)
{
    uint64_t start_va = UINT64_MAX, end_va = 0;
    for (uint32_t i = first; i < end; i++) {
        uint64_t va = (uint64_t)hs_changed_symbols.symbols[i].symbol;
        start_va = va < start_va ? va : start_va;
        end_va = va + sizeof(ElfW(Sym)) > end_va ? va + sizeof(ElfW(Sym)) : end_va;
    }
    if (end_va == 0) {
        return true;
    }
    start_va &= ~(PAGE_BYTES - 1);
    bool is_writable =
        hs_sys_is_writable((uint64_t)&hs_changed_symbols.symbols[first].symbol->st_value);
    if (!is_writable &&
        hs_sys_mprotect((void *)start_va, end_va - start_va, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    for (uint32_t i = first; i < end; i++) {
        const struct hs_changed_symbol *entry = &hs_changed_symbols.symbols[i];
        uint64_t *value = (uint64_t *)(uintptr_t)&entry->symbol->st_value;
        hs_store_relaxed(value, is_restored ? entry->value : entry->new_value);
        HS_ASSERT(hs_linkmap_value(entry->symbol) == entry->value);
    }
    if (!is_writable) {
        hs_sys_mprotect((void *)start_va, end_va - start_va, PROT_READ);
    }
    return true;
}

static bool is_of_allocator(const char *name)
{
    static const char *const others[] = { "prctl",  "syscall",  "mmap",          "mmap64", "munmap",
                                          "mremap", "mprotect", "pkey_mprotect", "brk",    "sbrk" };
    bool is_other = hs_text_starts_with(name, "dl");
    for (unsigned i = 0; i < HS_COUNT_OF(others); i++) {
        is_other |= hs_text_is_same(name, others[i]);
    }
    return !is_other;
}

/* Do calls of this name that are bound in the usual way reach the same function as those bound to
 * the C library? */
static bool is_one(const struct link_map *libc, const char *name)
{
    return !hs_real.is_defined_in_program && hs_linkmap_symbol(libc, name) == hs_real_find(name);
}

static bool redirect_libc(const struct link_map *libc)
{
    bool is_whole = true;
    for (uint32_t i = 0; i < hs_hook_count; i++) {
        const char *name = hs_hooks[i].name;
        void *other = hs_own_hook_table_of_libc(name);
        /* If it is not there, hs_real_find() would search in objects that may be about to be
         * unloaded. */
        if (other && hs_linkmap_entry(libc, name)) {
            is_whole &= note(libc, name, is_one(libc, name) ? hs_hooks[i].va : other);
        }
    }
    libc_count = hs_changed_symbols.count;
    return write_from(0, hs_changed_symbols.count, false) && is_whole;
}

static bool redirect_serving(const struct link_map *libc)
{
    bool is_whole = true;
    const struct link_map *self = hs_linkmap_self(), *serving = NULL;
    hs_linkmap_search(hs_real.is_preloaded ? self : NULL, self, "malloc", &serving);
    if (!serving || serving == libc || serving == hs_linkmap_first()) {
        return true;
    }
    for (uint32_t i = 0; i < hs_hook_count; i++) {
        const char *name = hs_hooks[i].name;
        is_whole &= !is_of_allocator(name) || note(serving, name, hs_hooks[i].va);
    }
    return write_from(libc_count, hs_changed_symbols.count, false) && is_whole;
}

/* --- objects that are loaded later ------------------------------------------------------------ */

static struct {
    uint64_t unload_count; /* the loader's count of unloaded objects, when they were looked at */
    uint32_t start_count;  /* objects loaded at the start, which stay */
    uint32_t object_count; /* the first objects, which need not be looked at again */
} looked;

struct look {
    uint32_t idx;
    bool has_other;
};

static void count_objects(void)
{
    looked.start_count = hs_linkmap_lasting_count();
    looked.object_count = looked.start_count;
}

static int on_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct look *look = ctx;
    struct hs_object object;
    (void)bytes;
    if (info->dlpi_subs != looked.unload_count) {
        looked.unload_count = info->dlpi_subs;
        looked.object_count = looked.start_count;
    }
    if (look->idx++ >= looked.object_count && hs_object_look(info, &object)) {
        const struct link_map map = { .l_addr = info->dlpi_addr,
                                      .l_ld = (ElfW(Dyn) *)(uintptr_t)object.dynamic };
        look->has_other |= hs_linkmap_entry(&map, "malloc") != NULL;
    }
    return 0;
}

bool hs_exports_has_other_allocator(void)
{
    static uint32_t is_busy;
    uint32_t is_free = 0;
    struct look look = { 0, false };
    if (!hs_cas_relaxed(&is_busy, &is_free, 1)) {
        /* Another thread is looking, and may have passed the new object. */
        hs_store_relaxed(&hs_patch_is_due, 1);
        return false;
    }
    dl_iterate_phdr(on_object, &look);
    looked.object_count = look.idx;
    hs_store_relaxed(&is_busy, 0);
    return look.has_other;
}

/* --- redirecting and restoring ---------------------------------------------------------------- */

bool hs_exports_redirect(void)
{
    const struct link_map *libc = hs_real_libc();
    if (!libc || hs_changed_symbols.count > 0) {
        return libc != NULL;
    }
    count_objects();
    bool is_whole = redirect_libc(libc);
    return redirect_serving(libc) && is_whole;
}

void hs_exports_restore(void)
{
    write_from(0, libc_count, true);
    write_from(libc_count, hs_changed_symbols.count, true);
    hs_changed_symbols.count = libc_count = 0;
}
