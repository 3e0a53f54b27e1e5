/*
 * Walks the loader's list: see library_watch.h.
 */
#include "inject/remote/library_watch.h"

#include <link.h>

#include "inject/check/inject_error.h"
#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"

#define LIBRARIES_MAX 4096U
/* The budget of reads for finding the list. */
#define READS_MAX 20000U

static bool find_list(struct hs_library_watch *watch, pid_t pid, struct hs_remote_memory *memory)
{
    struct hs_remote_objects objects = { .count = 0 };
    uint32_t reads_left = READS_MAX;
    memory->reads_left = &reads_left;
    bool is_found = hs_remote_objects_load(pid, memory, &objects) == HS_INJECT_DONE;
    memory->reads_left = NULL;
    watch->debug_va = objects.debug_va;
    hs_remote_objects_deinit(&objects);
    return is_found && watch->debug_va != 0;
}

/* A hash of the loader's list. 0: the list is being changed, or makes no sense. */
static uint64_t hash_list(const struct hs_library_watch *watch,
                          const struct hs_remote_memory *memory)
{
    struct r_debug debug;
    struct link_map map;
    uint64_t hash = 1;
    if (hs_remote_memory_read(memory, watch->debug_va, &debug, sizeof(debug)) < 0 ||
        debug.r_state != RT_CONSISTENT) {
        return 0;
    }
    uint64_t va = (uint64_t)(uintptr_t)debug.r_map;
    for (unsigned i = 0; va != 0; i++) {
        if (i >= LIBRARIES_MAX || hs_remote_memory_read(memory, va, &map, sizeof(map)) < 0) {
            return 0;
        }
        hash = (hash ^ va ^ (uint64_t)map.l_addr << 1) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        va = (uint64_t)(uintptr_t)map.l_next;
    }
    return hash;
}

bool hs_library_watch_look(struct hs_library_watch *watch, pid_t pid)
{
    struct hs_remote_memory memory;
    if (watch->is_hopeless || hs_remote_memory_open(pid, &memory) < 0) {
        return false;
    }
    if (watch->debug_va == 0) {
        watch->is_hopeless = !find_list(watch, pid, &memory);
    }
    uint64_t hash = watch->is_hopeless ? 0 : hash_list(watch, &memory);
    hs_remote_memory_close(&memory);
    bool has_changed = hash != 0 && watch->hash != 0 && hash != watch->hash;
    watch->hash = hash != 0 ? hash : watch->hash;
    return has_changed;
}
