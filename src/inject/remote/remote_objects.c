/*
 * Walks over another process's link map: see remote_objects.h. Symbols are looked up in
 * remote_symbols.c.
 */
#include "inject/remote/remote_objects.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/check/inject_error.h"
#include "rt/text.h"
#include "util/array.h"
#include "util/proc.h"

#define OBJECTS_MAX       8192U
#define PROGRAM_PARTS_MAX 128U
#define DYNAMIC_MAX       512U
#define AUXV_MAX          64U

static int read_auxv(pid_t tid, struct hs_remote_program *ret_program)
{
    uint64_t auxv[AUXV_MAX][2];
    size_t bytes = 0;
    if (hs_proc_read(tid, "auxv", (char *)auxv, sizeof(auxv), &bytes) < 0) {
        return HS_INJECT_NO_PROCESS;
    }
    struct hs_remote_program program = { 0 };
    for (size_t i = 0; (i + 1) * sizeof(auxv[0]) <= bytes; i++) {
        switch (auxv[i][0]) {
        case AT_PHDR:
            program.headers_va = auxv[i][1];
            break;
        case AT_PHNUM:
            program.header_count = auxv[i][1];
            break;
        case AT_BASE:
            program.loader_va = auxv[i][1];
            break;
        default:
            break;
        }
    }
    *ret_program = program;
    return program.headers_va == 0 ? HS_INJECT_DYING : HS_INJECT_DONE;
}

/* The facts that are needed from an object's program headers. */
struct parts {
    uint64_t bias_va;
    bool has_bias;
    uint64_t dynamic_va;
    uint64_t interpreter_va;
};

static void take_part(const ElfW(Phdr) * part, uint64_t headers_va, struct parts *parts,
                      struct hs_remote_object *object)
{
    uint64_t va = parts->bias_va + part->p_vaddr;
    switch (part->p_type) {
    case PT_PHDR:
        if (!parts->has_bias) {
            parts->bias_va = headers_va - part->p_vaddr;
            parts->has_bias = true;
        }
        break;
    case PT_LOAD:
        object->start_va = object->end_va == 0 || va < object->start_va ? va : object->start_va;
        object->end_va = va + part->p_memsz > object->end_va ? va + part->p_memsz : object->end_va;
        break;
    case PT_GNU_EH_FRAME:
        object->eh_hdr_va = va;
        object->eh_hdr_bytes = part->p_memsz;
        break;
    case PT_DYNAMIC:
        parts->dynamic_va = va;
        break;
    case PT_INTERP:
        parts->interpreter_va = va;
        break;
    default:
        break;
    }
}

/* For an object without PT_PHDR (a loader that was started as a program): its program headers
 * follow the file's ELF header, which is where the object begins. */
static void find_bias(const struct hs_remote_memory *memory, uint64_t headers_va,
                      struct parts *parts)
{
    ElfW(Ehdr) head;
    uint64_t base_va = hs_align_down(headers_va, 4096);
    if (hs_remote_memory_read(memory, base_va, &head, sizeof(head)) == 0 &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_type == ET_DYN &&
        base_va + head.e_phoff == headers_va) {
        parts->bias_va = base_va;
        parts->has_bias = true;
    }
}

/* `parts->has_bias`: the caller knows the bias. (PT_PHDR, where there is one, comes before the
 * headers whose addresses need the bias.) */
static bool read_parts(const struct hs_remote_memory *memory, uint64_t headers_va, uint64_t count,
                       struct parts *parts, struct hs_remote_object *object)
{
    ElfW(Phdr) headers[PROGRAM_PARTS_MAX];
    if (count == 0 || count > PROGRAM_PARTS_MAX ||
        hs_remote_memory_read(memory, headers_va, headers, count * sizeof(headers[0])) < 0) {
        return false;
    }
    object->start_va = object->end_va = 0;
    if (!parts->has_bias && headers[0].p_type != PT_PHDR) {
        find_bias(memory, headers_va, parts);
    }
    for (uint64_t i = 0; i < count; i++) {
        take_part(&headers[i], headers_va, parts, object);
    }
    return true;
}

/* A library's program headers follow its ELF header, which is at the start of its first segment. */
static void describe_library(const struct hs_remote_memory *memory, struct hs_remote_object *object)
{
    ElfW(Ehdr) head;
    struct parts parts = { .bias_va = object->bias_va, .has_bias = true };
    if (hs_remote_memory_read(memory, object->bias_va, &head, sizeof(head)) < 0 ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(ElfW(Phdr)) ||
        head.e_phoff > UINT32_MAX) {
        return;
    }
    read_parts(memory, object->bias_va + head.e_phoff, head.e_phnum, &parts, object);
}

static void take_dynamic(const ElfW(Dyn) * dyn, struct hs_remote_object *object, uint64_t *debug_va)
{
    uint64_t va = dyn->d_un.d_ptr;
    /* The loader relocates these addresses in place, except in a read-only dynamic section (the
     * vdso's). */
    va += va < object->bias_va ? object->bias_va : 0;
    switch (dyn->d_tag) {
    case DT_SYMTAB:
        object->symbols_va = va;
        break;
    case DT_STRTAB:
        object->strings_va = va;
        break;
    case DT_GNU_HASH:
        object->gnu_hash_va = va;
        break;
    case DT_HASH:
        object->sysv_hash_va = va;
        break;
    case DT_VERSYM:
        object->versions_va = va;
        break;
    case DT_DEBUG:
        *debug_va = dyn->d_un.d_ptr;
        break;
    default:
        break;
    }
}

static bool read_dynamic(const struct hs_remote_memory *memory, uint64_t dynamic_va,
                         struct hs_remote_object *object, uint64_t *ret_debug_va)
{
    ElfW(Dyn) entries[16];
    uint64_t debug_va = 0;
    for (unsigned i = 0; i < DYNAMIC_MAX; i += 16) {
        ssize_t got = hs_remote_memory_read_some(memory, dynamic_va + i * sizeof(entries[0]),
                                                 entries, sizeof(entries));
        if (got < (ssize_t)sizeof(entries[0])) {
            return false;
        }
        for (size_t k = 0; (k + 1) * sizeof(entries[0]) <= (size_t)got; k++) {
            if (entries[k].d_tag == DT_NULL) {
                *ret_debug_va = debug_va;
                return true;
            }
            take_dynamic(&entries[k], object, &debug_va);
        }
    }
    return false;
}

bool hs_remote_objects_read_map(const struct hs_remote_memory *memory, uint64_t map_va,
                                struct hs_remote_object *ret_object, uint64_t *ret_next_va)
{
    struct link_map map;
    char path[512];
    struct hs_remote_object object = { 0 };
    uint64_t unused;
    if (hs_remote_memory_read(memory, map_va, &map, sizeof(map)) < 0) {
        return false;
    }
    object.bias_va = map.l_addr;
    hs_remote_memory_read_text(memory, (uint64_t)(uintptr_t)map.l_name, path, sizeof(path));
    snprintf(object.name, sizeof(object.name), "%.*s", HS_REMOTE_NAME_BYTES - 1,
             hs_text_base_name(path));
    object.is_from_descriptor = hs_text_starts_with(path, HS_REMOTE_FD_FOLDER);
    /* An object without a dynamic section has no symbols, but stays in the list. */
    read_dynamic(memory, (uint64_t)(uintptr_t)map.l_ld, &object, &unused);
    describe_library(memory, &object);
    *ret_object = object;
    *ret_next_va = (uint64_t)(uintptr_t)map.l_next;
    return true;
}

static int add(struct hs_remote_objects *objects, const struct hs_remote_object *object)
{
    if (hs_array_reserve(&objects->items, &objects->capacity, objects->count + 1, sizeof(*object)) <
        0) {
        return HS_INJECT_OURS;
    }
    objects->items[objects->count++] = *object;
    return HS_INJECT_DONE;
}

/* The program itself: the kernel says where its headers are, and it is the first in the list. */
static int read_program(const struct hs_remote_program *program,
                        const struct hs_remote_memory *memory, struct hs_remote_objects *objects,
                        struct hs_remote_object *ret_object)
{
    struct parts parts = { 0 };
    struct hs_remote_object object = { 0 };
    if (!read_parts(memory, program->headers_va, program->header_count, &parts, &object)) {
        return HS_INJECT_BAD_MEMORY;
    }
    object.bias_va = parts.bias_va;
    objects->debug_va = 0;
    objects->loader_va = program->loader_va;
    if (parts.interpreter_va != 0) {
        hs_remote_memory_read_text(memory, parts.interpreter_va, objects->loader,
                                   sizeof(objects->loader));
    }
    if (parts.dynamic_va == 0 ||
        !read_dynamic(memory, parts.dynamic_va, &object, &objects->debug_va)) {
        return HS_INJECT_STATIC;
    }
    if (parts.interpreter_va == 0) {
        /* The program is static and position-independent; or it is the loader, which was started as
         * a program and has loaded another one. */
        struct hs_remote_symbol debug;
        if (!hs_remote_objects_symbol(memory, &object, "_r_debug", &debug)) {
            return HS_INJECT_STATIC;
        }
        objects->debug_va = debug.va;
        objects->loader_va = object.bias_va;
    }
    *ret_object = object;
    return HS_INJECT_DONE;
}

int hs_remote_objects_load(pid_t tid, const struct hs_remote_memory *memory,
                           struct hs_remote_objects *objects)
{
    struct hs_remote_program program;
    int r = read_auxv(tid, &program);
    return r == HS_INJECT_DONE ? hs_remote_objects_walk(&program, memory, objects) : r;
}

int hs_remote_objects_walk(const struct hs_remote_program *from,
                           const struct hs_remote_memory *memory, struct hs_remote_objects *objects)
{
    struct hs_remote_object program = { 0 };
    struct r_debug debug;
    objects->count = 0;
    objects->loader[0] = '\0';
    int r = read_program(from, memory, objects, &program);
    if (r != HS_INJECT_DONE) {
        return r;
    }
    if (objects->debug_va == 0) {
        return HS_INJECT_STARTING;
    }
    if (hs_remote_memory_read(memory, objects->debug_va, &debug, sizeof(debug)) < 0) {
        return HS_INJECT_BAD_MEMORY;
    }
    uint64_t map_va = (uint64_t)(uintptr_t)debug.r_map;
    if (map_va == 0) {
        return HS_INJECT_STARTING;
    }
    while (map_va != 0 && r == HS_INJECT_DONE) {
        struct hs_remote_object object;
        objects->last_map_va = map_va;
        if (objects->count >= OBJECTS_MAX ||
            !hs_remote_objects_read_map(memory, map_va, &object, &map_va)) {
            return HS_INJECT_BAD_MEMORY;
        }
        if (objects->count == 0 && objects->loader[0] != '\0') {
            program.name[0] = '\0';
            object = program;
        }
        r = add(objects, &object);
    }
    return r;
}

void hs_remote_objects_deinit(struct hs_remote_objects *objects)
{
    free(objects->items);
    *objects = (struct hs_remote_objects){ 0 };
}

const struct hs_remote_object *hs_remote_objects_at(const struct hs_remote_objects *objects,
                                                    uint64_t va)
{
    for (size_t i = 0; i < objects->count; i++) {
        if (va >= objects->items[i].start_va && va < objects->items[i].end_va) {
            return &objects->items[i];
        }
    }
    return NULL;
}

bool hs_remote_objects_are_settled(const struct hs_remote_memory *memory,
                                   const struct hs_remote_objects *objects)
{
    struct r_debug debug;
    struct link_map last;
    return hs_remote_memory_read(memory, objects->debug_va, &debug, sizeof(debug)) == 0 &&
           debug.r_state == RT_CONSISTENT &&
           hs_remote_memory_read(memory, objects->last_map_va, &last, sizeof(last)) == 0 &&
           last.l_next == NULL;
}
