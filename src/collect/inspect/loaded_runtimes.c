/*
 * Recognizes files by their names: see loaded_runtimes.h.
 */
#include "collect/inspect/loaded_runtimes.h"

#include <string.h>

#include "fmt/region_layout.h"
#include "rt/base.h"
#include "util/proc_maps.h"

enum kind {
    KIND_GLIBC,
    KIND_MUSL,
    KIND_LOADER, /* glibc's loader, which is mapped even before libc is */
    KIND_ALLOCATOR,
    KIND_SANITIZER,
    KIND_PROFILER,
    KIND_VALGRIND,
    KIND_CLIENT,
};

#define LINKED_CLIENT "libheapscope_malloc."

struct known {
    const char *start; /* start of the file's name */
    enum kind kind;
    enum hs_allocator allocator;
    const char *name;
};

static const struct known known[] = {
    { "libc.so.6", KIND_GLIBC, 0, NULL },
    { "libc-2.", KIND_GLIBC, 0, NULL },
    { "ld-linux-", KIND_LOADER, 0, NULL },
    { "ld-2.", KIND_LOADER, 0, NULL },
    { "ld-musl-", KIND_MUSL, 0, NULL },
    { "libc.musl-", KIND_MUSL, 0, NULL },
    { "libjemalloc.", KIND_ALLOCATOR, HS_ALLOCATOR_JEMALLOC, NULL },
    { "libtcmalloc.", KIND_ALLOCATOR, HS_ALLOCATOR_TCMALLOC, NULL },
    { "libtcmalloc_", KIND_ALLOCATOR, HS_ALLOCATOR_TCMALLOC, NULL },
    { "libmimalloc", KIND_ALLOCATOR, HS_ALLOCATOR_MIMALLOC, NULL },
    { "libasan.", KIND_SANITIZER, 0, "AddressSanitizer" },
    { "libhwasan.", KIND_SANITIZER, 0, "HWAddressSanitizer" },
    { "libmsan.", KIND_SANITIZER, 0, "MemorySanitizer" },
    { "libtsan.", KIND_SANITIZER, 0, "ThreadSanitizer" },
    { "libclang_rt.asan", KIND_SANITIZER, 0, "AddressSanitizer" },
    { "libclang_rt.hwasan", KIND_SANITIZER, 0, "HWAddressSanitizer" },
    { "libclang_rt.msan", KIND_SANITIZER, 0, "MemorySanitizer" },
    { "libclang_rt.tsan", KIND_SANITIZER, 0, "ThreadSanitizer" },
    { "libheaptrack_", KIND_PROFILER, 0, "heaptrack" },
    { "libbytehound", KIND_PROFILER, 0, "Bytehound" },
    { "_memray.", KIND_PROFILER, 0, "Memray" },
    { "libheapprofd", KIND_PROFILER, 0, "heapprofd" },
    { "vgpreload_", KIND_VALGRIND, 0, NULL },
    { "libheapscope_preload.", KIND_CLIENT, 0, NULL },
    { LINKED_CLIENT, KIND_CLIENT, 0, NULL },
    { "memfd:heapscope-client", KIND_CLIENT, 0, NULL },
};

#define REGION_NAME "memfd:heapscope"

static const char *const allocator_names[HS_ALLOCATOR_N] = {
    [HS_ALLOCATOR_LIBC] = "the C library",     [HS_ALLOCATOR_JEMALLOC] = "jemalloc",
    [HS_ALLOCATOR_TCMALLOC] = "tcmalloc",      [HS_ALLOCATOR_MIMALLOC] = "mimalloc",
    [HS_ALLOCATOR_OWN] = "the program itself",
};

const char *hs_allocator_name(enum hs_allocator allocator)
{
    return allocator_names[allocator];
}

static bool is_text(const char *name, size_t bytes, const char *text)
{
    return bytes == strlen(text) && memcmp(name, text, bytes) == 0;
}

static const struct known *find_known(const char *name, size_t bytes)
{
    for (size_t i = 0; i < HS_COUNT_OF(known); i++) {
        size_t n = strlen(known[i].start);
        if (bytes >= n && memcmp(name, known[i].start, n) == 0) {
            return &known[i];
        }
    }
    return NULL;
}

/* Debian's musl loader is a link to the library itself, whose directory tells more than its
 * name. */
static bool is_musl(const char *path, size_t path_bytes, const char *name, size_t name_bytes)
{
    return is_text(name, name_bytes, "libc.so") && memmem(path, path_bytes, "musl", 4) != NULL;
}

static void add_libc(const struct hs_proc_map *map, struct hs_loaded_runtimes *runtimes)
{
    runtimes->libc = HS_LIBC_GLIBC;
    runtimes->is_libc_deleted = map->is_deleted;
    hs_proc_map_path(map, runtimes->libc_path, sizeof(runtimes->libc_path));
}

/* A library has one executable mapping, mostly; the linked one is known by its name. */
static void add_client(const struct known *found, struct hs_loaded_runtimes *runtimes)
{
    bool is_linked = strcmp(found->start, LINKED_CLIENT) == 0;
    runtimes->has_two_clients |= runtimes->has_client && is_linked != runtimes->is_client_linked;
    runtimes->has_client = true;
    runtimes->is_client_linked = is_linked;
}

static void add(const struct known *found, const struct hs_proc_map *map,
                struct hs_loaded_runtimes *runtimes)
{
    switch (found->kind) {
    case KIND_GLIBC:
        add_libc(map, runtimes);
        break;
    case KIND_LOADER:
        runtimes->libc = HS_LIBC_GLIBC;
        break;
    case KIND_MUSL:
        runtimes->libc = HS_LIBC_MUSL;
        break;
    case KIND_ALLOCATOR:
        runtimes->allocator = found->allocator;
        break;
    case KIND_SANITIZER:
        runtimes->sanitizer = found->name;
        break;
    case KIND_PROFILER:
        runtimes->profiler = found->name;
        break;
    case KIND_VALGRIND:
        runtimes->has_valgrind = true;
        break;
    case KIND_CLIENT:
        if (!map->is_shared) { /* the page that held forks is shared: inject/remote_hold.h */
            add_client(found, runtimes);
        }
        break;
    }
}

void hs_loaded_runtimes_find(const char *maps, size_t maps_bytes,
                             struct hs_loaded_runtimes *ret_runtimes)
{
    struct hs_loaded_runtimes runtimes = { .libc = HS_LIBC_NONE };
    struct hs_proc_map map;
    const char *at = maps;
    while (hs_proc_maps_next(&at, maps + maps_bytes, &map)) {
        const char *slash = memrchr(map.path, '/', map.path_bytes);
        if (!slash || map.inode == 0) {
            continue;
        }
        const char *name = slash + 1;
        size_t bytes = (size_t)(map.path + map.path_bytes - name);
        const struct known *found = map.is_executable ? find_known(name, bytes) : NULL;
        if (found) {
            add(found, &map, &runtimes);
        } else if (map.is_executable && is_musl(map.path, map.path_bytes, name, bytes)) {
            runtimes.libc = HS_LIBC_MUSL;
        }
        if (map.is_shared && map.file_off == HS_REGION_CONTROL_OFF &&
            is_text(name, bytes, REGION_NAME)) {
            runtimes.control_va = map.start_va;
        }
    }
    *ret_runtimes = runtimes;
}
