/*
 * Copies and frees a ledger, and names its kinds: see ledger.h.
 */
#include "trace/ledger.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_keys[HS_LEDGER_KIND_N] = {
    [HS_LEDGER_UNKNOWN] = "unknown",
    [HS_LEDGER_MALLOC_USED] = "malloc_used",
    [HS_LEDGER_MALLOC_LARGE] = "malloc_large",
    [HS_LEDGER_MALLOC_BINNED] = "malloc_binned",
    [HS_LEDGER_MALLOC_FAST] = "malloc_fast",
    [HS_LEDGER_MALLOC_CACHED] = "malloc_cached",
    [HS_LEDGER_MALLOC_TOP] = "malloc_top",
    [HS_LEDGER_MALLOC_INTERNAL] = "malloc_internal",
    [HS_LEDGER_MALLOC_UNREAD] = "malloc_unread",
    [HS_LEDGER_BRK] = "brk",
    [HS_LEDGER_ANONYMOUS] = "anonymous",
    [HS_LEDGER_SHARED] = "shared",
    [HS_LEDGER_STACK] = "stack",
    [HS_LEDGER_CODE] = "code",
    [HS_LEDGER_DATA] = "data",
    [HS_LEDGER_FILE] = "file",
    [HS_LEDGER_KERNEL] = "kernel",
    [HS_LEDGER_RECORDER] = "recorder",
    [HS_LEDGER_MMAP] = "mmap",
    [HS_LEDGER_ALLOCATOR] = "allocator",
    [HS_LEDGER_RUNTIME] = "runtime",
};

const char *hs_ledger_kind_key(uint32_t kind)
{
    return kind_keys[kind < HS_LEDGER_KIND_N ? kind : HS_LEDGER_UNKNOWN];
}

bool hs_ledger_is_explained(uint32_t kind, bool has_name)
{
    switch (kind) {
    case HS_LEDGER_ANONYMOUS:
        return has_name;
    case HS_LEDGER_UNKNOWN:
    case HS_LEDGER_MALLOC_UNREAD:
    case HS_LEDGER_BRK:
        return false;
    default:
        return true;
    }
}

void hs_ledger_blocks_add(struct hs_ledger_blocks *sum, const struct hs_ledger_blocks *more)
{
    sum->bytes += more->bytes;
    sum->sampled_bytes += more->sampled_bytes;
    sum->variance += more->variance;
    sum->weight_bytes =
        more->weight_bytes > sum->weight_bytes ? more->weight_bytes : sum->weight_bytes;
    sum->used_bytes += more->used_bytes;
}

struct hs_ledger *hs_ledger_copy(const struct hs_ledger *ledger)
{
    struct hs_ledger *copy = malloc(sizeof(*copy));
    struct hs_ledger_line *lines = calloc((size_t)ledger->line_count + 1, sizeof(lines[0]));
    struct hs_ledger_stack *stacks = calloc((size_t)ledger->stack_count + 1, sizeof(stacks[0]));
    if (!copy || !lines || !stacks) {
        free(copy);
        free(lines);
        free(stacks);
        return NULL;
    }
    *copy = *ledger;
    copy->lines = lines;
    copy->stacks = stacks;
    for (uint32_t i = 0; i < ledger->stack_count; i++) {
        stacks[i] = ledger->stacks[i];
    }
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
        free(ledger->stacks);
        free(ledger);
    }
}
