/*
 * Keeps two earlier moments: see watch_growth.h.
 */
#include "watch/receive/watch_growth.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct hs_watch_figure *)a)->key;
    uint64_t y = ((const struct hs_watch_figure *)b)->key;
    return (x > y) - (x < y);
}

static void add(void *sum, void *item)
{
    ((struct hs_watch_figure *)sum)->bytes += ((const struct hs_watch_figure *)item)->bytes;
}

static int remember(struct hs_watch_past *past, uint64_t time_ns,
                    const struct hs_watch_figure *figures, size_t count)
{
    int r = hs_array_reserve(&past->figures, &past->capacity, count + 1, sizeof(past->figures[0]));
    if (r < 0) {
        return r;
    }
    if (count > 0) {
        memcpy(past->figures, figures, count * sizeof(past->figures[0]));
    }
    past->count = hs_array_merge(past->figures, count, sizeof(past->figures[0]), compare, add);
    past->time_ns = time_ns;
    return 0;
}

int hs_watch_growth_note(struct hs_watch_growth *growth, uint64_t time_ns,
                         const struct hs_watch_figure *figures, size_t count)
{
    struct hs_watch_past *older = &growth->older, *newer = &growth->newer;
    if (older->time_ns == 0) {
        return remember(older, time_ns, figures, count);
    }
    const struct hs_watch_past *last = newer->time_ns ? newer : older;
    if (time_ns < last->time_ns + HS_WATCH_WINDOW_NS) {
        return 0;
    }
    if (newer->time_ns != 0) {
        const struct hs_watch_past spare = *older;
        *older = *newer;
        *newer = spare;
        newer->time_ns = 0;
    }
    return remember(newer, time_ns, figures, count);
}

static const struct hs_watch_figure *find(const struct hs_watch_past *past, uint64_t key)
{
    const struct hs_watch_figure wanted = { .key = key };
    return past->count > 0 ? bsearch(&wanted, past->figures, past->count, sizeof(wanted), compare)
                           : NULL;
}

bool hs_watch_growth_knows(const struct hs_watch_growth *growth, uint64_t key)
{
    return find(&growth->older, key) != NULL;
}

double hs_watch_growth_of(const struct hs_watch_growth *growth, uint64_t time_ns, uint64_t key,
                          double bytes)
{
    const struct hs_watch_past *then = &growth->older;
    if (then->time_ns == 0 || time_ns <= then->time_ns) {
        return 0;
    }
    const struct hs_watch_figure *found = find(then, key);
    return (bytes - (found ? found->bytes : 0)) / ((double)(time_ns - then->time_ns) / 1e9);
}

void hs_watch_growth_deinit(struct hs_watch_growth *growth)
{
    free(growth->older.figures);
    free(growth->newer.figures);
    *growth = (struct hs_watch_growth){ .older = { 0 } };
}
