/*
 * Modules as the loader knows them, kept in the region. See modules.h.
 */
#include "client/tables/modules.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include "client/host/linkmap.h"
#include "client/host/sandbox.h"
#include "client/tables/jvm_module.h"
#include "client/tables/module_headers.h"
#include "client/tables/region.h"
#include "client/tables/unwind_tables.h"
#include "rt/check.h"
#include "rt/sys.h"
#include "rt/text.h"

#define KNOWN_MAX      4096U
#define PATH_MAX_BYTES 4096U
/* How long a thread waits while another one adds a module: on a heavily loaded machine, that thread
 * may have no processor for tens of milliseconds. */
#define ADD_WAIT_NS UINT64_C(200000000)

/* What the loader said of a module when it was entered. `name` is the hash of the loader's name for
 * it, which tells modules without a build id apart. */
struct known {
    uint64_t start_va;
    uint64_t end_va;
    uint64_t bias_va;
    uint64_t eh_hdr_va;
    uint32_t name;
    uint32_t module_id;
    bool is_gone;
    uint64_t checked_at; /* the generation at which its build id was last verified */
    struct hs_unwind_module unwind;
    struct hs_unwind_table table; /* never changed once `unwind` points to it */
};

typedef int (*find_object_fn)(void *, struct dl_find_object *);

static find_object_fn find_object;
static struct known known[KNOWN_MAX]; /* in .bss: only touched pages count */
static uint32_t known_count;
static uint64_t generation = 1;       /* counts how often something was unloaded */
static bool is_adding;                /* a thread is adding a module */
static char path_buf[PATH_MAX_BYTES]; /* used under is_adding */

static uint32_t add_fixed(const char *path, enum hs_module_kind kind)
{
    uint64_t id = hs_region_take(HS_SECTION_MODULES, 1);
    struct hs_module_v1 *module = id == UINT64_MAX ? NULL : hs_region_at(HS_SECTION_MODULES, id);
    if (!module) {
        return UINT32_MAX;
    }
    uint64_t len = 0;
    while (path[len]) {
        len++;
    }
    module->path_off = hs_region_put_bytes(path, len);
    module->kind = (uint8_t)kind;
    module->load_ns = hs_region.header->start_mono_ns;
    return (uint32_t)id;
}

/* The executable, from its first segment to its last. The kernel maps each segment by itself. If
 * that leaves gaps (large pages), _dl_find_object returns one segment at a time, and the headers
 * are in the first. */
static struct {
    const struct link_map *map; /* NULL: it was not mapped by the kernel, and has no gaps */
    uint64_t start_va, end_va;
} program;

static void find_program(void)
{
    const struct link_map *map = hs_linkmap_first();
    const ElfW(Phdr) *phdrs = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    uint64_t count = phdrs ? getauxval(AT_PHNUM) : 0, lo = UINT64_MAX, hi = 0;
    if (!map) {
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        const ElfW(Phdr) *ph = &phdrs[i];
        if (ph->p_type == PT_LOAD) {
            lo = ph->p_vaddr < lo ? ph->p_vaddr : lo;
            hi = ph->p_vaddr + ph->p_memsz > hi ? ph->p_vaddr + ph->p_memsz : hi;
        } else if (ph->p_type == PT_PHDR && map->l_addr + ph->p_vaddr == (uint64_t)phdrs) {
            program.map = map;
        }
    }
    program.start_va = program.map ? map->l_addr + (lo & ~UINT64_C(4095)) : 0;
    program.end_va = program.map ? map->l_addr + hi : 0;
}

bool hs_modules_init(void)
{
    known_count = 0;
    is_adding = false;
    find_program();
    find_object = (find_object_fn)hs_linkmap_search(NULL, NULL, "_dl_find_object", NULL);
    return add_fixed("", HS_MODULE_MARKER) == HS_MODULE_ID_MARKER &&
           add_fixed("[anon]", HS_MODULE_ANON) == HS_MODULE_ID_ANON;
}

/* --- the table -------------------------------------------------------------------------------- */

/* Stores the path of a loaded object, absolute if possible. Uses path_buf. */
static uint32_t put_path(const struct link_map *map, bool is_executable)
{
    const char *name = map && map->l_name ? map->l_name : "";
    long len = 0;
    bool may_ask = !hs_sandbox_is_tight();
    if (is_executable && may_ask) {
        len = hs_sys_readlink("/proc/self/exe", path_buf, PATH_MAX_BYTES);
        if (len > 0) {
            return hs_region_put_bytes(path_buf, (uint64_t)len);
        }
        len = 0;
    } else if (is_executable && hs_region.header->exe_off != 0) {
        /* Read at the start, when that was possible. */
        return hs_region.header->exe_off;
    }
    if (name[0] != '/' && name[0] != '\0' && may_ask) {
        len = hs_sys_getcwd(path_buf, PATH_MAX_BYTES); /* counts its NUL */
        if (len > 0) {
            path_buf[len - 1] = '/';
        } else {
            len = 0;
        }
    }
    for (uint64_t i = 0; name[i] && len < (long)PATH_MAX_BYTES - 1; i++) {
        path_buf[len++] = name[i];
    }
    return hs_region_put_bytes(path_buf, (uint64_t)len);
}

/* Marks as gone what was known at these addresses. */
static void retire_overlaps(const struct dl_find_object *found, uint64_t now_ns)
{
    for (uint32_t i = 0; i < known_count; i++) {
        struct known *old = &known[i];
        if (!old->is_gone && old->start_va < (uint64_t)found->dlfo_map_end &&
            old->end_va > (uint64_t)found->dlfo_map_start) {
            struct hs_module_v1 *module = hs_region_at(HS_SECTION_MODULES, old->module_id);
            if (module) {
                module->unload_ns = now_ns;
            }
            hs_store_relaxed(&old->checked_at, 0);
            hs_store_relaxed(&old->is_gone, true);
        }
    }
}

static uint32_t hash_name(const struct dl_find_object *found)
{
    const struct link_map *map = found->dlfo_link_map;
    uint32_t hash = 0;
    for (const char *c = map && map->l_name ? map->l_name : ""; *c; c++) {
        hash = hash * 31 + (unsigned char)*c;
    }
    return hash;
}

/* Gives a module its table, if the collector has one for it. Under is_adding. */
static bool take_table(struct known *entry, struct hs_module_v1 *module)
{
    if (entry->unwind.table || !hs_unwind_tables_find(module, &entry->table)) {
        return false;
    }
    /* ORDER unwind-table: the table before the pointer to it. */
    hs_store_release(&entry->unwind.table, &entry->table);
    return true;
}

/* Enters a module. Under is_adding. */
static struct known *add(const struct dl_find_object *found)
{
    uint64_t id = known_count < KNOWN_MAX ? hs_region_take(HS_SECTION_MODULES, 1) : UINT64_MAX;
    struct hs_module_v1 *module = id == UINT64_MAX ? NULL : hs_region_at(HS_SECTION_MODULES, id);
    if (!module) {
        return NULL;
    }
    const struct link_map *map = found->dlfo_link_map;
    HS_ASSERT(hs_load_relaxed(&is_adding));
    HS_ASSERT(module->start_va == 0 && module->end_va == 0); /* an id is used once */
    uint64_t now_ns = hs_sandbox_now_ns();
    retire_overlaps(found, now_ns);
    module->start_va = (uint64_t)found->dlfo_map_start;
    module->end_va = (uint64_t)found->dlfo_map_end;
    module->bias_va = map ? map->l_addr : 0;
    module->load_ns = now_ns;
    bool is_executable = map == hs_linkmap_first();
    bool is_vdso = map && map->l_name && hs_text_starts_with(map->l_name, "linux-vdso");
    module->kind = is_vdso ? HS_MODULE_VDSO : HS_MODULE_ELF;
    struct known *entry = &known[known_count];
    *entry = (struct known){
        .start_va = module->start_va,
        .end_va = module->end_va,
        .bias_va = module->bias_va,
        .eh_hdr_va = (uint64_t)found->dlfo_eh_frame,
        .name = hash_name(found),
        .module_id = (uint32_t)id,
        .unwind = { .start_va = module->start_va,
                    .end_va = module->end_va,
                    .bias = module->bias_va },
    };
    hs_module_headers_describe((uint64_t)found->dlfo_eh_frame, module, &entry->unwind);
    take_table(entry, module);
    hs_jvm_module_note(map);
    module->path_off = is_vdso ? hs_region_put_bytes("[vdso]", 6) : put_path(map, is_executable);
    /* ORDER module: the entry before the count that includes it. */
    hs_store_release(&known_count, known_count + 1);
    return entry;
}

static bool has_same_build_id(const struct known *entry, const struct dl_find_object *found)
{
    const struct hs_module_v1 *module = hs_region_at(HS_SECTION_MODULES, entry->module_id);
    if (!module) {
        return false;
    }
    struct hs_module_v1 now = { .start_va = entry->start_va,
                                .end_va = entry->end_va,
                                .bias_va = entry->bias_va };
    struct hs_unwind_module unused = { 0 };
    hs_module_headers_describe((uint64_t)found->dlfo_eh_frame, &now, &unused);
    return now.build_id_bytes == module->build_id_bytes &&
           hs_text_has_same_bytes(now.build_id, module->build_id, now.build_id_bytes);
}

/* Is this still the object that was entered? It must have the same place and headers. Then the
 * build id decides, unless it was already verified since the last unloading. */
static bool is_same(struct known *entry, const struct dl_find_object *found)
{
    if (entry->start_va != (uint64_t)found->dlfo_map_start ||
        entry->end_va != (uint64_t)found->dlfo_map_end ||
        entry->eh_hdr_va != (uint64_t)found->dlfo_eh_frame || entry->name != hash_name(found)) {
        return false;
    }
    /* ORDER module-check: what was unloaded before is gone when we look. */
    uint64_t now = hs_load_acquire(&generation);
    if (hs_load_relaxed(&entry->checked_at) != now) {
        if (!has_same_build_id(entry, found)) {
            return false;
        }
        hs_store_relaxed(&entry->checked_at, now);
    }
    return true;
}

static struct known *find_known(const struct dl_find_object *found, bool is_gone)
{
    /* ORDER module: entries below the count are whole. */
    uint32_t count = hs_load_acquire(&known_count);
    for (uint32_t i = count; i > 0; i--) {
        struct known *entry = &known[i - 1];
        if (entry->start_va == (uint64_t)found->dlfo_map_start &&
            hs_load_relaxed(&entry->is_gone) == is_gone && is_same(entry, found)) {
            return entry;
        }
    }
    return NULL;
}

/* A plugin may be opened and closed a million times at one place: it gets its old entry again.
 * Under is_adding. */
static struct known *revive(const struct dl_find_object *found)
{
    struct known *entry = find_known(found, true);
    struct hs_module_v1 *module = entry ? hs_region_at(HS_SECTION_MODULES, entry->module_id) : NULL;
    if (!module) {
        return NULL;
    }
    HS_ASSERT(module->start_va == entry->start_va && module->end_va == entry->end_va);
    retire_overlaps(found, hs_sandbox_now_ns());
    module->unload_ns = 0;
    hs_store_relaxed(&entry->is_gone, false);
    return entry;
}

/* Under is_adding. */
static bool take_tables(void)
{
    bool has_taken = false;
    hs_unwind_tables_look();
    for (uint32_t i = 0; i < known_count; i++) {
        struct hs_module_v1 *module = hs_region_at(HS_SECTION_MODULES, known[i].module_id);
        has_taken |= module && take_table(&known[i], module);
    }
    return has_taken;
}

bool hs_modules_take_tables(void)
{
    bool is_taken = false, has_taken = false;
    uint64_t old_mask = hs_sys_block_signals();
    /* ORDER module-add: what the last one added. */
    if (hs_cas_acq_rel(&is_adding, &is_taken, true)) {
        has_taken = take_tables();
        /* ORDER module-add: what we added before the next one adds. */
        hs_store_release(&is_adding, false);
    }
    hs_sys_restore_signals(old_mask);
    return has_taken;
}

/* Enters a module that is new, or back. False: another thread is adding one. */
static bool try_enter(const struct dl_find_object *found, struct known **ret_entry)
{
    bool is_taken = false;
    uint64_t old_mask = hs_sys_block_signals();
    /* ORDER module-add: what the last one added. */
    bool is_ours = hs_cas_acq_rel(&is_adding, &is_taken, true);
    if (is_ours) {
        struct known *entry = find_known(found, false);
        entry = entry ? entry : revive(found);
        *ret_entry = entry ? entry : add(found);
        /* ORDER module-add: what we added before the next one adds. */
        hs_store_release(&is_adding, false);
    }
    hs_sys_restore_signals(old_mask);
    return is_ours;
}

/* Threads that begin together meet here, each with its first sample. The thread that adds needs
 * some 20 us of processor time and cannot be interrupted by a signal handler, so a wait is worth
 * it, but only a bounded one (a debugger may have stopped that thread). */
static HS_COLD struct known *enter(const struct dl_find_object *found)
{
    struct known *entry = NULL;
    uint64_t begin_ns = hs_sandbox_now_ns();
    while (!try_enter(found, &entry) && hs_sandbox_now_ns() - begin_ns < ADD_WAIT_NS) {
        if (!hs_sandbox_is_tight()) {
            hs_sys_yield();
        }
    }
    return entry;
}

bool hs_modules_find(uint64_t pc, const struct hs_unwind_module **ret_module, uint32_t *ret_id)
{
    struct dl_find_object found;
    if (!find_object || find_object((void *)pc, &found) != 0) {
        *ret_module = NULL;
        *ret_id = HS_MODULE_ID_ANON;
        return true;
    }
    if (program.map && found.dlfo_link_map == program.map) {
        found.dlfo_map_start = (void *)program.start_va;
        found.dlfo_map_end = (void *)program.end_va;
    }
    struct known *entry = find_known(&found, false);
    if (hs_unlikely(!entry)) {
        entry = enter(&found);
        if (!entry) {
            return false;
        }
    }
    *ret_module = &entry->unwind;
    *ret_id = entry->module_id;
    return true;
}

void hs_modules_forget_adder(void)
{
    hs_store_relaxed(&is_adding, false);
}

void hs_modules_recheck(void)
{
    /* ORDER module-check: after the unloading. */
    hs_add_acq_rel(&generation, 1);
}

uint32_t hs_modules_id_at(const void *pc)
{
    const struct hs_unwind_module *unused;
    uint32_t id = 0;
    return hs_modules_find((uint64_t)pc, &unused, &id) && id != HS_MODULE_ID_ANON ? id + 1 : 0;
}

#if HS_HAS_CHECKS

static bool is_known_valid(const struct known *entry)
{
    const struct hs_module_v1 *module = hs_region_at(HS_SECTION_MODULES, entry->module_id);
    return module && entry->module_id < hs_region.header->sections[HS_SECTION_MODULES].count &&
           entry->start_va < entry->end_va && module->start_va == entry->start_va &&
           module->end_va == entry->end_va && module->bias_va == entry->bias_va &&
           entry->unwind.start_va == entry->start_va && entry->unwind.end_va == entry->end_va &&
           module->build_id_bytes <= HS_BUILD_ID_BYTES &&
           entry->is_gone == (module->unload_ns != 0);
}

bool hs_modules_is_valid(void)
{
    bool is_valid = known_count <= KNOWN_MAX && !is_adding;
    for (uint32_t i = 0; is_valid && i < known_count; i++) {
        is_valid = is_known_valid(&known[i]);
        for (uint32_t k = 0; is_valid && k < i; k++) {
            is_valid = known[i].is_gone || known[k].is_gone ||
                       known[i].start_va >= known[k].end_va || known[k].start_va >= known[i].end_va;
        }
    }
    return is_valid;
}

#endif
