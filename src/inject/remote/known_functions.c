/*
 * Reads whole symbol tables: see known_functions.h.
 */
#include "inject/remote/known_functions.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>

#include "rt/base.h"
#include "util/array.h"

#define SYMBOLS_MAX (1U << 18)
#define BUCKETS_MAX (1U << 18)
/* The number of symbols that one read fetches. */
#define BATCH_COUNT 128U

static const char *const forbidden[] = {
    "malloc",
    "free",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "pvalloc",
    "cfree",
    "free_sized",
    "free_aligned_sized",
    "malloc_trim",
    "malloc_stats",
    "malloc_info",
    "mallinfo",
    "mallinfo2",
    "mallopt",
    "malloc_usable_size",
    "__libc_malloc",
    "__libc_free",
    "__libc_calloc",
    "__libc_realloc",
    "__libc_memalign",
    "__libc_freeres",
    "mtrace",
    "muntrace",
    "sbrk",
    "brk",
    /* the loader */
    "dlopen",
    "dlclose",
    "dlsym",
    "dlvsym",
    "dladdr",
    "dladdr1",
    "dlinfo",
    "dlmopen",
    "dlerror",
    "dl_iterate_phdr",
    "_dl_find_object",
    "__libc_dlopen_mode",
    "__libc_dlsym",
    "__libc_dlclose",
    "_dl_addr",
    "_dl_sym",
    "_dl_vsym",
    /* forks, which block the allocator for all threads; children on a borrowed stack */
    "fork",
    "_Fork",
    "__fork",
    "__libc_fork",
    "vfork",
    "__vfork",
    "clone",
    "__clone",
    "posix_spawn",
    "posix_spawnp",
    "pthread_atfork",
    "__register_atfork",
    "forkpty",
    "daemon",
    /* functions that end the process or a thread */
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "atexit",
    "on_exit",
    "at_quick_exit",
    "__cxa_atexit",
    "__cxa_finalize",
    "__cxa_thread_atexit_impl",
    "abort",
    "pthread_exit",
    "__libc_thread_freeres",
    /* functions that allocate and map under locks of their own */
    "pthread_create",
    "pthread_setattr_default_np",
    "setlocale",
    "newlocale",
    "iconv_open",
};

static const char *const meeting[] = {
    "pthread_cond_wait",      "pthread_cond_timedwait",
    "pthread_cond_clockwait", "pthread_join",
    "pthread_timedjoin_np",   "pthread_clockjoin_np",
    "pthread_barrier_wait",   "cnd_wait",
    "cnd_timedwait",          "thrd_join",
};

static const char *const waiting[] = {
    "pthread_mutex_lock",
    "pthread_mutex_timedlock",
    "pthread_mutex_clocklock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_rwlock_timedrdlock",
    "pthread_rwlock_timedwrlock",
    "pthread_rwlock_clockrdlock",
    "pthread_rwlock_clockwrlock",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "mtx_lock",
    "mtx_timedlock",
};

static uint64_t count_by_gnu_hash(const struct hs_remote_memory *memory,
                                  const struct hs_remote_object *object)
{
    uint32_t head[4], last = 0, word;
    if (hs_remote_memory_read(memory, object->gnu_hash_va, head, sizeof(head)) < 0 ||
        head[0] > BUCKETS_MAX) {
        return 0;
    }
    uint64_t va = object->gnu_hash_va + sizeof(head) + (uint64_t)head[2] * sizeof(ElfW(Addr));
    uint32_t *buckets = malloc((size_t)head[0] * 4 + 1);
    if (buckets && hs_remote_memory_read(memory, va, buckets, (size_t)head[0] * 4) == 0) {
        for (uint32_t i = 0; i < head[0]; i++) {
            last = buckets[i] > last ? buckets[i] : last;
        }
    }
    free(buckets);
    va += (uint64_t)head[0] * 4;
    if (last < head[1]) {
        return 0;
    }
    /* The last chain's last symbol has the low bit set. */
    while (last < SYMBOLS_MAX &&
           hs_remote_memory_read(memory, va + (uint64_t)(last - head[1]) * 4, &word, 4) == 0) {
        last++;
        if (word & 1) {
            return last;
        }
    }
    return 0;
}

static uint64_t count_symbols(const struct hs_remote_memory *memory,
                              const struct hs_remote_object *object)
{
    uint32_t head[2];
    if (object->gnu_hash_va) {
        return count_by_gnu_hash(memory, object);
    }
    if (object->sysv_hash_va &&
        hs_remote_memory_read(memory, object->sysv_hash_va, head, sizeof(head)) == 0) {
        return head[1];
    }
    return 0;
}

static int add(struct hs_known_functions *functions, uint64_t va, uint64_t size_bytes,
               enum hs_function_kind kind)
{
    int r = hs_array_reserve(&functions->items, &functions->capacity, functions->count + 1,
                             sizeof(functions->items[0]));
    if (r == 0) {
        functions->items[functions->count++] =
            (struct hs_known_function){ va, va + size_bytes, kind };
    }
    return r;
}

/* Adds the functions with these names a second time, with another kind. The sort keeps the kind
 * with the highest number. */
static int add_named(const struct hs_remote_memory *memory, const struct hs_remote_object *object,
                     const char *const *names, size_t name_count, enum hs_function_kind kind,
                     struct hs_known_functions *functions)
{
    int r = 0;
    for (size_t i = 0; i < name_count && r == 0; i++) {
        struct hs_remote_symbol symbol;
        if (hs_remote_objects_symbol(memory, object, names[i], &symbol)) {
            r = add(functions, symbol.va, symbol.size_bytes ? symbol.size_bytes : 1, kind);
        }
    }
    return r;
}

int hs_known_functions_add(const struct hs_remote_memory *memory,
                           const struct hs_remote_object *object,
                           struct hs_known_functions *functions)
{
    ElfW(Sym) symbols[BATCH_COUNT];
    uint64_t count = count_symbols(memory, object);
    int r = count == 0 || count > SYMBOLS_MAX ? -EBADMSG : 0;
    for (uint64_t first = 0; first < count && r == 0; first += BATCH_COUNT) {
        size_t n = count - first < BATCH_COUNT ? (size_t)(count - first) : BATCH_COUNT;
        if (hs_remote_memory_read(memory, object->symbols_va + first * sizeof(symbols[0]), symbols,
                                  n * sizeof(symbols[0])) < 0) {
            return -EBADMSG;
        }
        for (size_t i = 0; i < n && r == 0; i++) {
            unsigned type = ELF64_ST_TYPE(symbols[i].st_info);
            if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_size > 0 &&
                (type == STT_FUNC || type == STT_GNU_IFUNC)) {
                r = add(functions, object->bias_va + symbols[i].st_value, symbols[i].st_size,
                        HS_FUNCTION_PLAIN);
            }
        }
    }
    r = r < 0 ? r
              : add_named(memory, object, forbidden, HS_COUNT_OF(forbidden), HS_FUNCTION_FORBIDDEN,
                          functions);
    r = r < 0 ? r
              : add_named(memory, object, meeting, HS_COUNT_OF(meeting), HS_FUNCTION_MEETING,
                          functions);
    return r < 0 ? r
                 : add_named(memory, object, waiting, HS_COUNT_OF(waiting), HS_FUNCTION_WAITING,
                             functions);
}

static int compare(const void *a, const void *b)
{
    const struct hs_known_function *x = a, *y = b;
    return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

/* Keeps one entry for each start address, with the strictest kind and the largest range of all
 * entries that start there. */
void hs_known_functions_sort(struct hs_known_functions *functions)
{
    size_t kept = 0;
    if (functions->count == 0) {
        return;
    }
    qsort(functions->items, functions->count, sizeof(functions->items[0]), compare);
    for (size_t i = 1; i < functions->count; i++) {
        struct hs_known_function *last = &functions->items[kept];
        const struct hs_known_function *next = &functions->items[i];
        if (next->start_va != last->start_va) {
            functions->items[++kept] = *next;
            continue;
        }
        last->kind = next->kind > last->kind ? next->kind : last->kind;
        last->end_va = next->end_va > last->end_va ? next->end_va : last->end_va;
    }
    functions->count = kept + 1;
}

void hs_known_functions_deinit(struct hs_known_functions *functions)
{
    free(functions->items);
    *functions = (struct hs_known_functions){ 0 };
}

enum hs_function_kind hs_known_functions_at(const struct hs_known_functions *functions, uint64_t va)
{
    size_t lo = 0, hi = functions->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (functions->items[mid].start_va <= va) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0 || va >= functions->items[lo - 1].end_va) {
        return HS_FUNCTION_UNKNOWN;
    }
    return functions->items[lo - 1].kind;
}
