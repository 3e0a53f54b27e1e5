/*
 * Parses sizes and durations: see parse.h.
 *
 * A value is whole * unit + fraction / 10^digits * unit. Nine digits of the fraction are kept,
 * which is enough for a nanosecond in a second; a tenth digit can only change what is rounded away.
 *
 * Fails     compiler builtins detect overflow at each step; it is never inferred from results.
 */
#include "util/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <strings.h>

#define HS_PARSE_FRACTION_DIGITS 9

struct hs_unit {
    const char *name;
    uint64_t factor;
};

struct number {
    uint64_t whole;
    uint64_t fraction; /* in 1/scale */
    uint64_t scale;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits[.digits] and moves *text behind them. */
static int take_number(const char **text, struct number *ret)
{
    const char *p = *text;
    struct number n = { .scale = 1 };
    if (!is_digit(*p)) {
        return -EINVAL;
    }
    for (; is_digit(*p); p++) {
        if (__builtin_mul_overflow(n.whole, UINT64_C(10), &n.whole) ||
            __builtin_add_overflow(n.whole, (uint64_t)(*p - '0'), &n.whole)) {
            return -ERANGE;
        }
    }
    if (*p == '.') {
        p++;
        if (!is_digit(*p)) {
            return -EINVAL;
        }
        for (unsigned digits = 0; is_digit(*p); p++, digits++) {
            if (digits < HS_PARSE_FRACTION_DIGITS) {
                n.fraction = n.fraction * 10 + (uint64_t)(*p - '0');
                n.scale *= 10;
            }
        }
    }
    *text = p;
    *ret = n;
    return 0;
}

static int scale_number(const struct number *n, uint64_t factor, uint64_t *ret)
{
    uint64_t value;
    if (__builtin_mul_overflow(n->whole, factor, &value)) {
        return -ERANGE;
    }
    /*
     * fraction < 10^9 and factor <= 2^40. The factor is split, so that no product exceeds 64 bits.
     */
    uint64_t part = factor / n->scale * n->fraction + factor % n->scale * n->fraction / n->scale;
    if (__builtin_add_overflow(value, part, &value)) {
        return -ERANGE;
    }
    *ret = value;
    return 0;
}

static int parse_with_units(const char *text, const struct hs_unit *units, size_t unit_count,
                            uint64_t *ret)
{
    struct number n;
    int r = take_number(&text, &n);
    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < unit_count; i++) {
        if (strcasecmp(text, units[i].name) == 0) {
            return scale_number(&n, units[i].factor, ret);
        }
    }
    return -EINVAL;
}

int hs_parse_size(const char *text, uint64_t *ret_bytes)
{
    static const struct hs_unit units[] = {
        { "", 1 },
        { "b", 1 },
        { "k", UINT64_C(1) << 10 },
        { "kb", UINT64_C(1) << 10 },
        { "kib", UINT64_C(1) << 10 },
        { "m", UINT64_C(1) << 20 },
        { "mb", UINT64_C(1) << 20 },
        { "mib", UINT64_C(1) << 20 },
        { "g", UINT64_C(1) << 30 },
        { "gb", UINT64_C(1) << 30 },
        { "gib", UINT64_C(1) << 30 },
        { "t", UINT64_C(1) << 40 },
        { "tb", UINT64_C(1) << 40 },
        { "tib", UINT64_C(1) << 40 },
    };
    return parse_with_units(text, units, sizeof(units) / sizeof(units[0]), ret_bytes);
}

int hs_parse_duration(const char *text, uint64_t *ret_ns)
{
    static const struct hs_unit units[] = {
        { "us", UINT64_C(1000) },         { "ms", UINT64_C(1000000) },
        { "s", UINT64_C(1000000000) },    { "m", UINT64_C(60000000000) },
        { "h", UINT64_C(3600000000000) },
    };
    return parse_with_units(text, units, sizeof(units) / sizeof(units[0]), ret_ns);
}

int hs_parse_number(const char *text, uint64_t *ret_number)
{
    static const struct hs_unit none[] = { { "", 1 } };
    struct number n;
    const char *rest = text;
    int r = take_number(&rest, &n);
    if (r < 0) {
        return r;
    }
    return n.scale != 1 ? -EINVAL : parse_with_units(text, none, 1, ret_number);
}
