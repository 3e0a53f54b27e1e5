/*
 * The custom allocator API of heapprofd, by libheapscope.so: a program that uses it is profiled
 * without a change. heapscope/heapscope.h has more; both may be used in one program.
 *
 *     static uint32_t heap;                          // 0 before it is registered: calls do nothing
 *     heap = AHeapProfile_registerHeap(AHeapInfo_create("com.example.arena"));
 *     ...
 *     AHeapProfile_reportAllocation(heap, (uintptr_t)block, size_bytes);
 *     AHeapProfile_reportFree(heap, (uintptr_t)block);
 *
 * Every function may be called from any thread and from constructors of global objects, and does
 * nothing while no profiler records the heap. See AHeapInfo_create(3).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <heapscope/weak.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A heap that is being set up. It belongs to the library, and is never freed. */
typedef struct AHeapInfo AHeapInfo;
/* What callbacks are told; valid during the call. */
typedef struct AHeapProfileEnableCallbackInfo AHeapProfileEnableCallbackInfo;
typedef struct AHeapProfileDisableCallbackInfo AHeapProfileDisableCallbackInfo;

/* A name of 1 to 63 bytes. NULL: a bad name, or the process has 255 heaps already; a heap counts
 * even if it is never registered. */
HEAPSCOPE_API AHeapInfo *AHeapInfo_create(const char *heap_name);

/* Called when a profiler begins or ends recording this heap, by the next call of the library in any
 * thread, before that call reports anything; never in a forked child. Returns `info`; NULL, and
 * changes nothing: `info` is NULL or registered. */
HEAPSCOPE_API AHeapInfo *AHeapInfo_setEnabledCallback(
    AHeapInfo *info, void (*callback)(void *data, const AHeapProfileEnableCallbackInfo *session),
    void *data);
HEAPSCOPE_API AHeapInfo *AHeapInfo_setDisabledCallback(
    AHeapInfo *info, void (*callback)(void *data, const AHeapProfileDisableCallbackInfo *session),
    void *data);

/* The mean number of bytes between two samples of the heap. */
HEAPSCOPE_API uint64_t
AHeapProfileEnableCallbackInfo_getSamplingInterval(const AHeapProfileEnableCallbackInfo *session);

/* The heap's id, 1 to 255, for reports; 0 for NULL, with which reports do nothing. A heap that is
 * registered already keeps its id. */
HEAPSCOPE_API uint32_t AHeapProfile_registerHeap(AHeapInfo *info);

/* `alloc_id` is the block's address, or any other number that no live block of the heap has; a
 * second allocation with the id of a live block frees that block. True: the allocation was
 * recorded. */
HEAPSCOPE_API bool AHeapProfile_reportAllocation(uint32_t heap_id, uint64_t alloc_id,
                                                 uint64_t size);
/* The same for a program that chooses its samples by itself: `size` is what the sample stands
 * for. */
HEAPSCOPE_API bool AHeapProfile_reportSample(uint32_t heap_id, uint64_t alloc_id, uint64_t size);
/* For every block, recorded or not, before its id may be used again. */
HEAPSCOPE_API void AHeapProfile_reportFree(uint32_t heap_id, uint64_t alloc_id);

/* Takes up what a profiler has set. The functions are not used. True: a heap is being recorded. */
HEAPSCOPE_API bool AHeapProfile_initSession(void *(*malloc_fn)(size_t), void (*free_fn)(void *));

#ifdef HEAPSCOPE_WEAK
HEAPSCOPE_WEAK_CALL(AHeapInfo *, AHeapInfo_create, (const char *heap_name), (heap_name), NULL)
HEAPSCOPE_WEAK_CALL(AHeapInfo *, AHeapInfo_setEnabledCallback,
                    (AHeapInfo * info,
                     void (*callback)(void *, const AHeapProfileEnableCallbackInfo *), void *data),
                    (info, callback, data), NULL)
HEAPSCOPE_WEAK_CALL(AHeapInfo *, AHeapInfo_setDisabledCallback,
                    (AHeapInfo * info,
                     void (*callback)(void *, const AHeapProfileDisableCallbackInfo *), void *data),
                    (info, callback, data), NULL)
HEAPSCOPE_WEAK_CALL(uint64_t, AHeapProfileEnableCallbackInfo_getSamplingInterval,
                    (const AHeapProfileEnableCallbackInfo *session), (session), 0)
HEAPSCOPE_WEAK_CALL(uint32_t, AHeapProfile_registerHeap, (AHeapInfo * info), (info), 0)
HEAPSCOPE_WEAK_CALL(bool, AHeapProfile_reportAllocation,
                    (uint32_t heap_id, uint64_t alloc_id, uint64_t size), (heap_id, alloc_id, size),
                    false)
HEAPSCOPE_WEAK_CALL(bool, AHeapProfile_reportSample,
                    (uint32_t heap_id, uint64_t alloc_id, uint64_t size), (heap_id, alloc_id, size),
                    false)
HEAPSCOPE_WEAK_CALL_VOID(AHeapProfile_reportFree, (uint32_t heap_id, uint64_t alloc_id),
                         (heap_id, alloc_id))
HEAPSCOPE_WEAK_CALL(bool, AHeapProfile_initSession,
                    (void *(*malloc_fn)(size_t), void (*free_fn)(void *)), (malloc_fn, free_fn),
                    false)
#define AHeapInfo_create              heapscope_weak_AHeapInfo_create
#define AHeapInfo_setEnabledCallback  heapscope_weak_AHeapInfo_setEnabledCallback
#define AHeapInfo_setDisabledCallback heapscope_weak_AHeapInfo_setDisabledCallback
#define AHeapProfileEnableCallbackInfo_getSamplingInterval                                         \
    heapscope_weak_AHeapProfileEnableCallbackInfo_getSamplingInterval
#define AHeapProfile_registerHeap     heapscope_weak_AHeapProfile_registerHeap
#define AHeapProfile_reportAllocation heapscope_weak_AHeapProfile_reportAllocation
#define AHeapProfile_reportSample     heapscope_weak_AHeapProfile_reportSample
#define AHeapProfile_reportFree       heapscope_weak_AHeapProfile_reportFree
#define AHeapProfile_initSession      heapscope_weak_AHeapProfile_initSession
#endif

#ifdef __cplusplus
}
#endif
