/*
 * What a program asks of the client, apart from reports. Without a client each answer is
 * -ENOTCONN, or that the heap is not recorded.
 */
#include <heapscope/heap_profile.h>

#include "api/api_heap.h"
#include "api/heap_table.h"

_Static_assert(sizeof(struct heapscope_stats) == sizeof(struct hs_api_stats_v1), "one layout");
_Static_assert(offsetof(struct heapscope_stats, is_exact) ==
                   offsetof(struct hs_api_stats_v1, is_exact),
               "one layout");

int heapscope_poll(void)
{
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    if (!calls) {
        return -ENOTCONN;
    }
    if (!hs_heap_table_is_quiet()) {
        calls->poll();
    }
    return 0;
}

/* Is any heap of the program recorded, by the newest settings? */
static bool is_recording(void)
{
    return heapscope_poll() == 0 && !hs_heap_table_is_quiet();
}

uint64_t heapscope_interval(uint32_t heap)
{
    return hs_heap_table_is_registered(heap) && is_recording()
               ? hs_load_relaxed(&hs_heap_table.heaps[heap].told_interval_bytes)
               : 0;
}

int heapscope_take_snapshot(const char *name)
{
    if (!name || name[0] == '\0') {
        return -EINVAL;
    }
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    return calls && calls->take_snapshot ? calls->take_snapshot(name) : -ENOTCONN;
}

static void copy_stats(struct heapscope_stats *ret_stats, const struct hs_api_stats_v1 *stats)
{
    if (ret_stats) {
        *ret_stats = (struct heapscope_stats){
            .allocated_bytes = stats->allocated_bytes,
            .deallocated_bytes = stats->deallocated_bytes,
            .is_exact = stats->is_exact,
        };
    }
}

int heapscope_get_stats(struct heapscope_stats *global, struct heapscope_stats *local)
{
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    if (!calls || !calls->get_stats) {
        return -ENOTCONN;
    }
    struct hs_api_stats_v1 of_process = { 0 };
    struct hs_api_stats_v1 of_thread = { 0 };
    int err = calls->get_stats(global ? &of_process : NULL, local ? &of_thread : NULL);
    if (err != 0) {
        return err;
    }
    copy_stats(global, &of_process);
    copy_stats(local, &of_thread);
    return 0;
}

int heapscope_bind(const struct heapscope_bind_options *options)
{
    static const struct heapscope_bind_options defaults;
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    options = options ? options : &defaults;
    for (unsigned i = 0; i < HS_COUNT_OF(options->reserved); i++) {
        if (options->reserved[i] != 0) {
            return -EINVAL;
        }
    }
    /* An older client's table ends before this function. */
    bool is_known = calls && calls->bytes > offsetof(struct hs_api_calls_v1, bind) && calls->bind;
    const struct hs_api_bind_v1 request = { .interval_bytes = options->interval_bytes,
                                            .socket = options->socket };
    return is_known ? calls->bind(&request) : -ENOTCONN;
}

/* heapprofd's library calls this by itself. Our client needs no allocator and has no session to
 * begin, so it only takes up what has been set. */
bool AHeapProfile_initSession(void *(*malloc_fn)(size_t), void (*free_fn)(void *))
{
    (void)malloc_fn;
    (void)free_fn;
    return is_recording();
}
