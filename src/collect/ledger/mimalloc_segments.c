/*
 * Recognizes segments by their heads: see mimalloc_segments.h.
 */
#include "collect/ledger/mimalloc_segments.h"

#include <stdbool.h>

#include "collect/ledger/residency.h"

#define SEGMENT_ALIGN UINT64_C(0x2000000)
#define HEAD_WORDS    64U
#define KNOWN_MAX     16U /* heads that are compared with */
#define HEADS_MAX     UINT32_C(65536)
/* Exclusive or of two addresses, and of an address with a small number, is below this. */
#define NUMBER_MIN (UINT64_C(1) << 48)

/* For each word of a head that could contain its address: the number, or 0. */
struct head {
    uint64_t numbers[HEAD_WORDS];
};

struct known {
    struct head heads[KNOWN_MAX];
    unsigned count;
};

static bool read_head(const struct hs_remote_window *window, int pagemap_fd, uint64_t va,
                      struct head *ret_head)
{
    uint64_t words[HEAD_WORDS];
    if (!hs_residency_is_resident(pagemap_fd, va) ||
        !hs_remote_window_peek(window, va, words, sizeof(words))) {
        return false;
    }
    for (unsigned i = 0; i < HEAD_WORDS; i++) {
        uint64_t number = words[i] == UINT64_MAX ? 0 : words[i] ^ va;
        ret_head->numbers[i] = number >= NUMBER_MIN ? number : 0;
    }
    return true;
}

static bool is_known(const struct known *known, const struct head *head)
{
    for (unsigned n = 0; n < known->count; n++) {
        for (unsigned i = 0; i < HEAD_WORDS; i++) {
            if (head->numbers[i] != 0 && head->numbers[i] == known->heads[n].numbers[i]) {
                return true;
            }
        }
    }
    return false;
}

static uint64_t first_segment_va(const struct hs_va_range *gap)
{
    return (gap->start_va + SEGMENT_ALIGN - 1) & ~(SEGMENT_ALIGN - 1);
}

void hs_mimalloc_segments_find(const struct hs_remote_window *window, int pagemap_fd,
                               const struct hs_va_ranges *gaps, const char *name,
                               const char **names)
{
    struct known known = { .count = 0 };
    uint32_t left = HEADS_MAX;
    for (size_t i = 0; i < gaps->count; i++) {
        for (uint64_t va = first_segment_va(&gaps->items[i]);
             names[i] == name && va < gaps->items[i].end_va && known.count < KNOWN_MAX && left > 0;
             va += SEGMENT_ALIGN, left--) {
            known.count += read_head(window, pagemap_fd, va, &known.heads[known.count]);
        }
    }
    for (size_t i = 0; i < gaps->count && known.count > 0; i++) {
        for (uint64_t va = first_segment_va(&gaps->items[i]);
             !names[i] && va < gaps->items[i].end_va && left > 0; va += SEGMENT_ALIGN, left--) {
            struct head head;
            if (read_head(window, pagemap_fd, va, &head) && is_known(&known, &head)) {
                names[i] = name;
            }
        }
    }
}
