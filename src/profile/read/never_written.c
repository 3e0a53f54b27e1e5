/*
 * Reads never-written.txt: see never_written.h.
 */
#include "profile/read/never_written.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const char *at, *end;
};

/* Takes a word if the text goes on with it. */
static bool take(struct cursor *cursor, const char *word)
{
    size_t bytes = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < bytes || memcmp(cursor->at, word, bytes) != 0) {
        return false;
    }
    cursor->at += bytes;
    return true;
}

/* Takes digits of a base up to 16, without a sign or a zero in front. */
static bool take_number(struct cursor *cursor, unsigned base, uint64_t *ret_number)
{
    static const char digits[] = "0123456789abcdef";
    const char *first = cursor->at;
    uint64_t number = 0;
    for (; cursor->at < cursor->end; cursor->at++) {
        const char *digit = memchr(digits, *cursor->at, base);
        if (!digit) {
            break;
        }
        uint64_t value = (uint64_t)(digit - digits);
        if (number > (UINT64_MAX - value) / base) {
            return false;
        }
        number = number * base + value;
    }
    *ret_number = number;
    return cursor->at > first && (*first != '0' || cursor->at == first + 1);
}

static bool take_range(struct cursor *cursor, struct hs_never_written_range *ret_range)
{
    struct hs_never_written_range range;
    if (!take(cursor, "0x") || !take_number(cursor, 16, &range.block_va) || !take(cursor, " ") ||
        !take_number(cursor, 10, &range.off_bytes) || !take(cursor, " ") ||
        !take_number(cursor, 10, &range.bytes) || !take(cursor, "\n")) {
        return false;
    }
    *ret_range = range;
    return range.bytes > 0 && range.bytes <= UINT64_MAX - range.off_bytes;
}

static bool is_behind(const struct hs_never_written_range *range,
                      const struct hs_never_written_range *before)
{
    return range->block_va > before->block_va ||
           (range->block_va == before->block_va &&
            range->off_bytes > before->off_bytes + before->bytes);
}

static size_t count_lines(const char *text, size_t text_bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < text_bytes; i++) {
        count += text[i] == '\n';
    }
    return count;
}

int hs_never_written_parse(const char *text, size_t text_bytes, struct hs_never_written *ret_never)
{
    struct cursor cursor = { text, text + text_bytes };
    struct hs_never_written never = { .count = 0 };
    uint64_t count = 0;
    if (!take(&cursor, HS_NEVER_WRITTEN_HEAD)) {
        return -EINVAL;
    }
    never.ranges = calloc(count_lines(text, text_bytes) + 1, sizeof(never.ranges[0]));
    if (!never.ranges) {
        return -ENOMEM;
    }
    bool is_right = true, is_end = false;
    while (is_right && !is_end) {
        is_end = take(&cursor, "end ");
        if (!is_end) {
            struct hs_never_written_range *range = &never.ranges[never.count];
            is_right =
                take_range(&cursor, range) && (never.count == 0 || is_behind(range, range - 1));
            never.count += is_right;
        }
    }
    if (!is_right || !take_number(&cursor, 10, &count) || !take(&cursor, "\n") ||
        cursor.at != cursor.end || count != never.count) {
        hs_never_written_deinit(&never);
        return -EINVAL;
    }
    *ret_never = never;
    return 0;
}

void hs_never_written_deinit(struct hs_never_written *never)
{
    free(never->ranges);
    *never = (struct hs_never_written){ .count = 0 };
}

const struct hs_never_written_range *hs_never_written_find(const struct hs_never_written *never,
                                                           uint64_t block_va, size_t *ret_count)
{
    size_t low = 0, high = never->count, count = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (never->ranges[middle].block_va < block_va) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low + count < never->count && never->ranges[low + count].block_va == block_va) {
        count++;
    }
    *ret_count = count;
    return never->ranges + low;
}
