/*
 * The weak form of heapscope.h, which includes this file if HEAPSCOPE_WEAK is defined: each
 * function's name stands for an inline function that does nothing if the library is not loaded.
 * What it then returns is what the library returns without a profiler, where it could not do
 * better: -ENOTCONN; and no heap, no block and no pool.
 */
#pragma once

HEAPSCOPE_WEAK_CALL(heapscope_heap *, heapscope_heap_create, (const char *name), (name), NULL)
HEAPSCOPE_WEAK_CALL(int, heapscope_heap_set_primary, (heapscope_heap * heap, bool is_primary),
                    (heap, is_primary), -ENOTCONN)
HEAPSCOPE_WEAK_CALL(int, heapscope_heap_set_parent, (heapscope_heap * heap, uint32_t parent),
                    (heap, parent), -ENOTCONN)
HEAPSCOPE_WEAK_CALL(int, heapscope_heap_set_callbacks,
                    (heapscope_heap * heap, void (*on_enabled)(void *, uint64_t),
                     void (*on_disabled)(void *), void *data),
                    (heap, on_enabled, on_disabled, data), -ENOTCONN)
HEAPSCOPE_WEAK_CALL(uint32_t, heapscope_heap_register, (heapscope_heap * heap), (heap), 0)
HEAPSCOPE_WEAK_CALL(bool, heapscope_report_alloc, (uint32_t heap, uint64_t id, uint64_t size_bytes),
                    (heap, id, size_bytes), false)
HEAPSCOPE_WEAK_CALL(bool, heapscope_report_alloc_of,
                    (uint32_t heap, uint64_t id, uint64_t size_bytes, const char *type),
                    (heap, id, size_bytes, type), false)
HEAPSCOPE_WEAK_CALL(bool, heapscope_report_sample,
                    (uint32_t heap, uint64_t id, uint64_t weight_bytes), (heap, id, weight_bytes),
                    false)
HEAPSCOPE_WEAK_CALL_VOID(heapscope_report_free, (uint32_t heap, uint64_t id), (heap, id))
HEAPSCOPE_WEAK_CALL(int, heapscope_poll, (void), (), -ENOTCONN)
HEAPSCOPE_WEAK_CALL(uint64_t, heapscope_interval, (uint32_t heap), (heap), 0)
HEAPSCOPE_WEAK_CALL(int, heapscope_take_snapshot, (const char *name), (name), -ENOTCONN)
HEAPSCOPE_WEAK_CALL(int, heapscope_get_stats,
                    (struct heapscope_stats * global, struct heapscope_stats *local),
                    (global, local), -ENOTCONN)
HEAPSCOPE_WEAK_CALL(int, heapscope_bind, (const struct heapscope_bind_options *options), (options),
                    -ENOTCONN)
HEAPSCOPE_WEAK_CALL(heapscope_pool *, heapscope_pool_create,
                    (const char *name, const struct heapscope_pool_options *options),
                    (name, options), NULL)
HEAPSCOPE_WEAK_CALL(void *, heapscope_pool_alloc, (heapscope_pool * pool, size_t size_bytes),
                    (pool, size_bytes), NULL)
HEAPSCOPE_WEAK_CALL(void *, heapscope_pool_alloc_aligned,
                    (heapscope_pool * pool, size_t size_bytes, size_t align_bytes),
                    (pool, size_bytes, align_bytes), NULL)
HEAPSCOPE_WEAK_CALL(int, heapscope_pool_free, (heapscope_pool * pool, void *block), (pool, block),
                    -ENOTCONN)
HEAPSCOPE_WEAK_CALL(size_t, heapscope_pool_trim, (heapscope_pool * pool), (pool), 0)
HEAPSCOPE_WEAK_CALL_VOID(heapscope_pool_destroy, (heapscope_pool * pool), (pool))
HEAPSCOPE_WEAK_CALL(uint32_t, heapscope_pool_heap, (const heapscope_pool *pool), (pool), 0)
HEAPSCOPE_WEAK_CALL(uint32_t, heapscope_scope_begin, (const char *name), (name), 0)
HEAPSCOPE_WEAK_CALL(uint32_t, heapscope_label_begin, (const char *key, const char *value),
                    (key, value), 0)
HEAPSCOPE_WEAK_CALL_VOID(heapscope_scope_end, (void), ())
HEAPSCOPE_WEAK_CALL_VOID(heapscope_scope_end_to, (uint32_t depth), (depth))
HEAPSCOPE_WEAK_CALL(uint32_t, heapscope_scope_depth, (void), (), 0)
HEAPSCOPE_WEAK_CALL(uint32_t, heapscope_scope_name, (const char *name), (name), 0)
HEAPSCOPE_WEAK_CALL(uint32_t, heapscope_label_name, (const char *key, const char *value),
                    (key, value), 0)
HEAPSCOPE_WEAK_CALL(uint32_t, heapscope_scope_enter, (uint32_t name_id), (name_id), 0)

#define heapscope_heap_create        heapscope_weak_heapscope_heap_create
#define heapscope_heap_set_primary   heapscope_weak_heapscope_heap_set_primary
#define heapscope_heap_set_parent    heapscope_weak_heapscope_heap_set_parent
#define heapscope_heap_set_callbacks heapscope_weak_heapscope_heap_set_callbacks
#define heapscope_heap_register      heapscope_weak_heapscope_heap_register
#define heapscope_report_alloc       heapscope_weak_heapscope_report_alloc
#define heapscope_report_alloc_of    heapscope_weak_heapscope_report_alloc_of
#define heapscope_report_sample      heapscope_weak_heapscope_report_sample
#define heapscope_report_free        heapscope_weak_heapscope_report_free
#define heapscope_poll               heapscope_weak_heapscope_poll
#define heapscope_interval           heapscope_weak_heapscope_interval
#define heapscope_take_snapshot      heapscope_weak_heapscope_take_snapshot
#define heapscope_get_stats          heapscope_weak_heapscope_get_stats
#define heapscope_bind               heapscope_weak_heapscope_bind
#define heapscope_pool_create        heapscope_weak_heapscope_pool_create
#define heapscope_pool_alloc         heapscope_weak_heapscope_pool_alloc
#define heapscope_pool_alloc_aligned heapscope_weak_heapscope_pool_alloc_aligned
#define heapscope_pool_free          heapscope_weak_heapscope_pool_free
#define heapscope_pool_trim          heapscope_weak_heapscope_pool_trim
#define heapscope_pool_destroy       heapscope_weak_heapscope_pool_destroy
#define heapscope_pool_heap          heapscope_weak_heapscope_pool_heap
#define heapscope_scope_begin        heapscope_weak_heapscope_scope_begin
#define heapscope_label_begin        heapscope_weak_heapscope_label_begin
#define heapscope_scope_end          heapscope_weak_heapscope_scope_end
#define heapscope_scope_end_to       heapscope_weak_heapscope_scope_end_to
#define heapscope_scope_depth        heapscope_weak_heapscope_scope_depth
#define heapscope_scope_name         heapscope_weak_heapscope_scope_name
#define heapscope_label_name         heapscope_weak_heapscope_label_name
#define heapscope_scope_enter        heapscope_weak_heapscope_scope_enter
