/*
 * Puts the lines of a ledger into parts: see ledger_parts.h.
 */
#include "profile/analyse/ledger_parts.h"

static const struct {
    const char *key, *words;
} parts[HS_LEDGER_PARTS] = {
    [HS_LEDGER_PART_HELD] = { "malloc_held", "blocks from malloc" },
    [HS_LEDGER_PART_FREE] = { "malloc_free", "memory that malloc keeps free" },
    [HS_LEDGER_PART_MMAP] = { "mmap", "memory that the program maps itself" },
    [HS_LEDGER_PART_ALLOCATOR] = { "allocator", "memory of other allocators than the C library's" },
    [HS_LEDGER_PART_RUNTIME] = { "runtime", "memory of language runtimes" },
    [HS_LEDGER_PART_ANONYMOUS] = { "anonymous", "other anonymous mappings" },
    [HS_LEDGER_PART_SHARED] = { "shared", "shared memory" },
    [HS_LEDGER_PART_STACKS] = { "stacks", "stacks" },
    [HS_LEDGER_PART_MODULES] = { "modules", "code and data of modules" },
    [HS_LEDGER_PART_FILES] = { "files", "mapped files" },
    [HS_LEDGER_PART_RECORDER] = { "recorder", "heapscope's own memory" },
    [HS_LEDGER_PART_OTHER] = { "other", "other" },
};

/* A kind that is missing here is in HS_LEDGER_PART_OTHER, so that the parts add up to all. */
enum hs_ledger_part_kind hs_ledger_part_of(uint32_t kind)
{
    switch (kind) {
    case HS_LEDGER_MALLOC_USED:
    case HS_LEDGER_MALLOC_LARGE:
        return HS_LEDGER_PART_HELD;
    case HS_LEDGER_MALLOC_BINNED:
    case HS_LEDGER_MALLOC_FAST:
    case HS_LEDGER_MALLOC_CACHED:
    case HS_LEDGER_MALLOC_TOP:
        return HS_LEDGER_PART_FREE;
    case HS_LEDGER_MMAP:
        return HS_LEDGER_PART_MMAP;
    case HS_LEDGER_ALLOCATOR:
        return HS_LEDGER_PART_ALLOCATOR;
    case HS_LEDGER_RUNTIME:
        return HS_LEDGER_PART_RUNTIME;
    case HS_LEDGER_ANONYMOUS:
    case HS_LEDGER_BRK:
    case HS_LEDGER_MALLOC_UNREAD:
        return HS_LEDGER_PART_ANONYMOUS;
    case HS_LEDGER_SHARED:
        return HS_LEDGER_PART_SHARED;
    case HS_LEDGER_STACK:
        return HS_LEDGER_PART_STACKS;
    case HS_LEDGER_CODE:
    case HS_LEDGER_DATA:
        return HS_LEDGER_PART_MODULES;
    case HS_LEDGER_FILE:
        return HS_LEDGER_PART_FILES;
    case HS_LEDGER_RECORDER:
        return HS_LEDGER_PART_RECORDER;
    default:
        return HS_LEDGER_PART_OTHER;
    }
}

const char *hs_ledger_part_key(enum hs_ledger_part_kind part)
{
    return parts[part].key;
}

const char *hs_ledger_part_words(enum hs_ledger_part_kind part)
{
    return parts[part].words;
}

void hs_ledger_parts_of(const struct hs_ledger_sums *sums,
                        struct hs_ledger_part ret_parts[HS_LEDGER_PARTS])
{
    for (unsigned i = 0; i < HS_LEDGER_PARTS; i++) {
        ret_parts[i] = (struct hs_ledger_part){ .words = parts[i].words };
    }
    for (uint32_t kind = 0; kind < HS_LEDGER_KIND_N; kind++) {
        struct hs_ledger_part *part = &ret_parts[hs_ledger_part_of(kind)];
        part->rss_bytes += sums->kinds[kind].rss_bytes;
        part->pss_bytes += sums->kinds[kind].pss_bytes;
    }
}
