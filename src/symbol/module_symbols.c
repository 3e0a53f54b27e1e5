/*
 * Looks up one module: finds its files, then tries the best source first. See module_symbols.h.
 *
 * The symbol tables are read before DWARF, because DWARF may need them (dwarf_names.h). Their names
 * are used only where DWARF has none.
 */
#include "symbol/module_symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/breakpad_folder.h"
#include "symbol/debug_files.h"
#include "symbol/dwarf_names.h"
#include "symbol/elf_names.h"
#include "symbol/folded_names.h"
#include "symbol/jitdump.h"
#include "symbol/mini_debug.h"
#include "symbol/pc_index.h"
#include "symbol/perf_map.h"
#include "symbol/symbol_builder.h"
#include "symbol/target_files.h"

/* Sorts the request's addresses, ascending, each once. */
static int sort_pcs(const struct hs_symbol_request *request, uint64_t **ret_pcs, size_t *ret_count)
{
    uint64_t *pcs = malloc((request->rel_pc_count + 1) * sizeof(*pcs));
    if (!pcs) {
        return -ENOMEM;
    }
    if (request->rel_pc_count > 0) {
        memcpy(pcs, request->rel_pcs, request->rel_pc_count * sizeof(*pcs));
    }
    *ret_count = hs_pcs_sort(pcs, request->rel_pc_count);
    *ret_pcs = pcs;
    return 0;
}

/* One kind of symbol table, for the addresses that no better kind named. */
struct symbol_pass {
    const struct hs_elf_file *file;
    uint32_t section_type;
    enum hs_symbol_source source;
};

static int read_tables(const struct hs_debug_files *files, const struct hs_elf_file *mini,
                       const struct hs_symbol_builder *builder, struct hs_elf_name *names,
                       uint8_t *sources)
{
    const struct symbol_pass passes[] = {
        { &files->module, SHT_SYMTAB, HS_SYMBOL_SOURCE_SYMTAB },
        { &files->debug, SHT_SYMTAB, HS_SYMBOL_SOURCE_SYMTAB },
        { mini, SHT_SYMTAB, HS_SYMBOL_SOURCE_MINIDEBUG },
        { &files->module, SHT_DYNSYM, HS_SYMBOL_SOURCE_DYNSYM },
    };
    for (size_t k = 0; k < sizeof(passes) / sizeof(passes[0]); k++) {
        size_t found_count = 0;
        if (!passes[k].file->elf) {
            continue;
        }
        int err = hs_elf_names_find(passes[k].file, passes[k].section_type, builder->pcs,
                                    builder->pc_count, names, &found_count);
        if (err != 0) {
            return err;
        }
        for (size_t i = 0; found_count > 0 && i < builder->pc_count; i++) {
            if (names[i].name && sources[i] == HS_SYMBOL_SOURCE_NONE) {
                sources[i] = (uint8_t)passes[k].source;
            }
        }
    }
    return 0;
}

/*
 * Uses the symbol tables where DWARF said nothing, or had no function. Addresses of one function
 * follow each other, and its name is looked up for the first one.
 */
static void use_tables(struct hs_symbol_builder *builder, const struct hs_elf_name *names,
                       const uint8_t *sources)
{
    const char *raw = NULL;
    struct hs_symbol_name name = { 0 };
    for (size_t i = 0; i < builder->pc_count; i++) {
        if (names[i].name && !hs_symbol_builder_has(builder, i)) {
            if (names[i].name != raw) {
                raw = names[i].name;
                name = hs_symbol_builder_name(builder, raw);
            }
            hs_symbol_builder_line(builder, i, name, 0, 0);
            hs_symbol_builder_source(builder, sources[i]);
        }
    }
}

/* Finds code that functions may share, by the best kind of table that there is. */
static int find_folded(const struct hs_debug_files *files, const struct hs_elf_file *mini,
                       const struct hs_symbol_builder *builder, const struct hs_elf_name *names,
                       struct hs_folded_names *ret_folded)
{
    const struct hs_elf_file *file = files->module.has_symtab  ? &files->module
                                     : files->debug.has_symtab ? &files->debug
                                     : mini->elf               ? mini
                                                               : &files->module;
    bool is_exported_only = file == &files->module && !file->has_symtab;
    return file->elf
               ? hs_folded_names_find(ret_folded, file, is_exported_only ? SHT_DYNSYM : SHT_SYMTAB,
                                      builder, names)
               : 0;
}

static int name_from_files(const struct hs_symbol_options *options,
                           struct hs_symbol_builder *builder, const struct hs_debug_files *files)
{
    struct hs_elf_file mini = HS_ELF_FILE_NONE;
    struct hs_elf_name *names = calloc(builder->pc_count + 1, sizeof(*names));
    uint8_t *sources = calloc(builder->pc_count + 1, sizeof(*sources));
    int err = names && sources ? 0 : -ENOMEM;
    if (err == 0 && files->module.elf && !files->module.has_symtab && !files->debug.has_symtab) {
        err = hs_mini_debug_open(&files->module, &mini) == -ENOMEM ? -ENOMEM : 0;
    }
    if (err == 0) {
        err = read_tables(files, &mini, builder, names, sources);
    }
    struct hs_folded_names folded = { 0 };
    err = err ? err : find_folded(files, &mini, builder, names, &folded);
    const struct hs_elf_file *dwarf = hs_debug_files_dwarf(files);
    if (err == 0 && dwarf && !(options && options->is_tables_only)) {
        err = hs_dwarf_names(builder, dwarf, &files->alt, options ? options->cache_folder : NULL,
                             names, &folded);
    }
    if (err == 0) {
        use_tables(builder, names, sources);
        err = hs_folded_names_mark(&folded, builder, names);
    }
    hs_folded_names_deinit(&folded);
    free(names);
    free(sources);
    hs_elf_file_close(&mini);
    return err;
}

static enum hs_symbol_reason reason_of(const struct hs_debug_files *files)
{
    if (files->is_server_missing) {
        return HS_SYMBOL_REASON_NO_SERVER;
    }
    switch (files->module_err) {
    case 0:
        return HS_SYMBOL_REASON_NO_SYMBOLS;
    case HS_DEBUG_FILES_E_OTHER_BUILD:
        return HS_SYMBOL_REASON_BUILD_ID_DIFFERS;
    case -ENOENT:
    case -ENOTDIR:
        return HS_SYMBOL_REASON_FILE_MISSING;
    default:
        return HS_SYMBOL_REASON_UNREADABLE;
    }
}

static int name_elf_code(const struct hs_symbol_options *options,
                         const struct hs_symbol_request *request, struct hs_symbol_builder *builder)
{
    struct hs_debug_files files;
    struct hs_breakpad_used breakpad = { 0 };
    hs_debug_files_find(options, request, &files);
    const struct hs_elf_file *any = files.module.elf ? &files.module : &files.debug;
    int err = hs_breakpad_names_of(options, request, any->elf ? hs_elf_file_base_sva(any) : 0,
                                   builder, &breakpad);
    bool has_breakpad = builder->table.source != HS_SYMBOL_SOURCE_NONE;
    if (err == 0 && (files.module.elf || files.debug.elf)) {
        err = name_from_files(options, builder, &files);
    }
    const char *detail = request->path;
    if (builder->table.source == HS_SYMBOL_SOURCE_NONE) {
        const char *other = files.other ? files.other : breakpad.is_other ? breakpad.path : NULL;
        builder->table.reason = other ? HS_SYMBOL_REASON_BUILD_ID_DIFFERS : reason_of(&files);
        detail = other ? other : detail;
    } else if (has_breakpad) {
        detail = breakpad.path;
    } else if (files.debug.elf) {
        detail = files.debug.path;
    } else if (files.module.elf) {
        detail = files.module.path;
    }
    builder->table.detail_off = hs_symbol_builder_string(builder, detail);
    hs_debug_files_close(&files);
    free(breakpad.path);
    return err;
}

static int name_from_jitdump(const struct hs_symbol_options *options,
                             const struct hs_target_jit *jit, struct hs_symbol_builder *builder)
{
    return jit && jit->dump_fd >= 0
               ? hs_jitdump_names_fd(builder, jit->dump_fd, &options->jit_times)
               : 0;
}

/* A map that was opened while the process ran counts; else one that the process has left. */
static int name_from_perf_map(const struct hs_symbol_options *options,
                              const struct hs_symbol_request *request,
                              const struct hs_target_jit *jit, struct hs_symbol_builder *builder,
                              char *ret_path)
{
    if (request->pid == 0) {
        return -ENOENT;
    }
    if (!jit || (jit->map_fd < 0 && !jit->is_elsewhere)) {
        return hs_perf_map_names(builder, options ? options->perf_map_folder : NULL, request->pid,
                                 ret_path);
    }
    int fd =
        jit->map_fd >= 0 ? jit->map_fd : hs_target_files_open_perf_map(options->target_files, jit);
    int err = fd >= 0 ? hs_perf_map_names_fd(builder, fd) : fd;
    if (fd >= 0 && fd != jit->map_fd) {
        close(fd);
    }
    return err;
}

static int name_jit_code(const struct hs_symbol_options *options,
                         const struct hs_symbol_request *request, struct hs_symbol_builder *builder)
{
    char path[PATH_MAX] = "";
    const struct hs_target_jit *jit =
        options ? hs_target_files_jit(options->target_files, request->pid) : NULL;
    int err = name_from_jitdump(options, jit, builder);
    if (err != -ENOMEM) {
        err = name_from_perf_map(options, request, jit, builder, path);
    }
    if (err == -ENOMEM) {
        return err;
    }
    if (builder->table.source != HS_SYMBOL_SOURCE_NONE) {
        builder->table.reason = HS_SYMBOL_REASON_NONE;
    } else if (err == -EACCES || err == -EPERM) {
        builder->table.reason = HS_SYMBOL_REASON_UNSAFE_PERF_MAP;
    } else if (err != 0) {
        builder->table.reason = HS_SYMBOL_REASON_NO_PERF_MAP;
    } else {
        builder->table.reason = HS_SYMBOL_REASON_NO_SYMBOLS;
    }
    builder->table.detail_off = hs_symbol_builder_string(builder, path);
    return 0;
}

int hs_module_symbols_find(const struct hs_symbol_options *options,
                           const struct hs_symbol_request *request,
                           struct hs_symbol_table *ret_table)
{
    uint64_t *pcs;
    size_t pc_count;
    int err = sort_pcs(request, &pcs, &pc_count);
    if (err != 0) {
        return err;
    }
    struct hs_symbol_builder builder;
    err = hs_symbol_builder_init(&builder, pcs, pc_count);
    if (err == 0) {
        bool is_jit = strcmp(request->path, HS_SYMBOL_PATH_ANON) == 0;
        err = is_jit ? name_jit_code(options, request, &builder)
                     : name_elf_code(options, request, &builder);
        if (err == 0) {
            err = hs_symbol_builder_finish(&builder, request->rel_pcs, request->rel_pc_count,
                                           ret_table);
        }
        hs_symbol_builder_deinit(&builder);
    }
    free(pcs);
    return err;
}
