/*
 * Reads memory that may not be there. See own_memory.h.
 */
#include "client/host/own_memory.h"

#include <string.h>

#include "rt/base.h"
#include "rt/sys.h"

#define PAGE_BYTES UINT64_C(4096)

static bool is_page_readable(struct hs_own_pages *pages, uint64_t page)
{
    /* Objects often lie near the beginning of larger units, so the low bits are not enough. */
    uint64_t *kept = &pages->page[(page ^ page >> 6 ^ page >> 12) % HS_OWN_PAGES];
    if (*kept != page) {
        if (!hs_sys_is_readable(page * PAGE_BYTES)) {
            return false;
        }
        *kept = page;
    }
    return true;
}

/* Under AddressSanitizer, what is read may be anything. */
__attribute__((no_sanitize("address"))) bool hs_own_memory_read(void *pages, uint64_t va,
                                                                void *ret_bytes, size_t byte_count)
{
    if (va < PAGE_BYTES || va > UINT64_MAX / 2 || byte_count - 1 >= UINT32_MAX) {
        return false;
    }
    for (uint64_t page = va / PAGE_BYTES; page <= (va + byte_count - 1) / PAGE_BYTES; page++) {
        if (!is_page_readable(pages, page)) {
            return false;
        }
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
