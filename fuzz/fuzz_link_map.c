/*
 * Fuzz target: another process's memory, read as its loader's list, symbol tables, call frame
 * information and stack.
 *
 * The input is the memory: the byte at offset n is at address n. Its first eight bytes say where a
 * walk begins.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/ptrace/safe_point.h"
#include "inject/remote/known_functions.h"
#include "inject/remote/remote_objects.h"
#include "inject/remote/remote_stack.h"
#include "util/write_all.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct hs_remote_memory *memory, const struct hs_remote_objects *objects,
                 const uint8_t head[8])
{
    struct hs_remote_maps maps = { 0 };
    struct hs_remote_stack stack;
    struct hs_safe_point point;
    uint16_t start[4];
    char why[HS_SAFE_POINT_WHY_BYTES];
    memcpy(start, head, sizeof(start));
    struct hs_regs regs = { .pc = start[0], .sp = start[1], .bp = start[2] };
    if (hs_remote_stack_init(&stack, memory, objects, &maps) < 0) {
        return;
    }
    hs_remote_stack_walk(&stack, &regs);
    if (hs_safe_point_init(&point, memory, objects, &maps, "injected") == 0) {
        hs_safe_point_judge(&point, &stack, (enum hs_wait_kind)(start[3] % HS_WAIT_N), why);
    }
    hs_safe_point_deinit(&point);
    hs_remote_stack_deinit(&stack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t reads_left = 2000;
    struct hs_remote_memory memory = { memfd_create("fuzz", MFD_CLOEXEC), &reads_left };
    struct hs_remote_objects objects = { 0 };
    struct hs_remote_program program = { 8, size > 7 ? data[7] % 8 : 0, 0 };
    struct hs_remote_symbol symbol;
    if (memory.fd < 0) {
        return 0;
    }
    if (size >= 8 && hs_write_all(memory.fd, data, size) == 0) {
        hs_remote_objects_walk(&program, &memory, &objects);
        hs_remote_objects_search(&memory, &objects, "malloc", &symbol);
        hs_remote_objects_are_settled(&memory, &objects);
        walk(&memory, &objects, data);
    }
    hs_remote_objects_deinit(&objects);
    close(memory.fd);
    return 0;
}
