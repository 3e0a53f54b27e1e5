/*
 * Reports. Nearly all of them are made while no client records the heap, so that test comes first
 * and is all there is to a report then. Otherwise the client does the work: it is called by a jump
 * where possible, so that the program's own function is the innermost frame that it finds.
 *
 * Ensures   nothing here allocates, locks or changes errno.
 * Threads   any; also in signal handlers.
 */
#include <heapscope/heap_profile.h>
#include <heapscope/heapscope.h>

#include <stddef.h>

#include "api/heap_table.h"

/* The generation of settings, plus 1, at which the client was asked for a heap's name. It is not
 * asked again before they change: a client may have no room for the heap. */
static uint64_t asked_generation[HS_API_HEAPS];

/* The client has no name for the heap, or there is no client. The client may just not have noticed
 * that the heap was registered, or what changed since: it is asked to. */
static HS_COLD uint32_t name_of_new(const struct hs_api_calls_v1 *calls, uint32_t heap)
{
    if (!calls || !hs_heap_table_is_registered(heap)) {
        return 0;
    }
    uint64_t generation = (uint64_t)hs_heap_table_generation() + 1;
    if (hs_load_relaxed(&asked_generation[heap]) != generation) {
        calls->poll();
        hs_store_relaxed(&asked_generation[heap], generation); /* later: other threads ask, too */
    }
    return hs_heap_table_client_heap(heap);
}

static HS_COLD bool report_alloc_of_new(uint32_t heap, uint64_t id, uint64_t size_bytes)
{
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    uint32_t name = name_of_new(calls, heap);
    return name != 0 && calls->report_alloc(name, id, size_bytes);
}

/* All of a report with a type but the first test. It is not inlined, so that the test has no
 * instruction for it. A client that takes no types gets the report without one. */
static __attribute__((noinline)) bool report_typed(uint32_t heap, uint64_t id, uint64_t size_bytes,
                                                   const char *type)
{
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    uint32_t name = hs_heap_table_client_heap(heap);
    name = hs_likely(calls && name != 0) ? name : name_of_new(calls, heap);
    if (hs_unlikely(name == 0)) {
        return false;
    }
    if (hs_unlikely(calls->bytes <= offsetof(struct hs_api_calls_v1, report_alloc_of) ||
                    !calls->report_alloc_of)) {
        return calls->report_alloc(name, id, size_bytes);
    }
    return calls->report_alloc_of(name, id, size_bytes, type);
}

static HS_COLD bool report_sample_of_new(uint32_t heap, uint64_t id, uint64_t weight_bytes)
{
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    uint32_t name = name_of_new(calls, heap);
    return name != 0 && calls->report_sample(name, id, weight_bytes);
}

/* --- hot --- */

/* Without a name there is nothing to free, so a free does not ask for one. */
void heapscope_report_free(uint32_t heap, uint64_t id)
{
    if (hs_likely(hs_heap_table_is_quiet())) {
        return;
    }
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    uint32_t name = hs_heap_table_client_heap(heap);
    if (hs_likely(calls && name != 0)) {
        calls->report_free(name, id);
    }
}

bool heapscope_report_alloc(uint32_t heap, uint64_t id, uint64_t size_bytes)
{
    if (hs_likely(hs_heap_table_is_quiet())) {
        return false;
    }
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    uint32_t name = hs_heap_table_client_heap(heap);
    if (hs_unlikely(!calls || name == 0)) {
        return report_alloc_of_new(heap, id, size_bytes);
    }
    return calls->report_alloc(name, id, size_bytes);
}

bool heapscope_report_alloc_of(uint32_t heap, uint64_t id, uint64_t size_bytes, const char *type)
{
    if (hs_likely(hs_heap_table_is_quiet())) {
        return false;
    }
    return report_typed(heap, id, size_bytes, type);
}

bool heapscope_report_sample(uint32_t heap, uint64_t id, uint64_t weight_bytes)
{
    if (hs_likely(hs_heap_table_is_quiet())) {
        return false;
    }
    const struct hs_api_calls_v1 *calls = hs_heap_table_calls();
    uint32_t name = hs_heap_table_client_heap(heap);
    if (hs_unlikely(!calls || name == 0)) {
        return report_sample_of_new(heap, id, weight_bytes);
    }
    return calls->report_sample(name, id, weight_bytes);
}

/* heapprofd's names for the same functions. */
bool AHeapProfile_reportAllocation(uint32_t heap_id, uint64_t alloc_id, uint64_t size)
    __attribute__((alias("heapscope_report_alloc")));
bool AHeapProfile_reportSample(uint32_t heap_id, uint64_t alloc_id, uint64_t size)
    __attribute__((alias("heapscope_report_sample")));
void AHeapProfile_reportFree(uint32_t heap_id, uint64_t alloc_id)
    __attribute__((alias("heapscope_report_free")));
