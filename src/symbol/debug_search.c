/*
 * Which candidates count. See debug_search.h.
 */
#include "symbol/debug_search.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbol/target_files.h"
#include "util/buf.h"

void hs_debug_search_note_other(struct hs_debug_search *search, const struct hs_elf_file *file)
{
    struct hs_buf text = HS_BUF_INIT;
    if (search->files->other || file->build_id_bytes == 0 || search->wanted_id_bytes == 0) {
        return;
    }
    hs_buf_printf(&text, "%s (Build ID: ", file->path);
    for (size_t i = 0; i < file->build_id_bytes && i < HS_DEBUG_SEARCH_ID_BYTES_MAX; i++) {
        hs_buf_printf(&text, "%02x", file->build_id[i]);
    }
    hs_buf_char(&text, ')');
    search->files->other = strdup(hs_buf_text(&text));
    hs_buf_deinit(&text);
}

bool hs_debug_search_has_id(const struct hs_elf_file *file, const uint8_t *id, size_t id_bytes)
{
    return file->build_id_bytes == id_bytes && memcmp(file->build_id, id, id_bytes) == 0;
}

bool hs_debug_search_is_done(const struct hs_debug_search *search)
{
    return search->files->module.has_dwarf || search->files->debug.has_dwarf;
}

static bool is_proven(const struct hs_debug_search *search, const struct hs_elf_file *file,
                      enum hs_debug_proof proof, uint32_t crc)
{
    if (search->wanted_id_bytes > 0) {
        return hs_debug_search_has_id(file, search->wanted_id, search->wanted_id_bytes);
    }
    return proof == HS_DEBUG_PROOF_GIVEN ||
           (proof == HS_DEBUG_PROOF_CRC && hs_elf_file_crc(file) == crc);
}

static void keep(struct hs_debug_search *search, struct hs_elf_file *candidate)
{
    struct hs_debug_files *files = search->files;
    bool has_better = candidate->has_dwarf || (candidate->has_symtab && !files->module.has_symtab &&
                                               !files->debug.has_symtab);
    if (has_better) {
        hs_elf_file_close(&files->debug);
        files->debug = *candidate;
    } else if (!files->module.elf && !candidate->has_symtab) {
        files->module = *candidate;
        files->module_err = 0;
    } else {
        hs_elf_file_close(candidate);
    }
}

void hs_debug_search_take(struct hs_debug_search *search, enum hs_debug_proof proof, uint32_t crc,
                          struct hs_elf_file *file)
{
    if (!file->is_loadable || !is_proven(search, file, proof, crc)) {
        search->files->has_refused |= file->is_loadable;
        if (file->is_loadable && proof == HS_DEBUG_PROOF_GIVEN) {
            hs_debug_search_note_other(search, file);
        }
        hs_elf_file_close(file);
        return;
    }
    keep(search, file);
}

void hs_debug_search_try(struct hs_debug_search *search, enum hs_debug_proof proof, uint32_t crc,
                         const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    struct hs_elf_file file;
    if (hs_debug_search_is_done(search) || bytes < 0 || (size_t)bytes >= sizeof(path) ||
        hs_elf_file_open(path, &file) != 0) {
        return;
    }
    hs_debug_search_take(search, proof, crc, &file);
}

void hs_debug_search_try_in_roots(struct hs_debug_search *search, enum hs_debug_proof proof,
                                  uint32_t crc, const char *format, ...)
{
    char path[PATH_MAX];
    const struct hs_target_files *held = search->options ? search->options->target_files : NULL;
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    for (size_t i = 0;
         !hs_debug_search_is_done(search) && bytes > 0 && (size_t)bytes < sizeof(path); i++) {
        struct hs_elf_file file;
        int fd = hs_target_files_open_in_root(held, i, path);
        if (fd == -ERANGE) {
            return;
        }
        if (fd >= 0 && hs_elf_file_open_fd(fd, path, &file) == 0) {
            hs_debug_search_take(search, proof, crc, &file);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
}
