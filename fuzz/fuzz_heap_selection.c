/*
 * Fuzz target: any text as HEAPSCOPE_HEAPS. What the client makes of it must be usable rules, and
 * the same text again must give the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/tables/heaps.h"

#define TEXT_BYTES 4096U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hs_heap_selection_v2 *selection = &hs_control_page.control.heap_selection;
    static struct hs_heap_selection_v2 first;
    char text[TEXT_BYTES];
    size = size < TEXT_BYTES ? size : TEXT_BYTES - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    hs_heaps_select(text);
    if (selection->rule_count > HS_REGION_HEAP_RULES ||
        (hs_control_page.control.flags & ~(uint32_t)HS_CONTROL_NO_MALLOC) != 0) {
        abort();
    }
    for (uint32_t i = 0; i < selection->rule_count; i++) {
        if (!memchr(selection->rules[i].pattern, '\0', HS_HEAP_NAME_BYTES)) {
            abort();
        }
    }
    first = *selection;
    hs_heaps_select(text);
    if (first.rule_count != selection->rule_count ||
        first.other_interval_bytes != selection->other_interval_bytes) {
        abort();
    }
    return 0;
}
