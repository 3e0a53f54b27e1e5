/*
 * Names the kinds of lines of a ledger: see ledger_words.h.
 */
#include "view/ledger_words.h"

#include "util/human.h"

enum unit { NOT_COUNTED, BLOCKS, MAPPINGS, THREADS };

static const char *const units[][2] = {
    [NOT_COUNTED] = { NULL, NULL },
    [BLOCKS] = { "block", "blocks" },
    [MAPPINGS] = { "mapping", "mappings" },
    [THREADS] = { "thread", "threads" },
};

static const struct {
    const char *text;
    enum unit unit; /* what `count` counts */
    bool has_names; /* its lines have names, which are listed */
} kinds[HS_LEDGER_KIND_N] = {
    [HS_LEDGER_UNKNOWN] = { "of a kind that this version does not know", NOT_COUNTED, true },
    [HS_LEDGER_MALLOC_USED] = { "malloc: blocks that the program holds", BLOCKS, false },
    [HS_LEDGER_MALLOC_LARGE] = { "malloc: blocks that the program holds, in mappings of their own",
                                 BLOCKS, false },
    [HS_LEDGER_MALLOC_BINNED] = { "malloc: free, in the lists of arenas", BLOCKS, false },
    [HS_LEDGER_MALLOC_FAST] = { "malloc: free, not yet merged with neighbours", BLOCKS, false },
    [HS_LEDGER_MALLOC_CACHED] = { "malloc: free, in the lists of threads", BLOCKS, false },
    [HS_LEDGER_MALLOC_TOP] = { "malloc: free, at the ends of arenas", NOT_COUNTED, false },
    [HS_LEDGER_MALLOC_INTERNAL] = { "malloc: its own tables", NOT_COUNTED, false },
    [HS_LEDGER_MALLOC_UNREAD] = { "malloc: could not be read", NOT_COUNTED, false },
    [HS_LEDGER_BRK] = { "memory from brk that is not malloc's", NOT_COUNTED, false },
    [HS_LEDGER_ANONYMOUS] = { "anonymous mappings", MAPPINGS, true },
    [HS_LEDGER_SHARED] = { "shared memory", MAPPINGS, true },
    [HS_LEDGER_STACK] = { "stacks of threads", THREADS, true },
    [HS_LEDGER_CODE] = { "code and constants of modules", NOT_COUNTED, true },
    [HS_LEDGER_DATA] = { "data of modules", NOT_COUNTED, true },
    [HS_LEDGER_FILE] = { "mapped files", MAPPINGS, true },
    [HS_LEDGER_KERNEL] = { "pages that the kernel maps into each process", NOT_COUNTED, false },
    [HS_LEDGER_RECORDER] = { "heapscope itself", NOT_COUNTED, false },
    [HS_LEDGER_MMAP] = { "mapped by the program, with stacks (heap mmap)", MAPPINGS, false },
    [HS_LEDGER_ALLOCATOR] = { "allocators other than the C library's malloc", MAPPINGS, true },
    [HS_LEDGER_RUNTIME] = { "runtimes of languages", MAPPINGS, true },
};

const char *hs_ledger_words_of(uint32_t kind)
{
    return kinds[kind].text ? kinds[kind].text : hs_ledger_kind_key(kind);
}

void hs_ledger_words_write(const struct hs_ledger_sum *sum, struct hs_buf *buf)
{
    char count[HS_HUMAN_BYTES];
    enum unit unit = kinds[sum->kind].unit;
    hs_buf_str(buf, hs_ledger_words_of(sum->kind));
    if (unit != NOT_COUNTED) {
        hs_buf_printf(buf, " (%s %s)", hs_human_count(count, (double)sum->count),
                      units[unit][sum->count != 1]);
    }
}

bool hs_ledger_words_have_names(uint32_t kind)
{
    return kinds[kind].has_names;
}
