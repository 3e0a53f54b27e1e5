/*
 * Pools: allocation, and what is reported when.
 *
 * A block is reported as allocated once it is the caller's, and as freed before another thread can
 * get it.
 *
 * Pools of one name and parent share a heap, so that a program may make pools as often as it likes:
 * a process has 255 heaps. When all are taken, a pool works as before and is not reported.
 */
#include "api/api_pool.h"

#include <stdlib.h>

#include "api/api_heap.h"
#include "api/heap_table.h"
#include "rt/text.h"

/* Heaps that pools made: others of the same name are the program's own. */
static bool is_of_pools[HS_API_HEAPS];
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

static void *alloc_by_malloc(void *data, size_t size_bytes)
{
    (void)data;
    return malloc(size_bytes);
}

static void free_by_malloc(void *data, void *memory, size_t size_bytes)
{
    (void)data;
    (void)size_bytes;
    free(memory);
}

/* Memory from the allocator below, aligned as the blocks must be. */
static void *get_memory(const struct heapscope_pool_options *options, size_t size_bytes)
{
    void *memory = options->alloc(options->data, size_bytes);
    if ((uintptr_t)memory % HS_POOL_UNIT_BYTES != 0) {
        options->free(options->data, memory, size_bytes);
        memory = NULL;
    }
    return memory;
}

/* --- creation and end --- */

/* The thread that had the lock does not exist in a forked child. What it was doing is complete, or
 * has no effect: a heap of which nobody knows. */
static void free_lock_in_child(void)
{
    pthread_mutex_init(&names_lock, NULL);
}

static __attribute__((constructor)) void watch_forks(void)
{
    pthread_atfork(NULL, NULL, free_lock_in_child);
}

static uint32_t find_heap(const char *name, uint32_t parent)
{
    uint32_t count = hs_load_relaxed(&hs_heap_table.heap_count);
    for (uint32_t id = 1; id < count; id++) {
        if (is_of_pools[id] && hs_heap_table.heaps[id].parent == parent &&
            hs_text_is_same(hs_heap_table.heaps[id].name, name)) {
            return id;
        }
    }
    return 0;
}

/* The heap of the pools of this name and parent. -EINVAL, -ENAMETOOLONG; 0 also if there are too
 * many heaps, and then *ret_id is 0. */
static int heap_of_name(const char *name, uint32_t parent, uint32_t *ret_id)
{
    if (!name || (parent != 0 && !hs_heap_table_is_registered(parent))) {
        return -EINVAL;
    }
    heapscope_heap *heap = NULL;
    int err = 0;
    pthread_mutex_lock(&names_lock);
    uint32_t id = find_heap(name, parent);
    if (id == 0) {
        err = hs_api_heap_new(name, &heap);
        if (err == 0) {
            id = hs_api_heap_id(heap);
            hs_heap_table.heaps[id].parent = parent;
            is_of_pools[id] = true;
        }
    }
    pthread_mutex_unlock(&names_lock);
    if (err != 0 && err != -ENOSPC) {
        return err;
    }
    /* Without the lock, as callbacks may run. */
    *ret_id = id == 0 ? 0 : heapscope_heap_register(hs_api_heap_of(id));
    return 0;
}

/* Completes the options; -errno if they are wrong. */
static int complete(struct heapscope_pool_options *options, const char *name)
{
    for (size_t i = 0; i < HS_COUNT_OF(options->reserved); i++) {
        if (options->reserved[i] != 0) {
            return -EINVAL;
        }
    }
    if (options->chunk_bytes == 0) {
        options->chunk_bytes = HS_POOL_CHUNK_BYTES_DEFAULT;
    }
    options->chunk_bytes = hs_align_up(options->chunk_bytes, HS_POOL_UNIT_BYTES);
    if (options->chunk_bytes < HS_POOL_CHUNK_BYTES_MIN ||
        options->chunk_bytes > HS_POOL_CHUNK_BYTES_MAX || !options->alloc != !options->free) {
        return -EINVAL;
    }
    if (!options->alloc) {
        options->alloc = alloc_by_malloc;
        options->free = free_by_malloc;
    }
    if (options->heap != 0) {
        return hs_heap_table_is_registered(options->heap) && options->parent == 0 ? 0 : -EINVAL;
    }
    return heap_of_name(name, options->parent, &options->heap);
}

heapscope_pool *heapscope_pool_create(const char *name,
                                      const struct heapscope_pool_options *options)
{
    struct heapscope_pool_options completed = { 0 };
    if (options) {
        completed = *options;
    }
    int err = complete(&completed, name);
    if (err != 0) {
        errno = -err;
        return NULL;
    }
    heapscope_pool *pool = get_memory(&completed, sizeof(*pool));
    if (!pool) {
        errno = ENOMEM;
        return NULL;
    }
    *pool = (heapscope_pool){
        .chunks = { .chunk_bytes = completed.chunk_bytes },
        .options = completed,
    };
    pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

/* Gives chunks back that are linked by `next`. Returns their bytes. */
static size_t give_back(heapscope_pool *pool, struct hs_pool_chunk *chunk)
{
    size_t freed_bytes = 0;
    while (chunk) {
        struct hs_pool_chunk *next = chunk->next;
        freed_bytes += chunk->size_bytes;
        pool->options.free(pool->options.data, chunk, chunk->size_bytes);
        chunk = next;
    }
    return freed_bytes;
}

static void report_all_freed(heapscope_pool *pool)
{
    for (struct hs_pool_chunk *chunk = pool->chunks.first; chunk; chunk = chunk->next) {
        for (struct hs_pool_block *block = hs_pool_chunk_next_block(chunk, NULL); block;
             block = hs_pool_chunk_next_block(chunk, block)) {
            if (block->state == HS_POOL_BLOCK_LIVE) {
                heapscope_report_free(pool->options.heap, (uintptr_t)hs_pool_block_address(block));
            }
        }
    }
}

void heapscope_pool_destroy(heapscope_pool *pool)
{
    if (!pool) {
        return;
    }
    if (!hs_heap_table_is_quiet()) {
        report_all_freed(pool);
    }
    give_back(pool, pool->chunks.first);
    pthread_mutex_destroy(&pool->lock);
    pool->options.free(pool->options.data, pool, sizeof(*pool));
}

/* --- blocks --- */

/* A block with a chunk of its own. */
static struct hs_pool_block *take_single(heapscope_pool *pool, size_t size_bytes)
{
    size_t memory_bytes = hs_pool_chunks_needs(&pool->chunks, size_bytes);
    struct hs_pool_chunk *chunk = get_memory(&pool->options, memory_bytes);
    if (!chunk) {
        return NULL;
    }
    pthread_mutex_lock(&pool->lock);
    hs_pool_chunks_add(&pool->chunks, chunk, memory_bytes, true);
    struct hs_pool_block *block = hs_pool_chunks_take_single(chunk);
    pthread_mutex_unlock(&pool->lock);
    return block;
}

/* A block in a chunk with others. Two threads may both add a chunk: neither is lost. */
static struct hs_pool_block *take_small(heapscope_pool *pool, size_t size_bytes)
{
    pthread_mutex_lock(&pool->lock);
    struct hs_pool_block *block = hs_pool_chunks_take(&pool->chunks, size_bytes);
    pthread_mutex_unlock(&pool->lock);
    if (block) {
        return block;
    }
    size_t memory_bytes = hs_pool_chunks_needs(&pool->chunks, size_bytes);
    void *memory = get_memory(&pool->options, memory_bytes);
    if (!memory) {
        return NULL;
    }
    pthread_mutex_lock(&pool->lock);
    hs_pool_chunks_add(&pool->chunks, memory, memory_bytes, false);
    block = hs_pool_chunks_take(&pool->chunks, size_bytes);
    pthread_mutex_unlock(&pool->lock);
    return block;
}

void *heapscope_pool_alloc_aligned(heapscope_pool *pool, size_t size_bytes, size_t align_bytes)
{
    if (!pool || align_bytes == 0 || (align_bytes & (align_bytes - 1)) != 0 ||
        align_bytes > HS_POOL_ALIGN_BYTES_MAX) {
        errno = EINVAL;
        return NULL;
    }
    size_t more_bytes = align_bytes > HS_POOL_UNIT_BYTES ? align_bytes - HS_POOL_UNIT_BYTES : 0;
    if (size_bytes > PTRDIFF_MAX - HS_POOL_ALIGN_BYTES_MAX) {
        errno = ENOMEM;
        return NULL;
    }
    size_t needed_bytes = size_bytes + more_bytes;
    bool is_small = hs_pool_chunks_block_bytes(&pool->chunks, needed_bytes) != 0;
    struct hs_pool_block *block =
        is_small ? take_small(pool, needed_bytes) : take_single(pool, needed_bytes);
    if (!block) {
        errno = ENOMEM;
        return NULL;
    }
    void *address = hs_pool_block_align(block, align_bytes);
    heapscope_report_alloc(pool->options.heap, (uintptr_t)address, size_bytes);
    return address;
}

void *heapscope_pool_alloc(heapscope_pool *pool, size_t size_bytes)
{
    return heapscope_pool_alloc_aligned(pool, size_bytes, HS_POOL_UNIT_BYTES);
}

int heapscope_pool_free(heapscope_pool *pool, void *block)
{
    if (!block) {
        return 0;
    }
    if (!pool || !hs_pool_block_of(&pool->chunks, block)) {
        return -EINVAL;
    }
    heapscope_report_free(pool->options.heap, (uintptr_t)block);
    struct hs_pool_chunk *single = NULL;
    pthread_mutex_lock(&pool->lock);
    /* Looked up again: another thread may have freed it too. */
    struct hs_pool_block *freed = hs_pool_block_of(&pool->chunks, block);
    if (freed) {
        single = hs_pool_chunks_put(&pool->chunks, freed);
    }
    pthread_mutex_unlock(&pool->lock);
    if (single) {
        pool->options.free(pool->options.data, single, single->size_bytes);
    }
    return freed ? 0 : -EINVAL;
}

size_t heapscope_pool_trim(heapscope_pool *pool)
{
    if (!pool) {
        return 0;
    }
    pthread_mutex_lock(&pool->lock);
    struct hs_pool_chunk *empty = hs_pool_chunks_take_empty(&pool->chunks);
    pthread_mutex_unlock(&pool->lock);
    return give_back(pool, empty);
}

uint32_t heapscope_pool_heap(const heapscope_pool *pool)
{
    return pool ? pool->options.heap : 0;
}
