/*
 * See table_make.h.
 */
#include "collect/unwind_tables/table_make.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/base.h"
#include "symbol/debug_files.h"
#include "symbol/mini_debug.h"
#include "symbol/section_bytes.h"
#include "unwind/eh_find.h"
#include "util/array.h"

/* Of unwind information. Chromium's .eh_frame has 20 MiB. */
#define SECTION_MAX_BYTES ((size_t)64 << 20)
#define FOLDERS_MAX       64U

/* An FDE for code that needs it. */
struct fde {
    uint64_t start_sva, length_bytes;
    uint64_t off;
};

struct making {
    const struct hs_table_request *request;
    const struct hs_module_file *file;
    struct hs_debug_files files;
    struct hs_elf_file mini; /* closed: there is none */
    struct hs_section_bytes section;
    bool is_debug;
    struct fde *fdes;
    size_t fde_count, capacity;
    enum hs_unwind_reason reason; /* the most telling one so far */
};

/* Options with one more folder. */
struct folders {
    struct hs_symbol_options options;
    const char *paths[FOLDERS_MAX + 1];
    char root[64];
};

static bool is_code(const struct hs_module_file *file, uint64_t sva, uint64_t length_bytes)
{
    for (uint32_t i = 0; i < file->code_count; i++) {
        const struct hs_code_range *code = &file->codes[i];
        if (sva >= code->start_sva && sva < code->end_sva && length_bytes <= code->end_sva - sva) {
            return true;
        }
    }
    return false;
}

/* What the linker has dropped leaves an FDE behind, whose code is at 0 or nowhere. */
static int take_fde(void *ctx, uint64_t start_sva, uint64_t length_bytes, uint64_t fde_off)
{
    struct making *making = ctx;
    if (length_bytes == 0 || !is_code(making->file, start_sva, length_bytes) ||
        hs_module_file_is_covered(making->file, start_sva)) {
        return 0;
    }
    int err = hs_array_reserve(&making->fdes, &making->capacity, making->fde_count + 1,
                               sizeof(*making->fdes));
    if (err == 0) {
        making->fdes[making->fde_count++] = (struct fde){ start_sva, length_bytes, fde_off };
    }
    return err;
}

/* By address; of FDEs for the same code, the one that stands first in the section is the first. */
static int compare(const void *a, const void *b)
{
    const struct fde *left = a, *right = b;
    int order = (left->start_sva > right->start_sva) - (left->start_sva < right->start_sva);
    return order ? order : (left->off > right->off) - (left->off < right->off);
}

static void sort_fdes(struct making *making)
{
    size_t kept = 0;
    qsort(making->fdes, making->fde_count, sizeof(*making->fdes), compare);
    for (size_t i = 0; i < making->fde_count; i++) {
        if (kept == 0 || making->fdes[kept - 1].start_sva != making->fdes[i].start_sva) {
            making->fdes[kept++] = making->fdes[i];
        }
    }
    making->fde_count = kept;
}

static void note_reason(struct making *making, int err)
{
    if (err == -EFBIG || err == -ENOMEM) {
        making->reason = HS_UNWIND_REASON_TOO_LARGE;
    } else if (err == -EBADMSG && making->reason == HS_UNWIND_REASON_ABSENT) {
        making->reason = HS_UNWIND_REASON_BROKEN;
    }
}

/* Reads one section. True: it has what is needed. */
static bool try_section(struct making *making, const struct hs_elf_file *file, const char *name,
                        bool is_debug)
{
    if (!file->elf) {
        return false;
    }
    hs_section_bytes_deinit(&making->section);
    making->fde_count = 0;
    making->is_debug = is_debug;
    int err = hs_section_bytes_read(file, name, SECTION_MAX_BYTES, &making->section);
    if (err == 0) {
        const struct hs_span span = { .bytes = making->section.bytes,
                                      .va = is_debug ? 0 : making->section.sva,
                                      .size_bytes = making->section.size_bytes };
        /* What comes before an entry that makes no sense is good. */
        err = hs_eh_each(&span, is_debug, take_fde, making);
    }
    note_reason(making, err);
    if (making->fde_count == 0 || err == -ENOMEM) {
        return false;
    }
    sort_fdes(making);
    return true;
}

static bool find_section(struct making *making, enum hs_unwind_table_source *ret_source)
{
    const struct hs_elf_file *module = &making->files.module;
    *ret_source = HS_UNWIND_TABLE_MODULE;
    /* An .eh_frame without a header is in memory, but the loader does not tell where. */
    if (try_section(making, module, ".eh_frame", false) ||
        try_section(making, module, ".debug_frame", true)) {
        return true;
    }
    *ret_source = HS_UNWIND_TABLE_DEBUG_FILE;
    if (try_section(making, &making->files.debug, ".debug_frame", true)) {
        return true;
    }
    *ret_source = HS_UNWIND_TABLE_MINI;
    int err = module->elf ? hs_mini_debug_open(module, &making->mini) : -ENOENT;
    note_reason(making, err == -ENOEXEC ? -EBADMSG : err);
    return err == 0 && (try_section(making, &making->mini, ".debug_frame", true) ||
                        try_section(making, &making->mini, ".eh_frame", false));
}

static void write_table(const struct making *making, enum hs_unwind_table_source source,
                        struct hs_buf *table)
{
    const struct hs_module_file *file = making->file;
    const struct hs_section_bytes *section = &making->section;
    uint64_t bytes = sizeof(struct hs_unwind_table_v2) +
                     making->fde_count * sizeof(struct hs_unwind_entry_v2) + section->size_bytes;
    struct hs_unwind_table_v2 head = {
        .table_bytes = (uint32_t)hs_align_up(bytes, 8),
        .flags = making->is_debug ? HS_UNWIND_TABLE_DEBUG : 0,
        .bias_va = making->request->bias_va,
        .exec_sva = file->exec_sva,
        .exec_bytes = file->exec_bytes,
        .build_id_bytes = file->build_id_bytes,
        .source = (uint8_t)source,
        .code_sva = making->fdes[0].start_sva,
        .cfi_sva = making->is_debug ? 0 : section->sva,
        .cfi_bytes = (uint32_t)section->size_bytes,
    };
    memcpy(head.build_id, file->build_id, sizeof(head.build_id));
    for (size_t i = 0; i < making->fde_count; i++) {
        /* Beyond 2 GiB of code there are no entries. */
        head.entry_count += making->fdes[i].start_sva - head.code_sva <= INT32_MAX;
    }
    hs_buf_add(table, &head, sizeof(head));
    for (uint32_t i = 0; i < head.entry_count; i++) {
        const struct hs_unwind_entry_v2 entry = {
            .start_off = (int32_t)(making->fdes[i].start_sva - head.code_sva),
            .fde_off = (int32_t)making->fdes[i].off,
        };
        hs_buf_add(table, &entry, sizeof(entry));
    }
    hs_buf_add(table, section->bytes, section->size_bytes);
    hs_buf_repeat(table, '\0', head.table_bytes - bytes);
}

/* Of a process that sees another root folder, the debug files there come last. */
static void add_root_folder(const struct hs_table_request *request,
                            const struct hs_symbol_options *options, struct folders *ret_folders)
{
    size_t count =
        options->search_path_count < FOLDERS_MAX ? options->search_path_count : FOLDERS_MAX;
    ret_folders->options = *options;
    for (size_t i = 0; i < count; i++) {
        ret_folders->paths[i] = options->search_paths[i];
    }
    snprintf(ret_folders->root, sizeof(ret_folders->root), "/proc/%d/root/usr/lib/debug",
             (int)request->pid);
    ret_folders->paths[count] = ret_folders->root;
    ret_folders->options.search_paths = ret_folders->paths;
    ret_folders->options.search_path_count = count + 1;
}

/* With the module's file open. */
static enum hs_unwind_reason make(struct making *making, const struct hs_symbol_options *options,
                                  const char *path, struct hs_buf *table,
                                  enum hs_unwind_table_source *ret_source)
{
    const struct hs_module_file *file = making->file;
    /* A build id that was shortened is no use; the module's file has it whole. */
    bool has_id = file->build_id_bytes < sizeof(file->build_id);
    const struct hs_symbol_request request = { .path = path,
                                               .build_id = file->build_id,
                                               .build_id_bytes =
                                                   has_id ? file->build_id_bytes : 0 };
    hs_debug_files_find(options, &request, &making->files);
    if (find_section(making, ret_source)) {
        write_table(making, *ret_source, table);
        making->reason = table->err == 0 ? HS_UNWIND_REASON_NONE : HS_UNWIND_REASON_TOO_LARGE;
    } else if (making->reason == HS_UNWIND_REASON_ABSENT && making->files.has_refused &&
               !making->files.debug.elf) {
        making->reason = HS_UNWIND_REASON_OTHER_BUILD;
    }
    free(making->fdes);
    hs_section_bytes_deinit(&making->section);
    hs_elf_file_close(&making->mini);
    hs_debug_files_close(&making->files);
    return making->reason;
}

enum hs_unwind_reason hs_table_make(const struct hs_table_request *request,
                                    const struct hs_symbol_options *options, struct hs_buf *table,
                                    enum hs_unwind_table_source *ret_source)
{
    char path[PATH_MAX];
    struct hs_module_file file;
    int fd = hs_module_file_open(request->pid, request->path, request->inode, path, sizeof(path));
    if (fd < 0) {
        return HS_UNWIND_REASON_UNREADABLE;
    }
    int err = hs_module_file_read(fd, &file);
    close(fd);
    if (err) {
        return HS_UNWIND_REASON_BROKEN;
    }
    struct making making = { .request = request,
                             .file = &file,
                             .mini = HS_ELF_FILE_NONE,
                             .reason = HS_UNWIND_REASON_ABSENT };
    struct folders folders;
    add_root_folder(request, options, &folders);
    bool is_rooted = strcmp(path, request->path) != 0;
    enum hs_unwind_reason reason =
        make(&making, is_rooted ? &folders.options : options, path, table, ret_source);
    hs_module_file_deinit(&file);
    return reason;
}
