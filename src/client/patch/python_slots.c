/*
 * Finding and setting the structures of CPython's allocators. See python_slots.h.
 */
#include "client/patch/python_slots.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#include "client/host/linkmap.h"
#include "client/patch/object_slots.h"
#include "rt/atomic.h"
#include "rt/check.h"
#include "rt/sys.h"
#include "rt/text.h"

#define SLOTS_MAX   16U
#define LAYERS_MAX  4U

#define PYTHON_3_13 0x030d0000UL
#define FUNCTIONS   (sizeof(struct hs_python_functions) / sizeof(uintptr_t))

/* How often a thread that unloads a library lets others run that are storing: they take less than a
 * microsecond. */
#define UNLOAD_WAITS 100000U

/* PyMemAllocatorEx. */
struct allocator {
    void *ctx;
    struct hs_python_functions functions;
};

/* The domains of PyMem_GetAllocator(). */
enum domain {
    DOMAIN_RAW = 0,
    DOMAIN_OBJECT = 2,
};

typedef void get_allocator_fn(int domain, struct allocator *ret_allocator);
typedef const char *get_name_fn(void);

/* PyObjectArenaAllocator, with the function's address as a number. */
struct arena_allocator {
    void *ctx;
    uint64_t alloc_va;
    void (*free)(void *ctx, void *ptr, size_t size_bytes);
};

typedef void get_arena_allocator_fn(struct arena_allocator *ret_allocator);

/* The length of an arena: since Python 3.10, and before (and in builds without its radix tree). The
 * same function also maps the interpreter's frames since 3.11, 16 KiB at a time unless one function
 * has tens of thousands of variables. */
#define ARENA_BYTES       ((size_t)1 << 20)
#define SMALL_ARENA_BYTES ((size_t)256 << 10)
/* The function that maps them does nothing else, so mmap returns near to its start. */
#define ARENA_CODE_BYTES 128U

struct hs_python_functions hs_python_real;

/* The interpreter. */
static struct {
    uint32_t is_busy; /* a thread is using what follows */
    uint32_t slot_count;
    uintptr_t *slots[SLOTS_MAX]; /* the four functions of a structure */
    const void *dynamic;         /* of the object that contains them; NULL: none is known */
    uint64_t bias_va;
    uint64_t map_arena_va; /* the function that maps arenas; 0: none is known */
    uint32_t unload_count; /* threads that are unloading libraries */
} known;

static bool enter(void)
{
    uint32_t is_free = 0;
    /* ORDER python: the structures that the last thread found. */
    return hs_cas_acq_rel(&known.is_busy, &is_free, 1);
}

static void leave(void)
{
    /* ORDER python: as above. */
    hs_store_release(&known.is_busy, 0);
}

void hs_python_slots_follow_fork(void)
{
    known.is_busy = 0;
    known.unload_count = 0;
}

/* --- which functions -------------------------------------------------------------------------- */

static bool is_in_data(const struct hs_object *object, uint64_t va, uint64_t bytes)
{
    uint32_t i = 0;
    while (i < object->data_count &&
           (va < object->data[i].start_va || va > object->data[i].end_va - bytes)) {
        i++;
    }
    return i < object->data_count && va % sizeof(va) == 0;
}

static bool are_functions_of(const struct hs_object *object, const struct allocator *allocator)
{
    uintptr_t words[FUNCTIONS];
    bool are = true;
    memcpy(words, &allocator->functions, sizeof(words));
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        are &= words[i] >= object->start_va && words[i] < object->end_va &&
               !is_in_data(object, words[i] & ~UINT64_C(7), 8);
    }
    return are;
}

/* Passes through what stands in front of an allocator. The context of tracemalloc's functions is
 * the allocator behind them, and the context of the debug hooks contains it. An allocator of the
 * interpreter's own has no context. False: the program's functions stand in front. */
static bool find_innermost(const struct hs_object *object, struct allocator *allocator)
{
    for (unsigned i = 0; i < LAYERS_MAX && are_functions_of(object, allocator); i++) {
        if (!allocator->ctx) {
            return true;
        }
        uint64_t ctx_va = (uint64_t)allocator->ctx;
        struct allocator inner;
        if (!is_in_data(object, ctx_va, sizeof(inner) + 8)) {
            return false;
        }
        memcpy(&inner, allocator->ctx, sizeof(inner));
        if (!are_functions_of(object, &inner)) {
            memcpy(&inner, (const char *)allocator->ctx + 8, sizeof(inner));
        }
        *allocator = inner;
    }
    return false;
}

/* Since Python 3.13 the allocator may be mimalloc, which looks the same from outside: the
 * interpreter has a name for the one that it uses. (That of Python 3.12 must not be asked before it
 * has begun.) */
static bool may_be_pymalloc(const struct link_map *map)
{
    const unsigned long *version = hs_linkmap_symbol(map, "Py_Version");
    get_name_fn *get_name = (get_name_fn *)hs_linkmap_symbol(map, "_PyMem_GetCurrentAllocatorName");
    const char *name = version && *version >= PYTHON_3_13 && get_name ? get_name() : NULL;
    return !name || hs_text_starts_with(name, "pymalloc");
}

/* Finds pymalloc's functions. False: the interpreter does not use pymalloc. Its free-threaded
 * builds, in which the collector of garbage walks the allocator's memory, are left alone. */
static bool find_pymalloc(const struct hs_object *object, struct hs_python_functions *ret_functions)
{
    const struct link_map map = { .l_addr = object->bias_va,
                                  .l_ld = (ElfW(Dyn) *)(uintptr_t)object->dynamic };
    get_allocator_fn *get_allocator =
        (get_allocator_fn *)hs_linkmap_symbol(&map, "PyMem_GetAllocator");
    struct allocator of_objects, raw;
    /* Before Python 3.5 the structure had no calloc. */
    if (!get_allocator || !hs_linkmap_entry(&map, "PyObject_Calloc") ||
        hs_linkmap_entry(&map, "_Py_DecRefShared") || !may_be_pymalloc(&map)) {
        return false;
    }
    get_allocator(DOMAIN_OBJECT, &of_objects);
    get_allocator(DOMAIN_RAW, &raw);
    *ret_functions = of_objects.functions;
    if (!find_innermost(object, &of_objects)) {
        return false;
    }
    *ret_functions = of_objects.functions;
    /* PYTHONMALLOC=malloc */
    return !find_innermost(object, &raw) || raw.functions.malloc != of_objects.functions.malloc;
}

/* --- where ------------------------------------------------------------------------------------ */

/* It reads all of an object's data, also what AddressSanitizer puts between variables. */
__attribute__((no_sanitize_address)) static bool
does_hold(const uintptr_t *slot, const struct hs_python_functions *functions)
{
    uintptr_t words[FUNCTIONS];
    bool does = true;
    memcpy(words, functions, sizeof(words));
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        does &= hs_load_relaxed(&slot[i]) == words[i];
    }
    return does;
}

static void store(uintptr_t *slot, const struct hs_python_functions *functions)
{
    uintptr_t words[FUNCTIONS];
    memcpy(words, functions, sizeof(words));
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        hs_store_relaxed(&slot[i], words[i]);
    }
}

static void look_in(uint64_t start_va, uint64_t end_va, const struct hs_object *object)
{
    uint64_t bytes = sizeof(struct hs_python_functions);
    for (uint64_t va = hs_align_up(start_va, 8); va + bytes <= end_va; va += 8) {
        uintptr_t *slot = (uintptr_t *)va;
        if (va >= object->relro_va && va < object->relro_end_va) {
            va = object->relro_end_va - 8; /* it stays read-only */
        } else if (does_hold(slot, &hs_python_real) && known.slot_count < SLOTS_MAX) {
            known.slots[known.slot_count++] = slot;
        }
    }
}

static uint64_t find_arena_code(const struct hs_object *object)
{
    const struct link_map map = { .l_addr = object->bias_va,
                                  .l_ld = (ElfW(Dyn) *)(uintptr_t)object->dynamic };
    get_arena_allocator_fn *get_allocator =
        (get_arena_allocator_fn *)hs_linkmap_symbol(&map, "PyObject_GetArenaAllocator");
    struct arena_allocator allocator = { 0 };
    if (get_allocator) {
        get_allocator(&allocator);
    }
    return allocator.alloc_va;
}

static int on_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct hs_object object;
    struct hs_python_functions functions;
    (void)bytes;
    (void)ctx;
    if (!hs_object_look(info, &object) || !find_pymalloc(&object, &functions)) {
        return 0;
    }
    hs_python_real = functions;
    known.slot_count = 0;
    for (uint32_t i = 0; i < object.data_count; i++) {
        look_in(object.data[i].start_va, object.data[i].end_va, &object);
    }
    known.bias_va = object.bias_va;
    hs_store_relaxed(&known.map_arena_va, find_arena_code(&object));
    known.dynamic = known.slot_count > 0 ? object.dynamic : NULL;
    return 1;
}

bool hs_python_slots_find(void)
{
    if (&hs_python_hooks == NULL || !enter()) {
        return false;
    }
    if (!known.dynamic) {
        dl_iterate_phdr(on_object, NULL);
    }
    bool is_there = known.dynamic != NULL;
    leave();
    return is_there;
}

bool hs_python_slots_are_known(void)
{
    return hs_load_relaxed(&known.slot_count) > 0;
}

bool hs_python_slots_maps_arena(uint64_t pc, size_t len_bytes)
{
    uint64_t start_va = hs_load_relaxed(&known.map_arena_va);
    return start_va != 0 && pc - start_va < ARENA_CODE_BYTES &&
           (len_bytes == ARENA_BYTES || len_bytes == SMALL_ARENA_BYTES);
}

static struct hs_python_functions functions_of(enum hs_python_redirect how)
{
    struct hs_python_functions functions = how == HS_PYTHON_NONE ? hs_python_real : hs_python_hooks;
    if (how == HS_PYTHON_ALLOCS) {
        functions.free = hs_python_real.free;
    }
    return functions;
}

static void redirect(uintptr_t *slot, enum hs_python_redirect how)
{
    const struct hs_python_functions to = functions_of(how);
    for (unsigned i = HS_PYTHON_NONE; i <= HS_PYTHON_ALL; i++) {
        const struct hs_python_functions from = functions_of((enum hs_python_redirect)i);
        if (i != how && does_hold(slot, &from)) {
            store(slot, &to);
            return;
        }
    }
}

bool hs_python_slots_set(enum hs_python_redirect how)
{
    if (hs_load_relaxed(&known.slot_count) == 0 || !enter()) {
        return false;
    }
    /* ORDER python-unload: as in hs_python_slots_before_unload. */
    hs_fence_seq_cst();
    bool may_go = hs_load_relaxed(&known.unload_count) > 0;
    /* One that another thread is just writing holds neither, and is changed at the next call. */
    for (uint32_t i = 0; i < known.slot_count && !may_go; i++) {
        redirect(known.slots[i], how);
    }
    leave();
    return !may_go;
}

/* --- unloading -------------------------------------------------------------------------------- */

static int on_loaded(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct hs_object object;
    (void)bytes;
    (void)ctx;
    return hs_object_look(info, &object) && object.dynamic == known.dynamic &&
           object.bias_va == known.bias_va;
}

void hs_python_slots_before_unload(void)
{
    hs_add_relaxed(&known.unload_count, 1);
    /* ORDER python-unload: of a thread that stores and this one, one sees what the other does. */
    hs_fence_seq_cst();
    for (unsigned i = 0; i < UNLOAD_WAITS && hs_load_relaxed(&known.is_busy); i++) {
        hs_sys_yield();
    }
}

void hs_python_slots_after_unload(void)
{
    const struct link_map *program = hs_linkmap_first();
    if (hs_load_relaxed(&known.slot_count) > 0 && !(program && program->l_ld == known.dynamic) &&
        !dl_iterate_phdr(on_loaded, NULL)) {
        hs_store_relaxed(&known.slot_count, 0);
        hs_store_relaxed(&known.map_arena_va, 0);
        known.dynamic = NULL;
    }
    if (hs_load_relaxed(&known.unload_count) > 0) { /* 0: a destructor has forked */
        hs_sub_relaxed(&known.unload_count, 1);
    }
}
