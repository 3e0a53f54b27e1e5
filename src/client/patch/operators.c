/*
 * Finding the real operators of C++. See operators.h.
 */
#include "client/patch/operators.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "client/host/linkmap.h"
#include "client/host/real.h"
#include "rt/atomic.h"
#include "rt/check.h"

typedef int (*find_object_fn)(void *, struct dl_find_object *);

/* Where the calls of libraries that came late go. */
enum lateness {
    LATE_UNDECIDED,
    LATE_RUNTIME, /* to the C++ runtime's operators */
    LATE_OWN,     /* to the operators of the caller's own library; without any, to the runtime's */
};

static uint32_t lateness;

static enum lateness decide(enum lateness wanted)
{
    uint32_t found = LATE_UNDECIDED;
    enum lateness decided = hs_cas_relaxed(&lateness, &found, wanted) ? wanted : found;
    HS_ASSERT(decided != LATE_UNDECIDED && hs_load_relaxed(&lateness) == decided);
    return decided;
}

static void *find_own(const char *name, uint64_t caller_va)
{
    static find_object_fn find_object;
    struct dl_find_object found;
    find_object_fn find = hs_load_relaxed(&find_object);
    if (!find) {
        find = (find_object_fn)hs_linkmap_search(NULL, NULL, "_dl_find_object", NULL);
        hs_store_relaxed(&find_object, find);
    }
    if (!find || find((void *)caller_va, &found) != 0 || !found.dlfo_link_map ||
        found.dlfo_link_map == hs_real.self) {
        return NULL;
    }
    return hs_linkmap_symbol(found.dlfo_link_map, name);
}

struct look {
    const char *name;
    void *va;
};

static int on_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct look *look = ctx;
    struct link_map map = { .l_addr = info->dlpi_addr,
                            .l_name = (char *)(uintptr_t)info->dlpi_name };
    (void)bytes;
    if (!hs_real_is_cxx_library(map.l_name)) {
        return 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            map.l_ld = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    look->va = hs_linkmap_symbol(&map, look->name);
    return look->va != NULL;
}

void *hs_operator_of_runtime(const char *name)
{
    struct look look = { name, NULL };
    dl_iterate_phdr(on_object, &look);
    return look.va;
}

static void *find_runtimes(struct hs_operator *op)
{
    void *va = hs_load_relaxed(&op->runtimes);
    if (!va) {
        va = hs_operator_of_runtime(op->name);
        hs_store_relaxed(&op->runtimes, va);
    }
    return va;
}

void *hs_operator_find(struct hs_operator *op, uint64_t caller_va, bool *ret_is_kept,
                       bool *ret_is_plain)
{
    void *va = hs_real_find(op->name);
    *ret_is_kept = va != NULL;
    *ret_is_plain = va && hs_real_is_plain_operator(op->name, op->is_aligned);
    if (va) {
        return va;
    }
    enum lateness how = hs_load_relaxed(&lateness);
    if (how != LATE_RUNTIME && (va = find_own(op->name, caller_va)) &&
        decide(LATE_OWN) == LATE_OWN) {
        return va;
    }
    va = find_runtimes(op);
    *ret_is_kept = va && decide(LATE_RUNTIME) == LATE_RUNTIME;
    *ret_is_plain = *ret_is_kept && hs_real_is_plain_runtime(op->is_aligned);
    return va;
}
