/*
 * The rules for safe points: see safe_point.h.
 */
#include "inject/ptrace/safe_point.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/call_site.h"
#include "rt/base.h"
#include "rt/text.h"

/* The kernel does not extend a stack closer than this to the mapping below it. */
#define STACK_GAP_BYTES (2U * 1024 * 1024)

/* --- roles ------------------------------------------------------------------------------------ */

static bool is_libc_part(const char *name)
{
    static const char *const parts[] = { "libc.so.",      "libc-2.",   "libpthread.so.",
                                         "libpthread-2.", "libdl.so.", "libdl-2." };
    for (size_t i = 0; i < HS_COUNT_OF(parts); i++) {
        if (hs_text_starts_with(name, parts[i])) {
            return true;
        }
    }
    return false;
}

static bool defines(const struct hs_remote_memory *memory, const struct hs_remote_object *object,
                    const char *name)
{
    struct hs_remote_symbol symbol;
    return hs_remote_objects_symbol(memory, object, name, &symbol);
}

static enum hs_object_role find_role(struct hs_safe_point *point,
                                     const struct hs_remote_memory *memory, size_t idx,
                                     const char *own_symbol)
{
    const struct hs_remote_object *object = &point->objects->items[idx];
    if (object->start_va <= point->objects->loader_va &&
        point->objects->loader_va < object->end_va) {
        return HS_OBJECT_FORBIDDEN;
    }
    if (is_libc_part(object->name)) {
        return HS_OBJECT_LIBC;
    }
    if (defines(memory, object, own_symbol)) {
        return idx == 0 ? HS_OBJECT_PLAIN : HS_OBJECT_FORBIDDEN;
    }
    if (defines(memory, object, "malloc")) {
        point->has_own_malloc |= idx == 0;
        return idx == 0 ? HS_OBJECT_PLAIN : HS_OBJECT_FORBIDDEN;
    }
    return HS_OBJECT_PLAIN;
}

int hs_safe_point_init(struct hs_safe_point *point, const struct hs_remote_memory *memory,
                       const struct hs_remote_objects *objects, const struct hs_remote_maps *maps,
                       const char *own_symbol)
{
    int r = 0;
    *point = (struct hs_safe_point){ .memory = memory, .objects = objects, .maps = maps };
    point->roles = calloc(objects->count + 1, 1);
    if (!point->roles) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < objects->count && r == 0; i++) {
        point->roles[i] = (uint8_t)find_role(point, memory, i, own_symbol);
        if (point->roles[i] == HS_OBJECT_LIBC || (i == 0 && point->has_own_malloc)) {
            r = hs_known_functions_add(memory, &objects->items[i], &point->functions);
        }
    }
    hs_known_functions_sort(&point->functions);
    return r;
}

void hs_safe_point_deinit(struct hs_safe_point *point)
{
    free(point->roles);
    hs_known_functions_deinit(&point->functions);
    *point = (struct hs_safe_point){ 0 };
}

/* --- the called function ---------------------------------------------------------------------- */

static uint64_t read_slot(const struct hs_remote_memory *memory, uint64_t slot_va)
{
    uint64_t va = 0;
    return hs_remote_memory_read(memory, slot_va, &va, sizeof(va)) < 0 ? 0 : va;
}

uint64_t hs_safe_point_callee(const struct hs_remote_memory *memory, uint64_t return_va)
{
    uint8_t site[HS_CALL_SITE_BYTES], stub[HS_CALL_STUB_BYTES];
    struct hs_callee callee;
    uint64_t slot_va;
    if (hs_remote_memory_read(memory, return_va - sizeof(site), site, sizeof(site)) < 0 ||
        !hs_call_site_read(site, return_va, &callee)) {
        return 0;
    }
    if (callee.is_slot) {
        return read_slot(memory, callee.va);
    }
    bool is_stub = hs_remote_memory_read(memory, callee.va, stub, sizeof(stub)) == 0 &&
                   hs_call_stub_read(stub, callee.va, &slot_va);
    return is_stub ? read_slot(memory, slot_va) : callee.va;
}

/* --- frames ----------------------------------------------------------------------------------- */

struct look {
    const struct hs_safe_point *point;
    const struct hs_remote_stack *stack;
    /* the frames from here on outwards are those that started the program or the thread */
    uint32_t start_idx;
};

static enum hs_object_role role_of(const struct look *look, const struct hs_remote_frame *frame)
{
    return frame->object ? look->point->roles[frame->object - look->point->objects->items]
                         : HS_OBJECT_PLAIN;
}

static bool is_libc(const struct look *look, uint32_t idx)
{
    return role_of(look, hs_remote_stack_frame(look->stack, idx)) == HS_OBJECT_LIBC;
}

/* Threads start in two functions of libc; programs in one of their own and two of libc's. These
 * functions are internal, yet harmless once they have called a function outside libc. */
static uint32_t find_start(const struct look *look)
{
    uint32_t count = look->stack->walk.frame_count, start;
    if (look->stack->walk.end != HS_UNWIND_END || count < 3) {
        return count;
    }
    bool is_program = !is_libc(look, count - 1);
    uint32_t first = is_program ? count - 1 : count;
    for (start = first; start > 0 && first - start < 2 && is_libc(look, start - 1); start--) {
    }
    return start > 0 && start < first && !is_libc(look, start - 1) ? start : count;
}

static enum hs_function_kind kind_at(const struct look *look, uint64_t va)
{
    return hs_known_functions_at(&look->point->functions, va);
}

/* The kind of the function to which a frame in libc belongs. The function itself may be internal.
 * Then its callers within libc tell the kind, and if they have jumped here (a tail call), the
 * function that was called from outside libc does. */
static enum hs_function_kind find_kind(const struct look *look, uint32_t idx)
{
    enum hs_function_kind kind = HS_FUNCTION_UNKNOWN;
    const uint32_t first = idx, count = look->stack->walk.frame_count;
    for (; kind == HS_FUNCTION_UNKNOWN && idx < count && is_libc(look, idx); idx++) {
        kind = kind_at(look, hs_remote_stack_frame(look->stack, idx)->pc);
    }
    if (kind == HS_FUNCTION_UNKNOWN && idx > first && idx < count) {
        uint64_t call_va = hs_remote_stack_frame(look->stack, idx)->pc;
        kind = kind_at(look, hs_safe_point_callee(look->point->memory, call_va + 1));
    }
    return kind;
}

static bool is_within_wait(const struct look *look, uint32_t idx)
{
    enum hs_function_kind kind = find_kind(look, idx);
    return kind == HS_FUNCTION_WAITING || kind == HS_FUNCTION_MEETING;
}

static bool is_safe_frame(const struct look *look, uint32_t idx, enum hs_wait_kind wait)
{
    const struct hs_remote_frame *frame = hs_remote_stack_frame(look->stack, idx);
    enum hs_object_role role = role_of(look, frame);
    enum hs_function_kind kind = kind_at(look, frame->pc);
    bool is_sure = wait == HS_WAIT_SURE || wait == HS_WAIT_TIMED;
    if (role == HS_OBJECT_FORBIDDEN || kind == HS_FUNCTION_FORBIDDEN) {
        return false;
    }
    if (role == HS_OBJECT_LIBC && kind == HS_FUNCTION_UNKNOWN) {
        return is_sure || idx >= look->start_idx || is_within_wait(look, idx);
    }
    return true;
}

static void say_where(const struct hs_remote_frame *frame, char ret_why[HS_SAFE_POINT_WHY_BYTES])
{
    const char *name = !frame->object            ? "code without a file"
                       : !frame->object->name[0] ? "the program"
                                                 : frame->object->name;
    snprintf(ret_why, HS_SAFE_POINT_WHY_BYTES, "in %s at 0x%llx", name,
             (unsigned long long)(frame->pc - (frame->object ? frame->object->bias_va : 0)));
}

/* Was the stack followed to its end, and never by a guess? */
static bool is_whole(const struct look *look)
{
    const struct hs_walk *walk = &look->stack->walk;
    if (walk->end != HS_UNWIND_END || walk->cut_idx != 0 || walk->frame_count == 0 ||
        look->start_idx >= walk->frame_count) {
        return false;
    }
    for (uint32_t i = 0; i < walk->frame_count; i++) {
        if (hs_remote_stack_frame(look->stack, i)->function_va == 0) {
            return false;
        }
    }
    return true;
}

bool hs_safe_point_judge(const struct hs_safe_point *point, const struct hs_remote_stack *stack,
                         enum hs_wait_kind wait, char ret_why[HS_SAFE_POINT_WHY_BYTES])
{
    struct look look = { .point = point, .stack = stack };
    bool is_sure = wait == HS_WAIT_SURE || wait == HS_WAIT_TIMED;
    look.start_idx = find_start(&look);
    for (uint32_t i = 0; i < stack->walk.frame_count; i++) {
        if (!is_safe_frame(&look, i, wait)) {
            say_where(hs_remote_stack_frame(stack, i), ret_why);
            return false;
        }
    }
    if (is_sure) {
        return true;
    }
    if (point->has_own_malloc &&
        !(wait == HS_WAIT_FUTEX && find_kind(&look, 0) == HS_FUNCTION_MEETING)) {
        snprintf(ret_why, HS_SAFE_POINT_WHY_BYTES,
                 "running, in a program that has an allocator of its own");
        return false;
    }
    if (!is_whole(&look)) {
        snprintf(ret_why, HS_SAFE_POINT_WHY_BYTES, "its stack can't be followed to its end");
        return false;
    }
    return true;
}

bool hs_safe_point_has_room(const struct hs_remote_maps *maps, uint64_t sp, uint64_t thread_va,
                            uint64_t need_bytes)
{
    const struct hs_remote_map *map = hs_remote_maps_find(maps, sp);
    if (!map || !map->is_readable || !map->is_writable) {
        return false;
    }
    bool is_own = map->is_growing || (thread_va > sp && thread_va < map->end_va);
    if (!is_own) {
        return false;
    }
    uint64_t room_bytes = sp - map->start_va;
    if (room_bytes < need_bytes && map->is_growing) {
        uint64_t below_va = map > maps->items ? map[-1].end_va : 0;
        room_bytes = map->start_va - below_va - STACK_GAP_BYTES;
        return map->start_va - below_va > STACK_GAP_BYTES && room_bytes >= need_bytes;
    }
    return room_bytes >= need_bytes;
}
