/*
 * Which memory of this process can be read. See script_memory.h.
 */
#include "client/script/script_memory.h"

#include "rt/base.h"
#include "rt/sys.h"

#define PAGE_BYTES UINT64_C(4096)
/* Addresses of user space, without the first page. */
#define LOWEST_VA  PAGE_BYTES
#define HIGHEST_VA ((UINT64_C(1) << 47) - PAGE_BYTES)

static inline bool check(struct hs_script_memory *memory, uint64_t page_va)
{
    uint64_t *known_va = &memory->pages_va[page_va / PAGE_BYTES % HS_SCRIPT_PAGES];
    if (hs_unlikely(*known_va != page_va)) {
        if (!hs_sys_is_readable(page_va)) {
            return false;
        }
        *known_va = page_va;
    }
    return true;
}

static const void *look(struct hs_script_memory *memory, uint64_t va, uint32_t bytes)
{
    if (va < LOWEST_VA || va > HIGHEST_VA || bytes > PAGE_BYTES) {
        return NULL;
    }
    uint64_t first_va = va & ~(PAGE_BYTES - 1);
    uint64_t last_va = (va + (bytes ? bytes - 1 : 0)) & ~(PAGE_BYTES - 1);
    return check(memory, first_va) && (last_va == first_va || check(memory, last_va))
               ? (const void *)(uintptr_t)va
               : NULL;
}

void hs_script_memory_init(struct hs_script_memory *memory)
{
    memory->look = look;
    memset(memory->pages_va, 0, sizeof(memory->pages_va));
}
