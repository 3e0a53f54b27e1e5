/*
 * The modules of the running program, for tests and benchmarks of the unwinder: a `resolve` that
 * gives each frame an id from which the test can look up its pc.
 *
 * Threads   one.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "unwind/unwind.h"

#define SELF_MODULES_MAX 256
#define SELF_FRAMES_MAX  (1U << 20)

struct self_modules {
    struct hs_unwind_module modules[SELF_MODULES_MAX];
    uint32_t module_count;
    uint64_t *pcs; /* by frame id */
    uint32_t pc_count;
    uint32_t resolve_count;
};

static inline struct hs_span self_span(uint64_t va, uint64_t size_bytes)
{
    return (struct hs_span){ (const uint8_t *)(uintptr_t)va, va, size_bytes };
}

static inline int self_modules_add(struct dl_phdr_info *info, size_t unused_bytes, void *arg)
{
    struct self_modules *self = arg;
    struct hs_unwind_module m = { .start_va = UINT64_MAX, .bias = info->dlpi_addr };
    (void)unused_bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t va = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME) {
            m.eh_hdr = self_span(va, p->p_memsz);
        } else if (p->p_type == PT_LOAD) {
            m.start_va = va < m.start_va ? va : m.start_va;
            m.end_va = va + p->p_memsz > m.end_va ? va + p->p_memsz : m.end_va;
            if (p->p_flags & PF_X) {
                m.text = self_span(va, p->p_filesz);
            }
        }
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t va = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && m.eh_hdr.va >= va && m.eh_hdr.va - va < p->p_memsz) {
            m.eh_frame = self_span(va, p->p_filesz);
        }
    }
    if (self->module_count < SELF_MODULES_MAX) {
        self->modules[self->module_count++] = m;
    }
    return 0;
}

static inline void self_modules_init(struct self_modules *self)
{
    *self = (struct self_modules){ .pc_count = 1 };
    self->pcs = calloc(SELF_FRAMES_MAX, sizeof(self->pcs[0]));
    dl_iterate_phdr(self_modules_add, self);
}

static inline void self_modules_deinit(struct self_modules *self)
{
    free(self->pcs);
}

static inline bool self_modules_resolve(void *ctx, uint64_t pc, bool is_exact,
                                        struct hs_resolved *ret_resolved)
{
    struct self_modules *self = ctx;
    (void)is_exact;
    self->resolve_count++;
    for (uint32_t i = 0; i < self->module_count; i++) {
        if (pc >= self->modules[i].start_va && pc < self->modules[i].end_va) {
            ret_resolved->module = &self->modules[i];
            ret_resolved->user = self->pc_count % SELF_FRAMES_MAX;
            self->pcs[self->pc_count++ % SELF_FRAMES_MAX] = pc;
            return true;
        }
    }
    return false;
}
