/*
 * The slow halves of the hooks of dlopen, dlsym, dlvsym and dlmopen. The hot halves are in
 * src/arch, because the real functions look at their return address to find out which object calls
 * them.
 *
 * RTLD_NEXT requests the definition that comes after the calling object's own. The client is
 * preloaded and comes right after the executable: an executable that defines malloc, and asks for
 * the next malloc in order to call it, would get our hook. But calls of its malloc lead to that
 * hook (client/patch/detours.h), so it would call itself without end. Therefore it gets the
 * definition that it would get without the client.
 *
 * Threads   any.
 * Fails     only as the real functions fail.
 */
#include <dlfcn.h>
#include <sys/auxv.h>

#include "client/hooks/hooks.h"
#include "client/host/linkmap.h"
#include "client/host/real.h"
#include "client/life/api_table.h"
#include "client/life/lifecycle.h"
#include "client/life/python_heap.h"
#include "client/patch/exports.h"
#include "client/patch/hook_table.h"
#include "client/patch/patch.h"
#include "rt/text.h"

static bool is_in_program(uint64_t va)
{
    const struct link_map *program = hs_linkmap_first();
    const ElfW(Phdr) *phdrs = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    uint64_t count = phdrs && program ? getauxval(AT_PHNUM) : 0;
    for (uint64_t i = 0; i < count; i++) {
        if (phdrs[i].p_type == PT_LOAD &&
            va - (program->l_addr + phdrs[i].p_vaddr) < phdrs[i].p_memsz) {
            return true;
        }
    }
    return false;
}

void *hs_slow_next_symbol(const char *name, uint64_t caller_va)
{
    uint32_t i = 0;
    while (i < hs_hook_count && !hs_text_is_same(hs_hooks[i].name, name)) {
        i++;
    }
    if (i == hs_hook_count || !hs_real.is_preloaded || !is_in_program(caller_va) ||
        !hs_linkmap_symbol(hs_linkmap_first(), name)) {
        return NULL;
    }
    /* The C library and the objects before it are never unloaded; objects behind it may be about to
     * be. */
    const struct link_map *libc = hs_real_libc();
    if (!libc || !hs_linkmap_symbol(libc, name)) {
        return NULL;
    }
    return hs_linkmap_search(hs_linkmap_self(), NULL, name, NULL);
}

static void find_all(void)
{
    hs_api_table_find_all();
    hs_python_heap_find();
}

void hs_slow_new_objects(void)
{
    if (!hs_real.is_preloaded) {
        hs_patch_new(find_all);
        return;
    }
    uint32_t due = hs_swap_relaxed(&hs_patch_is_due, 0);
    if (due & HS_PATCH_DUE && hs_exports_has_other_allocator()) {
        hs_lifecycle_note_unseen(HS_LOSS_UNSEEN_ALLOCATOR);
    }
    hs_python_heap_find_late();
}

void hs_slow_dlmopen(long namespace_id)
{
    hs_real_resolve();
    if (namespace_id != LM_ID_BASE) {
        hs_lifecycle_note_unseen(HS_LOSS_UNSEEN_NAMESPACE);
    }
}
