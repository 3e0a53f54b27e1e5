/*
 * See pprof_values.h.
 */
#include "profile/read/pprof_values.h"

#include <string.h>
#include <strings.h>

#include "rt/base.h"

#define WORD_BYTES_MAX 24

enum word_kind {
    WORD_LIVE = 1,
    WORD_PEAK = 2,
    WORD_ALLOC = 4,
    WORD_PLAIN = 8,
    WORD_BYTES = 16,
    WORD_COUNT = 32,
    WORD_OTHER = 64,
    WORD_OF_HEAPPROFD = 128,
};

static const struct {
    const char *text;
    unsigned kind;
} words[] = {
    { "inuse", WORD_LIVE },
    { "use", WORD_LIVE },
    { "used", WORD_LIVE },
    { "in", WORD_PLAIN },
    { "live", WORD_LIVE },
    { "unreleased", WORD_LIVE | WORD_OF_HEAPPROFD },
    { "unfreed", WORD_LIVE },
    { "retained", WORD_LIVE },
    { "leak", WORD_LIVE },
    { "leaks", WORD_LIVE },
    { "leaked", WORD_LIVE },
    { "current", WORD_LIVE },
    { "peak", WORD_PEAK },
    { "max", WORD_PEAK },
    { "maximum", WORD_PEAK },
    { "highwater", WORD_PEAK },
    { "alloc", WORD_ALLOC },
    { "allocs", WORD_ALLOC },
    { "allocated", WORD_ALLOC },
    { "allocation", WORD_ALLOC },
    { "allocations", WORD_ALLOC },
    { "total", WORD_ALLOC | WORD_OF_HEAPPROFD },
    { "accum", WORD_ALLOC },
    { "malloc", WORD_PLAIN },
    { "heap", WORD_PLAIN },
    { "memory", WORD_PLAIN },
    { "space", WORD_PLAIN | WORD_BYTES },
    { "size", WORD_PLAIN | WORD_BYTES },
    { "bytes", WORD_PLAIN | WORD_BYTES },
    { "byte", WORD_PLAIN | WORD_BYTES },
    { "object", WORD_PLAIN | WORD_COUNT },
    { "objects", WORD_PLAIN | WORD_COUNT },
    { "blocks", WORD_PLAIN | WORD_COUNT },
    { "count", WORD_PLAIN | WORD_COUNT },
    { "samples", WORD_PLAIN | WORD_COUNT },
};

static const struct {
    const char *unit;
    double bytes;
} byte_units[] = {
    { "bytes", 1 },
    { "byte", 1 },
    { "b", 1 },
    { "kb", 1024 },
    { "kib", 1024 },
    { "kilobyte", 1024 },
    { "kilobytes", 1024 },
    { "kbyte", 1024 },
    { "kbytes", 1024 },
    { "mb", 1048576 },
    { "mib", 1048576 },
    { "megabyte", 1048576 },
    { "megabytes", 1048576 },
    { "gb", 1073741824 },
    { "gib", 1073741824 },
    { "gigabyte", 1073741824 },
    { "gigabytes", 1073741824 },
    { "pages", 4096 },
};

double hs_pprof_unit_bytes(const char *unit)
{
    for (size_t i = 0; i < HS_COUNT_OF(byte_units); i++) {
        if (strcasecmp(unit, byte_units[i].unit) == 0) {
            return byte_units[i].bytes;
        }
    }
    return 0;
}

static bool is_count_unit(const char *unit)
{
    static const char *const units[] = { "count",  "counts",      "objects", "object",
                                         "blocks", "allocations", "samples" };
    for (size_t i = 0; i < HS_COUNT_OF(units); i++) {
        if (strcasecmp(unit, units[i]) == 0) {
            return true;
        }
    }
    return false;
}

static unsigned word_kind(const char *word)
{
    for (size_t i = 0; i < HS_COUNT_OF(words); i++) {
        if (strcasecmp(word, words[i].text) == 0) {
            return words[i].kind;
        }
    }
    return WORD_OTHER;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static unsigned name_kinds(const char *name)
{
    unsigned kinds = 0;
    while (*name) {
        char word[WORD_BYTES_MAX];
        size_t bytes = 0;
        for (; is_letter(*name); name++) {
            if (bytes + 1 < sizeof(word)) {
                word[bytes++] = *name;
            }
        }
        word[bytes] = '\0';
        kinds |= bytes > 0 ? word_kind(word) : 0;
        name += *name != '\0' && !is_letter(*name);
    }
    return kinds;
}

/* The number of bytes in one unit of a type; 0 for objects, -1 for neither. */
static double measure(const struct hs_pprof_type *type, unsigned kinds)
{
    double bytes = hs_pprof_unit_bytes(type->unit);
    if (bytes > 0) {
        return bytes;
    }
    if (is_count_unit(type->unit)) {
        return 0;
    }
    if (type->unit[0] != '\0') {
        return -1;
    }
    return (kinds & WORD_BYTES) != 0 ? 1 : (kinds & WORD_COUNT) != 0 ? 0 : -1;
}

static void give(struct hs_pprof_roles *roles, enum hs_pprof_role of_bytes, double bytes,
                 size_t type)
{
    enum hs_pprof_role role = bytes > 0 ? of_bytes : of_bytes + 1;
    if (roles->type[role] < 0) {
        roles->type[role] = (int)type;
        roles->factor[role] = bytes > 0 ? bytes : 1;
    }
}

static bool has(const struct hs_pprof_roles *roles, enum hs_pprof_role of_bytes)
{
    return roles->type[of_bytes] >= 0 || roles->type[of_bytes + 1] >= 0;
}

/* False for profiles of goroutines or threads, which contain only counts. */
static bool has_bytes(const struct hs_pprof_type *types, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (types[i].unit[0] == '\0' || hs_pprof_unit_bytes(types[i].unit) > 0) {
            return true;
        }
    }
    return false;
}

/* Chooses a type when no name decides. */
static bool find_fallback(const struct hs_pprof_type *types, size_t count, const char *default_name,
                          struct hs_pprof_roles *roles)
{
    size_t pick = count;
    for (size_t i = 0; i < count; i++) {
        if (default_name[0] == '\0' || strcmp(types[i].name, default_name) == 0) {
            pick = i; /* without a default, the last type */
        }
    }
    pick = pick == count && count > 0 ? count - 1 : pick;
    if (pick == count || !has_bytes(types, count)) {
        return false;
    }
    double bytes = measure(&types[pick], name_kinds(types[pick].name));
    if (bytes < 0 && types[pick].unit[0] != '\0') {
        return false;
    }
    give(roles, HS_PPROF_LIVE_BYTES, bytes < 0 ? 1 : bytes, pick);
    return true;
}

bool hs_pprof_find_roles(const struct hs_pprof_type *types, size_t count, const char *default_name,
                         struct hs_pprof_roles *ret_roles)
{
    struct hs_pprof_roles roles = { .has_sample_counts = false };
    const unsigned plain = WORD_PLAIN | WORD_BYTES | WORD_COUNT;
    unsigned heapprofd = 0;
    for (int i = 0; i < HS_PPROF_ROLE_N; i++) {
        roles.type[i] = -1;
        roles.factor[i] = 1;
    }
    for (size_t i = 0; i < count; i++) {
        unsigned kinds = name_kinds(types[i].name);
        double bytes = measure(&types[i], kinds);
        if (bytes < 0 || (kinds & (WORD_LIVE | WORD_PEAK | WORD_ALLOC)) == 0) {
            continue;
        }
        heapprofd |= kinds & WORD_OF_HEAPPROFD;
        give(&roles,
             (kinds & WORD_LIVE) != 0   ? HS_PPROF_LIVE_BYTES
             : (kinds & WORD_PEAK) != 0 ? HS_PPROF_PEAK_BYTES
                                        : HS_PPROF_ALLOC_BYTES,
             bytes, i);
    }
    bool has_live = has(&roles, HS_PPROF_LIVE_BYTES);
    for (size_t i = 0; i < count && !has_live; i++) {
        unsigned kinds = name_kinds(types[i].name);
        double bytes = measure(&types[i], kinds);
        /* "samples" also occurs in CPU profiles, so that it does not decide alone. */
        if (bytes >= 0 && kinds != 0 && (kinds & ~plain) == 0 &&
            strcasecmp(types[i].name, "samples") != 0) {
            give(&roles, HS_PPROF_LIVE_BYTES, bytes, i);
        }
    }
    if (!has(&roles, HS_PPROF_LIVE_BYTES) && !has(&roles, HS_PPROF_ALLOC_BYTES) &&
        !find_fallback(types, count, default_name, &roles)) {
        return false;
    }
    roles.has_sample_counts = heapprofd != 0;
    *ret_roles = roles;
    return true;
}
