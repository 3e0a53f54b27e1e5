/*
 * Copies and frees a ledger: see ledger.h.
 */
#include "trace/ledger.h"

#include <stdlib.h>
#include <string.h>

struct hs_ledger *hs_ledger_copy(const struct hs_ledger *ledger)
{
    struct hs_ledger *copy = malloc(sizeof(*copy));
    struct hs_ledger_line *lines = calloc((size_t)ledger->line_count + 1, sizeof(lines[0]));
    if (!copy || !lines) {
        free(copy);
        free(lines);
        return NULL;
    }
    *copy = *ledger;
    copy->lines = lines;
    for (uint32_t i = 0; i < ledger->line_count; i++) {
        lines[i] = ledger->lines[i];
        lines[i].name = strdup(ledger->lines[i].name);
        if (!lines[i].name) {
            copy->line_count = i;
            hs_ledger_free(copy);
            return NULL;
        }
    }
    return copy;
}

void hs_ledger_free(struct hs_ledger *ledger)
{
    if (ledger) {
        for (uint32_t i = 0; i < ledger->line_count; i++) {
            free(ledger->lines[i].name);
        }
        free(ledger->lines);
        free(ledger);
    }
}
