/*
 * Finding CPython interpreters. See python_interpreters.h.
 */
#include "client/patch/python_interpreters.h"

#include <link.h>
#include <sys/auxv.h>

#include "client/host/linkmap.h"
#include "rt/check.h"
#include "rt/sys.h"

/* How often a thread that unloads a library lets others run that read frames: they take some
 * microseconds. */
#define UNLOAD_WAITS 20000U

struct hs_python_interpreters hs_python_interpreters;

static uint32_t is_busy;      /* a thread is looking for interpreters, or unloading a library */
static uint32_t user_count;   /* samples that are reading frames */
static uint32_t unload_count; /* threads that are unloading libraries */

bool hs_python_interpreters_enter(void)
{
    hs_add_relaxed(&user_count, 1);
    /* ORDER python-frames: of a sample and a thread that unloads, one sees what the other does. */
    hs_fence_seq_cst();
    /* ORDER python-found: an interpreter's functions and places. */
    if (hs_load_acquire(&hs_python_interpreters.count) > 0) {
        return true;
    }
    hs_python_interpreters_leave();
    return false;
}

void hs_python_interpreters_leave(void)
{
    hs_sub_relaxed(&user_count, 1);
}

/* --- which version ---------------------------------------------------------------------------- */

/* The minor version of Python 3 from what it exports; 0: unknown. */
static uint32_t minor_of(const struct link_map *map)
{
    static const struct {
        const char *name; /* that this version was the first to export */
        uint32_t minor;
    } firsts[] = {
        { "Py_NewRef", 10 },
        { "PyThreadState_GetFrame", 9 },
        { "PyCode_NewWithPosOnlyArgs", 8 },
    };
    const unsigned long *version = hs_linkmap_symbol(map, "Py_Version");
    if (version) {
        return *version >> 24 == 3 ? (uint32_t)(*version >> 16 & 0xff) : 0;
    }
    for (unsigned i = 0; i < HS_COUNT_OF(firsts); i++) {
        if (hs_linkmap_entry(map, firsts[i].name)) {
            return firsts[i].minor;
        }
    }
    return 0;
}

typedef void *state_fn(void);

/* Fills *ret from what the object exports. False: it is no interpreter whose frames can be read. */
static bool describe(const struct link_map *map, struct hs_python_interpreter *ret)
{
    const ElfW(Sym) *eval = hs_linkmap_entry(map, "_PyEval_EvalFrameDefault");
    if (!eval || !hs_linkmap_entry(map, "PyGILState_GetThisThreadState")) {
        return false;
    }
    uint32_t minor = minor_of(map);
    const uint8_t *runtime = hs_linkmap_symbol(map, "_PyRuntime");
    void *running = hs_linkmap_symbol(map, "PyThreadState_GetUnchecked");
    running = running ? running : hs_linkmap_symbol(map, "_PyThreadState_UncheckedGet");
    *ret = (struct hs_python_interpreter){
        .state_of_thread = (state_fn *)hs_linkmap_symbol(map, "PyGILState_GetThisThreadState"),
        .state_running = (state_fn *)running,
        .eval_va = map->l_addr + eval->st_value,
        .eval_bytes = eval->st_size,
        .dynamic = map->l_ld,
        .bias_va = map->l_addr,
    };
    ret->types.code_type_va = (uint64_t)hs_linkmap_symbol(map, "PyCode_Type");
    ret->types.unicode_type_va = (uint64_t)hs_linkmap_symbol(map, "PyUnicode_Type");
    if (running && ret->types.code_type_va && ret->types.unicode_type_va &&
        hs_python_layout_make(minor, runtime, &ret->types.layout)) {
        return true;
    }
    hs_store_relaxed(&hs_python_interpreters.unknown_version, 3U << 24 | minor << 16);
    return false;
}

static bool is_known(const struct link_map *map)
{
    for (uint32_t i = 0; i < hs_python_interpreters.known; i++) {
        const struct hs_python_interpreter *one = &hs_python_interpreters.list[i];
        if (one->dynamic == map->l_ld && one->bias_va == map->l_addr) {
            return true;
        }
    }
    return false;
}

/* --- finding ---------------------------------------------------------------------------------- */

/* The object's entry in the loader's list, as far as the symbols need it. */
static struct link_map map_of(const struct dl_phdr_info *info)
{
    struct link_map map = { .l_addr = info->dlpi_addr };
    bool is_readable = info->dlpi_addr == 0 || (info->dlpi_addr != getauxval(AT_BASE) &&
                                                info->dlpi_addr != getauxval(AT_SYSINFO_EHDR));
    for (unsigned i = 0; i < info->dlpi_phnum && is_readable; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            map.l_ld = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    return map;
}

static int on_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct hs_python_interpreters *all = ctx;
    struct link_map map = map_of(info);
    (void)bytes;
    if (map.l_ld && all->known < HS_PYTHON_INTERPRETERS_MAX && !is_known(&map) &&
        describe(&map, &all->list[all->known])) {
        all->known++;
    }
    return 0;
}

static bool start(void)
{
    uint32_t is_free = 0;
    /* ORDER python-found: what the last thread found. */
    return hs_cas_acq_rel(&is_busy, &is_free, 1);
}

static void end(void)
{
    /* ORDER python-found: as above. */
    hs_store_release(&is_busy, 0);
}

/* Lets samples use what is known. */
static void publish(void)
{
    if (hs_load_relaxed(&unload_count) == 0) {
        /* ORDER python-found: as in hs_python_interpreters_enter. */
        hs_store_release(&hs_python_interpreters.count, hs_python_interpreters.known);
    }
}

void hs_python_interpreters_find(void)
{
    if (start()) {
        dl_iterate_phdr(on_object, &hs_python_interpreters);
        publish();
        end();
    }
}

void hs_python_interpreters_follow_fork(void)
{
    is_busy = 0;
    user_count = 0;
    unload_count = 0;
    hs_python_interpreters.count = hs_python_interpreters.known;
}

/* --- unloading -------------------------------------------------------------------------------- */

void hs_python_interpreters_before_unload(void)
{
    hs_add_relaxed(&unload_count, 1);
    if (hs_load_relaxed(&hs_python_interpreters.known) == 0) {
        return;
    }
    hs_store_relaxed(&hs_python_interpreters.count, 0);
    /* ORDER python-frames: as in hs_python_interpreters_enter. */
    hs_fence_seq_cst();
    for (unsigned i = 0; i < UNLOAD_WAITS && hs_load_relaxed(&user_count) > 0; i++) {
        hs_sys_yield();
    }
}

/* Is the interpreter among the loaded objects? */
static int on_loaded(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    const struct hs_python_interpreter *one = ctx;
    struct link_map map = map_of(info);
    (void)bytes;
    return map.l_ld == one->dynamic && map.l_addr == one->bias_va;
}

void hs_python_interpreters_after_unload(void)
{
    struct hs_python_interpreters *all = &hs_python_interpreters;
    if (hs_load_relaxed(&unload_count) > 0) { /* 0: a destructor has forked */
        hs_sub_relaxed(&unload_count, 1);
    }
    if (hs_load_relaxed(&all->known) == 0 || !start()) {
        return;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all->known; i++) {
        if (dl_iterate_phdr(on_loaded, &all->list[i])) {
            all->list[kept++] = all->list[i];
        }
    }
    hs_store_relaxed(&all->known, kept);
    publish();
    end();
}
