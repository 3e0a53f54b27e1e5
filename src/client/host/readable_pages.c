/*
 * Reads memory that may not be there. See readable_pages.h.
 */
#include "client/host/readable_pages.h"

#include <string.h>

#include "rt/sys.h"

#define PAGE_SHIFT 12U
/* Addresses of user space, without the first page. */
#define LOWEST_VA (UINT64_C(1) << PAGE_SHIFT)
#define VA_BITS   47U
/* The number of a page and the era together are one word. */
#define ERA_BITS (64U - (VA_BITS - PAGE_SHIFT))

uint32_t hs_readable_closed_count;

void hs_readable_pages_forget(struct hs_readable_pages *pages)
{
    pages->walk_count = 0;
    pages->last_page[0] = pages->last_page[1] = 0;
    if (++pages->era >> ERA_BITS != 0) {
        memset(pages->page, 0, sizeof(pages->page));
        pages->era = 0;
    }
}

void hs_readable_pages_begin(struct hs_readable_pages *pages)
{
    uint32_t closed_count = hs_load_relaxed(&hs_readable_closed_count);
    if (pages->closed_count != closed_count || pages->walk_count >= HS_READABLE_WALKS) {
        hs_readable_pages_forget(pages);
        pages->closed_count = closed_count;
    }
    pages->walk_count++;
}

/* The group of a page. */
static inline uint64_t *group_of(struct hs_readable_pages *pages, uint64_t page)
{
    uint64_t hash = page * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return &pages->page[hash % (HS_READABLE_PAGES / HS_READABLE_WAYS) * HS_READABLE_WAYS];
}

/* The page is not the first one of its group. If it can be read, it is afterwards. */
static HS_COLD bool search(uint64_t *group, uint64_t page, uint64_t entry)
{
    unsigned way = 1;
    while (way < HS_READABLE_WAYS && group[way] != entry) {
        way++;
    }
    if (way == HS_READABLE_WAYS && !hs_sys_is_readable(page << PAGE_SHIFT)) {
        return false;
    }
    for (way = way < HS_READABLE_WAYS ? way : HS_READABLE_WAYS - 1; way > 0; way--) {
        group[way] = group[way - 1];
    }
    group[0] = entry;
    return true;
}

static inline bool are_readable(struct hs_readable_pages *pages, uint64_t va, size_t byte_count)
{
    if (va < LOWEST_VA || va >> VA_BITS != 0 || byte_count - 1 >= UINT32_MAX) {
        return false;
    }
    uint64_t page = va >> PAGE_SHIFT, last = (va + byte_count - 1) >> PAGE_SHIFT;
    if (hs_unlikely(last >> (VA_BITS - PAGE_SHIFT) != 0)) {
        return false;
    }
    for (; page <= last; page++) {
        uint64_t *group = group_of(pages, page), entry = page << ERA_BITS | pages->era;
        if (hs_unlikely(group[0] != entry) && !search(group, page, entry)) {
            return false;
        }
    }
    pages->last_page[1] = pages->last_page[0];
    pages->last_page[0] = last;
    return true;
}

const void *hs_readable_pages_at_slow(struct hs_readable_pages *pages, uint64_t va,
                                      size_t byte_count)
{
    return are_readable(pages, va, byte_count) ? (const void *)(uintptr_t)va : NULL;
}

/* Under AddressSanitizer, what is read may be anything. */
__attribute__((no_sanitize("address"))) bool
hs_readable_pages_copy(void *pages, uint64_t va, void *ret_bytes, size_t byte_count)
{
    if (!are_readable(pages, va, byte_count)) {
        return false;
    }
    size_t i = 0;
    if (va % 8 == 0) { /* mostly: whole words */
        const volatile uint64_t *words = (const volatile uint64_t *)(uintptr_t)va;
        for (; i + 8 <= byte_count; i += 8) {
            uint64_t word = words[i / 8];
            memcpy((uint8_t *)ret_bytes + i, &word, 8);
        }
    }
    for (; i < byte_count; i++) {
        ((uint8_t *)ret_bytes)[i] = ((const volatile uint8_t *)(uintptr_t)va)[i];
    }
    return true;
}
