/*
 * Reads a process's memory: see process_memory.h.
 */
#include "collect/types/process_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rt/base.h"

#define PAGE_BYTES UINT64_C(4096)
/* Of which pages are resident is asked for so many at once. */
#define RANGE_BYTES (UINT64_C(64) << 20)

/* --- mappings --------------------------------------------------------------------------------- */

/* Constants of a module that are of no file: copies that the loader has made (.bss.rel.ro). */
static bool is_tail(const struct hs_address_space *space, const struct hs_mapping *mapping)
{
    const struct hs_mapping *before = mapping - 1;
    return mapping > space->items && before->inode != 0 && before->end_va == mapping->start_va &&
           !before->is_shared && !mapping->is_shared && hs_mapping_is_plain(space, mapping);
}

static enum hs_type_place place_of(const struct hs_address_space *space,
                                   const struct hs_mapping *mapping)
{
    if (!mapping->is_readable) {
        return HS_TYPE_PLACE_NONE;
    }
    if (hs_mapping_is_anonymous(space, mapping)) {
        return !mapping->is_writable && !mapping->is_executable && is_tail(space, mapping)
                   ? HS_TYPE_PLACE_CONSTANT
                   : HS_TYPE_PLACE_MEMORY;
    }
    if (mapping->inode == 0 || mapping->is_shared) {
        return HS_TYPE_PLACE_MEMORY;
    }
    if (mapping->is_writable) {
        return HS_TYPE_PLACE_DATA;
    }
    return mapping->is_executable ? HS_TYPE_PLACE_CODE : HS_TYPE_PLACE_CONSTANT;
}

static const struct hs_mapping *find_mapping(struct hs_process_memory *process, uint64_t va)
{
    if (!process->last || va < process->last->start_va || va >= process->last->end_va) {
        const struct hs_mapping *mapping = hs_address_space_find(process->space, va);
        if (!mapping) {
            return NULL;
        }
        process->last = mapping;
    }
    return process->last;
}

static enum hs_type_place place(void *ctx, uint64_t va)
{
    struct hs_process_memory *process = ctx;
    if (va < PAGE_BYTES || va >= HS_TYPE_VA_MAX) {
        return HS_TYPE_PLACE_NONE;
    }
    const struct hs_mapping *mapping = find_mapping(process, va);
    return mapping ? (enum hs_type_place)process->places[mapping - process->space->items]
                   : HS_TYPE_PLACE_NONE;
}

/* --- single reads ----------------------------------------------------------------------------- */

static enum hs_page_state page_state(struct hs_process_memory *process, uint64_t va)
{
    struct hs_process_page *known = &process->pages[va / PAGE_BYTES % HS_PROCESS_PAGE_STATES];
    struct hs_residency residency;
    uint64_t start_va = va - va % PAGE_BYTES;
    if (known->state == HS_PAGE_UNKNOWN || known->page != va / PAGE_BYTES) {
        if (hs_residency_read(process->pagemap_fd, start_va, start_va + PAGE_BYTES, &residency) <
            0) {
            return HS_PAGE_UNKNOWN;
        }
        known->page = va / PAGE_BYTES;
        known->state = hs_residency_bytes(&residency, start_va, start_va + PAGE_BYTES) > 0
                           ? HS_PAGE_RESIDENT
                       : residency.has_swapped ? HS_PAGE_SWAPPED
                                               : HS_PAGE_UNTOUCHED;
        hs_residency_deinit(&residency);
    }
    return known->state;
}

static bool read_file(struct hs_process_memory *process, uint64_t va, void *ret_bytes,
                      size_t size_bytes)
{
    const struct hs_mapping *mapping = find_mapping(process, va);
    bool is_read = false;
    if (!mapping || mapping->is_writable || mapping->is_shared || mapping->inode == 0 ||
        va - mapping->start_va > INT64_MAX - mapping->file_off % INT64_MAX) {
        return false;
    }
    int fd = hs_vtable_symbols_open_file(process->pid, hs_mapping_path(process->space, mapping),
                                         mapping->inode);
    if (fd >= 0) {
        is_read =
            pread(fd, ret_bytes, size_bytes,
                  (off_t)(mapping->file_off + (va - mapping->start_va))) == (ssize_t)size_bytes;
        close(fd);
    }
    return is_read;
}

/* Of one page. */
static bool read_part(struct hs_process_memory *process, uint64_t va, void *ret_bytes,
                      size_t size_bytes)
{
    switch (page_state(process, va)) {
    case HS_PAGE_RESIDENT:
        return hs_remote_window_peek(&process->window, va, ret_bytes, size_bytes);
    case HS_PAGE_UNTOUCHED:
        return read_file(process, va, ret_bytes, size_bytes);
    case HS_PAGE_UNKNOWN:
    case HS_PAGE_SWAPPED:
    default:
        return false;
    }
}

static bool read_bytes(void *ctx, uint64_t va, void *ret_bytes, size_t size_bytes)
{
    struct hs_process_memory *process = ctx;
    uint8_t *to = ret_bytes;
    while (size_bytes > 0) {
        size_t part_bytes = PAGE_BYTES - va % PAGE_BYTES;
        part_bytes = part_bytes < size_bytes ? part_bytes : size_bytes;
        if (place(process, va) == HS_TYPE_PLACE_NONE || !read_part(process, va, to, part_bytes)) {
            return false;
        }
        va += part_bytes;
        to += part_bytes;
        size_bytes -= part_bytes;
    }
    return true;
}

/* --- pieces ----------------------------------------------------------------------------------- */

/* Makes `residency` that of a range with `va`. False: nothing can be read there. */
static bool move_residency(struct hs_process_memory *process, uint64_t va)
{
    const struct hs_residency *residency = &process->residency;
    if (va - residency->start_va < residency->page_count * PAGE_BYTES) {
        return true;
    }
    const struct hs_mapping *mapping = find_mapping(process, va);
    hs_residency_deinit(&process->residency);
    if (!mapping || !mapping->is_readable) {
        return false;
    }
    uint64_t end_va = mapping->end_va - va > RANGE_BYTES ? va + RANGE_BYTES : mapping->end_va;
    return hs_residency_read(process->pagemap_fd, va, end_va, &process->residency) == 0;
}

/* How much of a piece is resident, from its start on. */
static uint32_t readable_bytes(struct hs_process_memory *process, const struct hs_type_piece *piece)
{
    uint64_t va = piece->va, end_va = piece->va + piece->size_bytes;
    while (va < end_va && move_residency(process, va)) {
        uint64_t run_end_va = hs_residency_run_end(&process->residency, va, end_va);
        if (run_end_va == va) {
            break;
        }
        va = run_end_va;
    }
    return (uint32_t)(va - piece->va);
}

struct vectors {
    struct iovec here[HS_TYPE_PIECES_MAX], there[HS_TYPE_PIECES_MAX];
    struct hs_type_piece *pieces[HS_TYPE_PIECES_MAX];
    size_t count;
};

/* A call ends at the first piece that it cannot read to its end: the memory is gone. */
static void read_vectors(struct hs_process_memory *process, struct vectors *vectors)
{
    for (size_t next = 0; next < vectors->count;) {
        size_t left = vectors->count - next;
        ssize_t got = process_vm_readv(process->pid, vectors->here + next, left,
                                       vectors->there + next, left, 0);
        uint64_t bytes = got > 0 ? (uint64_t)got : 0;
        while (next < vectors->count && bytes >= vectors->there[next].iov_len) {
            vectors->pieces[next]->read_bytes = (uint32_t)vectors->there[next].iov_len;
            bytes -= vectors->there[next++].iov_len;
        }
        if (next < vectors->count) {
            vectors->pieces[next++]->read_bytes = (uint32_t)bytes;
        }
    }
}

static void read_pieces(void *ctx, struct hs_type_piece *pieces, size_t count, uint8_t *ret_bytes)
{
    struct hs_process_memory *process = ctx;
    struct vectors vectors = { .count = 0 };
    for (size_t i = 0; i < count; i++) {
        uint8_t *to = ret_bytes + i * HS_TYPE_PIECE_BYTES;
        uint32_t bytes = readable_bytes(process, &pieces[i]);
        pieces[i].read_bytes = 0;
        if (bytes > 0 && process->window.has_shared_pages) {
            bool is_read = hs_remote_window_peek(&process->window, pieces[i].va, to, bytes);
            pieces[i].read_bytes = is_read ? bytes : 0;
        } else if (bytes > 0) {
            /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process */
            vectors.there[vectors.count] = (struct iovec){ (void *)(uintptr_t)pieces[i].va, bytes };
            vectors.here[vectors.count] = (struct iovec){ to, bytes };
            vectors.pieces[vectors.count++] = &pieces[i];
        }
    }
    read_vectors(process, &vectors);
}

/* --- symbols ---------------------------------------------------------------------------------- */

static bool may_read_file(struct hs_process_memory *process, int fd)
{
    struct stat status;
    uint64_t bytes = fstat(fd, &status) == 0 ? (uint64_t)status.st_size : UINT64_MAX;
    bool is_small = bytes <= process->file_bytes_left;
    process->file_bytes_left -= is_small ? bytes : 0;
    return is_small;
}

static const struct hs_vtable_symbols *symbols_of(struct hs_process_memory *process,
                                                  const struct hs_mapping *mapping)
{
    const char *path = hs_mapping_path(process->space, mapping);
    for (unsigned i = 0; i < process->module_count; i++) {
        const struct hs_mapping *known = process->modules[i].mapping;
        if (known->inode == mapping->inode &&
            strcmp(hs_mapping_path(process->space, known), path) == 0) {
            return &process->modules[i].symbols;
        }
    }
    if (process->module_count >= HS_PROCESS_MODULES_MAX) {
        return NULL;
    }
    struct hs_process_module *module = &process->modules[process->module_count];
    int fd = hs_vtable_symbols_open_file(process->pid, path, mapping->inode);
    if (fd >= 0) {
        if (!may_read_file(process, fd) || hs_vtable_symbols_read(fd, &module->symbols) < 0) {
            module->symbols = (struct hs_vtable_symbols){ 0 };
        }
        close(fd);
    }
    module->mapping = mapping;
    process->module_count++;
    return &module->symbols;
}

static bool find_symbol(void *ctx, uint64_t va, struct hs_type_symbol *ret_symbol)
{
    struct hs_process_memory *process = ctx;
    const struct hs_mapping *mapping = find_mapping(process, va);
    const struct hs_vtable_symbols *symbols =
        mapping && mapping->inode != 0 ? symbols_of(process, mapping) : NULL;
    const struct hs_vtable_symbol *symbol = NULL;
    uint64_t sva;
    if (symbols &&
        hs_vtable_symbols_sva(symbols, mapping->file_off + (va - mapping->start_va), &sva)) {
        symbol = hs_vtable_symbols_find(symbols, sva);
    }
    if (!symbol) {
        return false;
    }
    *ret_symbol = (struct hs_type_symbol){
        .name = symbols->names.data + symbol->name_off,
        .start_va = va - (sva - symbol->start_sva),
        .size_bytes = symbol->size_bytes,
    };
    return true;
}

/* Where in a mapping CPython's PyType_Type is. */
static bool has_python(struct hs_process_memory *process, const struct hs_mapping *mapping,
                       uint64_t *ret_va)
{
    uint64_t file_off;
    const struct hs_vtable_symbols *symbols = symbols_of(process, mapping);
    if (!symbols || symbols->python_sva == 0 ||
        !hs_vtable_symbols_file_off(symbols, symbols->python_sva, &file_off) ||
        file_off - mapping->file_off >= mapping->end_va - mapping->start_va) {
        return false;
    }
    *ret_va = mapping->start_va + (file_off - mapping->file_off);
    return true;
}

/* In modules with Python in their path: the program, its library. */
static bool find_python(void *ctx, unsigned idx, uint64_t *ret_va)
{
    struct hs_process_memory *process = ctx;
    const struct hs_address_space *space = process->space;
    bool is_found = false;
    for (size_t i = 0; i < space->count && !is_found; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        if (mapping->inode != 0 && mapping->is_writable && !mapping->is_shared &&
            strstr(hs_mapping_path(space, mapping), "python") != NULL &&
            has_python(process, mapping, ret_va)) {
            is_found = idx == 0;
            idx -= idx > 0 ? 1 : 0;
        }
    }
    return is_found;
}

/* --- all of it -------------------------------------------------------------------------------- */

int hs_process_memory_open(pid_t pid, const struct hs_address_space *space,
                           struct hs_process_memory *ret_process)
{
    *ret_process = (struct hs_process_memory){
        .pid = pid,
        .space = space,
        .places = malloc(space->count + 1),
        .modules = calloc(HS_PROCESS_MODULES_MAX, sizeof(ret_process->modules[0])),
        .file_bytes_left = HS_PROCESS_FILE_BYTES_MAX,
        .pagemap_fd = -1,
    };
    int r = ret_process->places && ret_process->modules
                ? hs_remote_window_open(pid, &ret_process->window)
                : -ENOMEM;
    if (r < 0) {
        free(ret_process->places);
        free(ret_process->modules);
        return r;
    }
    ret_process->window.has_shared_pages = hs_address_space_is_forked(space);
    ret_process->pagemap_fd = hs_residency_open(pid);
    if (ret_process->pagemap_fd < 0) {
        r = ret_process->pagemap_fd;
        hs_process_memory_close(ret_process);
        return r;
    }
    for (size_t i = 0; i < space->count; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        enum hs_type_place place = place_of(space, mapping);
        ret_process->places[i] = (uint8_t)place;
        if (hs_type_place_is_constant(place)) {
            hs_type_chunks_add(&ret_process->constants, mapping->start_va, mapping->end_va);
        }
    }
    return 0;
}

void hs_process_memory_close(struct hs_process_memory *process)
{
    for (unsigned i = 0; i < process->module_count; i++) {
        hs_vtable_symbols_deinit(&process->modules[i].symbols);
    }
    hs_residency_deinit(&process->residency);
    if (process->pagemap_fd >= 0) {
        close(process->pagemap_fd);
    }
    hs_remote_window_close(&process->window);
    free(process->places);
    free(process->modules);
    *process = (struct hs_process_memory){ .pagemap_fd = -1, .window.mem_fd = -1 };
}

void hs_process_memory_view(struct hs_process_memory *process, struct hs_type_memory *ret_memory)
{
    *ret_memory = (struct hs_type_memory){
        .ctx = process,
        .constants = &process->constants,
        .place = place,
        .read = read_bytes,
        .read_pieces = read_pieces,
        .find_symbol = find_symbol,
        .find_python = find_python,
    };
}
