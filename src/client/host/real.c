/*
 * Finding the real allocator. See real.h.
 */
#include "client/host/real.h"

#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "client/host/allocator_code.h"
#include "client/host/linked.h"
#include "client/host/linkmap.h"
#include "fmt/ctl_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"
#include "rt/text.h"

/* --- until resolved: the first call of each function resolves, and is then made --------------- */

static void *first_malloc(size_t size_bytes)
{
    hs_real_resolve();
    return hs_real.malloc(size_bytes);
}

static void *first_calloc(size_t count, size_t size_bytes)
{
    hs_real_resolve();
    return hs_real.calloc(count, size_bytes);
}

static void *first_realloc(void *ptr, size_t size_bytes)
{
    hs_real_resolve();
    return hs_real.realloc(ptr, size_bytes);
}

static void first_free(void *ptr)
{
    hs_real_resolve();
    hs_real.free(ptr);
}

static void first_free_sized(void *ptr, size_t size_bytes)
{
    hs_real_resolve();
    hs_real.free_sized(ptr, size_bytes);
}

static void first_free_aligned_sized(void *ptr, size_t align_bytes, size_t size_bytes)
{
    hs_real_resolve();
    hs_real.free_aligned_sized(ptr, align_bytes, size_bytes);
}

static void *first_memalign(size_t align_bytes, size_t size_bytes)
{
    hs_real_resolve();
    return hs_real.memalign(align_bytes, size_bytes);
}

static int first_posix_memalign(void **ret_ptr, size_t align_bytes, size_t size_bytes)
{
    hs_real_resolve();
    return hs_real.posix_memalign(ret_ptr, align_bytes, size_bytes);
}

static void *first_aligned_alloc(size_t align_bytes, size_t size_bytes)
{
    hs_real_resolve();
    return hs_real.aligned_alloc(align_bytes, size_bytes);
}

static void *first_valloc(size_t size_bytes)
{
    hs_real_resolve();
    return hs_real.valloc(size_bytes);
}

static void *first_pvalloc(size_t size_bytes)
{
    hs_real_resolve();
    return hs_real.pvalloc(size_bytes);
}

static int first_dlclose(void *handle)
{
    hs_real_resolve();
    return hs_real.dlclose(handle);
}

static int first_prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4,
                       unsigned long arg5)
{
    hs_real_resolve();
    return hs_real.prctl(option, arg2, arg3, arg4, arg5);
}

static void *first_mmap(void *addr, size_t len_bytes, int prot, int flags, int fd, long off)
{
    hs_real_resolve();
    return hs_real.mmap(addr, len_bytes, prot, flags, fd, off);
}

static int first_munmap(void *addr, size_t len_bytes)
{
    hs_real_resolve();
    return hs_real.munmap(addr, len_bytes);
}

static void *first_mremap(void *addr, size_t old_bytes, size_t new_bytes, int flags, void *new_addr)
{
    hs_real_resolve();
    return hs_real.mremap(addr, old_bytes, new_bytes, flags, new_addr);
}

static int first_mprotect(void *addr, size_t len_bytes, int prot)
{
    hs_real_resolve();
    return hs_real.mprotect(addr, len_bytes, prot);
}

static int first_pkey_mprotect(void *addr, size_t len_bytes, int prot, int pkey)
{
    hs_real_resolve();
    return hs_real.pkey_mprotect(addr, len_bytes, prot, pkey);
}

static int first_brk(void *end)
{
    hs_real_resolve();
    return hs_real.brk(end);
}

static void *first_sbrk(long change_bytes)
{
    hs_real_resolve();
    return hs_real.sbrk(change_bytes);
}

struct hs_real hs_real = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .free = first_free,
    .free_sized = first_free_sized,
    .free_aligned_sized = first_free_aligned_sized,
    .memalign = first_memalign,
    .posix_memalign = first_posix_memalign,
    .aligned_alloc = first_aligned_alloc,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
    .dlclose = first_dlclose,
    .prctl = first_prctl,
    .mmap = first_mmap,
    .munmap = first_munmap,
    .mremap = first_mremap,
    .mprotect = first_mprotect,
    .pkey_mprotect = first_pkey_mprotect,
    .brk = first_brk,
    .sbrk = first_sbrk,
    .syscall = NULL, /* its hook checks for NULL: src/arch/x86_64/entry.S */
};

/* --- what a C library may lack ---------------------------------------------------------------- */

static void made_free_sized(void *ptr, size_t size_bytes)
{
    (void)size_bytes;
    hs_real.free(ptr);
}

static void made_free_aligned_sized(void *ptr, size_t align_bytes, size_t size_bytes)
{
    (void)align_bytes;
    (void)size_bytes;
    hs_real.free(ptr);
}

static void *made_aligned(size_t align_bytes, size_t size_bytes)
{
    void *ptr = NULL;
    size_t align = align_bytes < sizeof(void *) ? sizeof(void *) : align_bytes;
    int err = hs_real.posix_memalign(&ptr, align, size_bytes);
    if (err) {
        errno = err;
        return NULL;
    }
    return ptr;
}

static void *made_valloc(size_t size_bytes)
{
    return made_aligned(4096, size_bytes);
}

static void *made_pvalloc(size_t size_bytes)
{
    return made_aligned(4096, hs_align_up(size_bytes, 4096));
}

/* --- detours ---------------------------------------------------------------------------------- */

/* The collector reads it from outside. The count is set last. */
HS_EXPORT struct hs_detours_v1 heapscope_detours_v1 = { .detours_bytes =
                                                            sizeof(struct hs_detours_v1) };

/* The code to call for a function of the process's allocator; NULL: it has no detour. */
static void *detour_of(const char *name)
{
    const struct hs_detours_v1 *detours = &heapscope_detours_v1;
    uint32_t count = hs_load_relaxed(&detours->count);
    for (uint32_t i = 0; i < count; i++) {
        if (detours->rows[i].own_number == 0 && hs_text_is_same(detours->rows[i].name, name)) {
            return (void *)(uintptr_t)detours->rows[i].real_va;
        }
    }
    return NULL;
}

/* --- an allocator in the executable ----------------------------------------------------------- */

/* Its calls of mmap are told from the program's by our frame between it and its caller: the hot
 * halves of our hooks jump to the real functions and leave none. */
static struct hs_real inner;

#define WITH_FRAME(type, name, params, args)                                                       \
    static type framed_##name params                                                               \
    {                                                                                              \
        type result = inner.name args;                                                             \
        __asm__ volatile("" : "+r"(result)); /* so that this is no jump */                         \
        return result;                                                                             \
    }

WITH_FRAME(void *, malloc, (size_t size_bytes), (size_bytes))
WITH_FRAME(void *, calloc, (size_t count, size_t size_bytes), (count, size_bytes))
WITH_FRAME(void *, realloc, (void *ptr, size_t size_bytes), (ptr, size_bytes))
WITH_FRAME(void *, memalign, (size_t align_bytes, size_t size_bytes), (align_bytes, size_bytes))
WITH_FRAME(int, posix_memalign, (void **ret_ptr, size_t align_bytes, size_t size_bytes),
           (ret_ptr, align_bytes, size_bytes))
WITH_FRAME(void *, aligned_alloc, (size_t align_bytes, size_t size_bytes),
           (align_bytes, size_bytes))
WITH_FRAME(void *, valloc, (size_t size_bytes), (size_bytes))
WITH_FRAME(void *, pvalloc, (size_t size_bytes), (size_bytes))

static void framed_free(void *ptr)
{
    inner.free(ptr);
    __asm__ volatile(""); /* so that this is no jump */
}

static void put_frames_between(void)
{
    inner = hs_real;
    hs_store_relaxed(&hs_real.malloc, framed_malloc);
    hs_store_relaxed(&hs_real.calloc, framed_calloc);
    hs_store_relaxed(&hs_real.realloc, framed_realloc);
    hs_store_relaxed(&hs_real.memalign, framed_memalign);
    hs_store_relaxed(&hs_real.posix_memalign, framed_posix_memalign);
    hs_store_relaxed(&hs_real.aligned_alloc, framed_aligned_alloc);
    hs_store_relaxed(&hs_real.valloc, framed_valloc);
    hs_store_relaxed(&hs_real.pvalloc, framed_pvalloc);
    hs_store_relaxed(&hs_real.free, framed_free);
}

/* --- resolving -------------------------------------------------------------------------------- */

void *hs_real_find(const char *name)
{
    const struct link_map *self = hs_real.self;
    void *va = detour_of(name);
    if (va) {
        return va;
    }
    va = self && hs_real.is_preloaded ? hs_linkmap_search(self, hs_real.other_client, name, NULL)
                                      : NULL;
    /* Objects before the client in the list: the executable, or libraries preloaded ahead of it. */
    return va ? va : hs_linkmap_search(NULL, self, name, NULL);
}

/* Do the calls of `name` by a C++ library (NULL: one that was loaded late) lead to our hooks? If
 * the client was loaded late, the library's calls of malloc are redirected. */
static bool leads_to_us(const char *name, const struct link_map *library)
{
    const struct link_map *self = hs_real.self, *map = NULL;
    if (hs_real.is_preloaded) {
        return hs_linkmap_search(NULL, NULL, name, &map) && map == self;
    }
    bool is_found = name[0] == '_' && hs_linkmap_search(NULL, self, name, &map);
    return name[0] != '_' || (library ? is_found && map == library : !is_found);
}

bool hs_real_is_cxx_library(const char *path)
{
    static const char *const names[] = { "libstdc++.so", "libc++.so", "libc++abi.so" };
    const char *base = path ? hs_text_base_name(path) : "";
    for (unsigned i = 0; i < HS_COUNT_OF(names); i++) {
        if (hs_text_starts_with(base, names[i])) {
            return true;
        }
    }
    return false;
}

static bool all_lead_to_us(const struct link_map *library, bool is_aligned)
{
    static const char *const called[2][6] = {
        { "malloc", "free", "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv" },
        { "aligned_alloc", "free", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
          "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t" },
    };
    for (unsigned i = 0; i < HS_COUNT_OF(called[0]); i++) {
        if (!leads_to_us(called[is_aligned][i], library)) {
            return false;
        }
    }
    return true;
}

bool hs_real_is_plain_operator(const char *name, bool is_aligned)
{
    const struct link_map *self = hs_real.self, *map = NULL;
    const struct link_map *after = hs_real.is_preloaded ? self : NULL;
    return self && hs_linkmap_search(after, self, name, &map) &&
           hs_real_is_cxx_library(map->l_name) && all_lead_to_us(map, is_aligned);
}

bool hs_real_is_plain_runtime(bool is_aligned)
{
    return hs_real.self && all_lead_to_us(NULL, is_aligned);
}

/* Stores the function that was found, or else the made one; keeps the pointer when there is
 * neither. */
static void bind(void *slot, const char *name, void *made_up)
{
    void *va = hs_real_find(name);
    va = va ? va : made_up;
    if (va) {
        HS_ASSERT(!detour_of(name) || va == detour_of(name));
        hs_store_relaxed((void **)slot, va);
    }
}

const struct link_map *hs_real_libc(void)
{
    const struct link_map *map = NULL;
    return hs_linkmap_search(NULL, hs_linkmap_self(), "gnu_get_libc_version", &map) ? map : NULL;
}

/* Where we are preloaded, nothing has been loaded yet but what stays: the loader allocates before
 * it loads a library. Where we came later, it is known of the C library and of the loader, and so
 * of all before them. */
static const struct link_map *find_last(void)
{
    const struct link_map *libc = hs_real_libc(), *last = NULL;
    for (const struct link_map *map = hs_linkmap_first(); map; map = map->l_next) {
        bool does_stay = hs_real.is_from_start || map == libc || map->l_addr == getauxval(AT_BASE);
        last = does_stay ? map : last;
    }
    return last;
}

/* Two clients in one process would record everything twice. The one that the loader finds first is
 * the client: that is the preloaded one. */
static void find_other_client(const struct link_map *self)
{
    const struct link_map *first = NULL, *other = NULL;
    hs_linkmap_search(NULL, NULL, HS_ATTACH_ENTRY, &first);
    hs_linkmap_search(NULL, self, HS_ATTACH_ENTRY, &other);
    hs_real.other_client = other;
    hs_real.is_second = other && first == other;
}

/* A program can be linked with an allocator's library in front of libheapscope_malloc.so; its calls
 * then go there. (Those of an executable with a malloc of its own never come to us.) */
static bool is_found_first(const struct link_map *self)
{
    const struct link_map *first = NULL;
    hs_linkmap_search(NULL, hs_real.other_client, "malloc", &first);
    return !hs_is_linked_library() || first == self || first == hs_linkmap_first();
}

/* Where we are found first, or preloaded, the loader has loaded us with the program. Otherwise our
 * constructor is the first to run in the process, before that of the C library, which sets
 * `environ`. */
static void find_place(const struct link_map *self)
{
    find_other_client(self);
    hs_real.is_preloaded = self && is_found_first(self) &&
                           hs_linkmap_search(self, hs_real.other_client, "malloc", NULL) != NULL;
    hs_real.is_from_start = hs_real.is_preloaded || (hs_is_linked_library() && environ == NULL);
}

/* If the C library has no such function, no program can have called it. */
static void bind_mapping(void)
{
    bind(&hs_real.mmap, "mmap", NULL);
    bind(&hs_real.munmap, "munmap", NULL);
    bind(&hs_real.mremap, "mremap", NULL);
    bind(&hs_real.mprotect, "mprotect", NULL);
    bind(&hs_real.pkey_mprotect, "pkey_mprotect", NULL);
    bind(&hs_real.brk, "brk", NULL);
    bind(&hs_real.sbrk, "sbrk", NULL);
    hs_allocator_code_find();
}

static void resolve(void)
{
    const struct link_map *self = hs_linkmap_self();
    hs_real.self = self;
    if (!hs_load_relaxed(&hs_real.is_resolved)) {
        find_place(self);
    }
    if (hs_linkmap_lasting_count() == 0) {
        hs_linkmap_set_last(find_last());
    }
    bind(&hs_real.malloc, "malloc", NULL);
    bind(&hs_real.found_malloc, "malloc", NULL);
    bind(&hs_real.calloc, "calloc", NULL);
    bind(&hs_real.realloc, "realloc", NULL);
    bind(&hs_real.free, "free", NULL);
    bind(&hs_real.posix_memalign, "posix_memalign", NULL);
    bind(&hs_real.free_sized, "free_sized", (void *)made_free_sized);
    bind(&hs_real.free_aligned_sized, "free_aligned_sized", (void *)made_free_aligned_sized);
    bind(&hs_real.memalign, "memalign", (void *)made_aligned);
    bind(&hs_real.aligned_alloc, "aligned_alloc", (void *)made_aligned);
    bind(&hs_real.valloc, "valloc", (void *)made_valloc);
    bind(&hs_real.pvalloc, "pvalloc", (void *)made_pvalloc);
    bind(&hs_real.dlclose, "dlclose", NULL);
    bind(&hs_real.prctl, "prctl", NULL);
    bind(&hs_real.syscall, "syscall", NULL);
    bind(&hs_real.dlopen, "dlopen", NULL);
    bind(&hs_real.dlsym, "dlsym", NULL);
    bind(&hs_real.dlvsym, "dlvsym", NULL);
    bind(&hs_real.dlmopen, "dlmopen", NULL);
    bind_mapping();
    const struct link_map *executable = hs_linkmap_first(), *libc = hs_real_libc();
    hs_real.is_defined_in_program = executable && hs_linkmap_symbol(executable, "malloc") != NULL;
    hs_real.has_own_malloc = hs_real.is_defined_in_program && !detour_of("malloc");
    hs_real.is_foreign =
        libc && hs_linkmap_symbol(libc, "malloc") != (void *)(uintptr_t)hs_real.found_malloc;
    if (detour_of("malloc")) {
        put_frames_between();
    }
    HS_ASSERT(hs_real.malloc && hs_real.calloc && hs_real.realloc && hs_real.free);
    HS_ASSERT(hs_real.posix_memalign && hs_real.memalign && hs_real.aligned_alloc &&
              hs_real.valloc && hs_real.pvalloc && hs_real.free_sized &&
              hs_real.free_aligned_sized);
    hs_store_relaxed(&hs_real.is_resolved, true);
}

HS_COLD void hs_real_resolve(void)
{
    if (!hs_load_relaxed(&hs_real.is_resolved)) {
        resolve();
    }
}

void hs_real_resolve_again(void)
{
    resolve();
}
