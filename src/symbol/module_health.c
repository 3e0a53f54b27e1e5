/*
 * Examines a module: see module_health.h.
 */
#include "symbol/module_health.h"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "rt/base.h"
#include "rt/text.h"
#include "symbol/debug_files.h"
#include "symbol/debug_image.h"
#include "symbol/elf_file.h"
#include "symbol/mini_debug.h"

#define SECTIONS_MAX 65536U
#define PHDRS_MAX    65536U
#define ENTRIES_MAX  (UINT32_C(1) << 24)

/* Encodings of pointers in .eh_frame and its header: the width, and "there is none". */
#define ENC_OMIT          0xffU
#define ENC_WIDTH_MASK    0x07U
#define ENC_DEFAULT       0x00U
#define ENC_SIGNED        0x08U
#define ENC_BASE_MASK     0x70U
#define ENC_PCREL         0x10U

#define STUB_SECTIONS_MAX 4U

/* Functions are seldom larger on average. */
#define FRAME_POINTER_EACH_BYTES 1024U

/* --- unwind tables --- */

static unsigned width_of(uint8_t encoding)
{
    static const uint8_t widths[ENC_WIDTH_MASK + 1] = { 8, 0, 2, 4, 8 };
    return encoding == ENC_OMIT ? 0 : widths[encoding & ENC_WIDTH_MASK];
}

/*
 * The encoding of the addresses that belong to a CIE: the value for the letter R of its
 * augmentation.
 */
static uint8_t pointer_encoding(const Dwarf_CIE *cie)
{
    const uint8_t *at = cie->augmentation_data;
    const uint8_t *end = at ? at + cie->augmentation_data_size : NULL;
    const char *letters = cie->augmentation;
    if (!letters || letters[0] != 'z') {
        return ENC_DEFAULT;
    }
    for (letters++; *letters && at < end; letters++) {
        if (*letters == 'R') {
            return *at;
        }
        at += *letters == 'P' ? 1 + width_of(*at) : *letters == 'L' ? 1 : 0;
    }
    return ENC_DEFAULT;
}

struct code_range {
    uint64_t start_sva, size_bytes;
};

/* Two kinds of code sections. */
struct code {
    uint64_t written_bytes; /* code of the module's author */
    struct code_range stubs[STUB_SECTIONS_MAX];
    size_t stub_count; /* stubs of the linker, with rules of the linker */
};

static void find_code(const struct hs_elf_file *file, struct code *ret_code)
{
    size_t strings_idx;
    Elf_Scn *scn = NULL;
    struct code code = { 0 };
    bool has_names = elf_getshdrstrndx(file->elf, &strings_idx) == 0;
    for (unsigned i = 0; has_names && i < SECTIONS_MAX && (scn = elf_nextscn(file->elf, scn));
         i++) {
        GElf_Shdr shdr;
        if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS ||
            !(shdr.sh_flags & SHF_EXECINSTR)) {
            continue;
        }
        const char *name = elf_strptr(file->elf, strings_idx, shdr.sh_name);
        if (!name || !hs_text_starts_with(name, ".plt")) {
            code.written_bytes += shdr.sh_size & UINT32_MAX;
        } else if (code.stub_count < HS_COUNT_OF(code.stubs)) {
            code.stubs[code.stub_count++] = (struct code_range){ shdr.sh_addr, shdr.sh_size };
        }
    }
    *ret_code = code;
}

static bool is_stub(const struct code *code, uint64_t sva)
{
    for (size_t i = 0; i < code->stub_count; i++) {
        if (sva - code->stubs[i].start_sva < code->stubs[i].size_bytes) {
            return true;
        }
    }
    return false;
}

/* The start of a rule's code and its size: two numbers of the same width. */
static struct code_range range_of(const Dwarf_FDE *fde, uint8_t encoding, uint64_t at_sva)
{
    unsigned width = width_of(encoding);
    struct code_range range = { 0 };
    if (width > 0 && fde->end - fde->start >= 2 * (ptrdiff_t)width) {
        /* Little-endian, like all supported machines. */
        memcpy(&range.start_sva, fde->start, width);
        memcpy(&range.size_bytes, fde->start + width, width);
        if (encoding & ENC_SIGNED) {
            unsigned unused_bits = 64 - 8 * width;
            range.start_sva = (uint64_t)((int64_t)(range.start_sva << unused_bits) >> unused_bits);
        }
        range.start_sva += (encoding & ENC_BASE_MASK) == ENC_PCREL ? at_sva : 0;
    }
    return range;
}

static uint64_t count_covered(const struct hs_elf_file *file, Elf_Scn *scn, const struct code *code)
{
    const unsigned char *ident = (const unsigned char *)elf_getident(file->elf, NULL);
    Elf_Data *data = elf_rawdata(scn, NULL);
    GElf_Shdr shdr;
    Dwarf_Off off = 0, next, cie_off = (Dwarf_Off)-1;
    Dwarf_CFI_Entry entry, cie;
    uint64_t covered_bytes = 0;
    uint8_t encoding = ENC_DEFAULT;
    if (!data || !gelf_getshdr(scn, &shdr)) {
        return 0;
    }
    for (uint32_t i = 0; i < ENTRIES_MAX; i++, off = next) {
        int r = dwarf_next_cfi(ident, data, true, off, &next, &entry);
        if (r == 1 || next <= off) {
            break;
        }
        if (r != 0 || dwarf_cfi_cie_p(&entry)) {
            continue;
        }
        if (entry.fde.CIE_pointer != cie_off) {
            Dwarf_Off unused;
            cie_off = entry.fde.CIE_pointer;
            bool is_cie = dwarf_next_cfi(ident, data, true, cie_off, &unused, &cie) == 0 &&
                          dwarf_cfi_cie_p(&cie);
            encoding = is_cie ? pointer_encoding(&cie.cie) : ENC_OMIT;
        }
        uint64_t at_sva = shdr.sh_addr + (uint64_t)(entry.fde.start - (const uint8_t *)data->d_buf);
        struct code_range range = range_of(&entry.fde, encoding, at_sva);
        covered_bytes += is_stub(code, range.start_sva) ? 0 : range.size_bytes & UINT32_MAX;
    }
    return covered_bytes;
}

/*
 * A running program finds the header by its segment. The third byte of the header says how rules
 * are counted.
 */
static enum hs_unwind_tables find_header(const struct hs_elf_file *file)
{
    size_t count, bytes;
    const uint8_t *raw = (const uint8_t *)elf_rawfile(file->elf, &bytes);
    if (elf_getphdrnum(file->elf, &count) != 0) {
        return HS_UNWIND_TABLES_UNFOUND;
    }
    for (size_t i = 0; i < count && i < PHDRS_MAX; i++) {
        GElf_Phdr phdr;
        if (!gelf_getphdr(file->elf, (int)i, &phdr) || phdr.p_type != PT_GNU_EH_FRAME) {
            continue;
        }
        bool is_sorted = raw && phdr.p_filesz >= 4 && phdr.p_offset < bytes &&
                         bytes - phdr.p_offset >= 4 && raw[phdr.p_offset + 2] != ENC_OMIT &&
                         raw[phdr.p_offset + 3] != ENC_OMIT;
        return is_sorted ? HS_UNWIND_TABLES_SORTED : HS_UNWIND_TABLES_PLAIN;
    }
    return HS_UNWIND_TABLES_UNFOUND;
}

static bool has_bytes(Elf_Scn *scn)
{
    GElf_Shdr shdr;
    return scn && gelf_getshdr(scn, &shdr) && shdr.sh_type != SHT_NOBITS && shdr.sh_size > 0;
}

void hs_module_health_tables(const struct hs_elf_file *file, struct hs_module_health *health)
{
    struct code code;
    Elf_Scn *scn = hs_elf_file_section(file, ".eh_frame");
    find_code(file, &code);
    health->code_bytes = code.written_bytes;
    if (has_bytes(scn)) {
        health->covered_bytes = count_covered(file, scn, &code);
    }
    if (health->covered_bytes > 0) {
        health->tables = find_header(file);
    } else if (has_bytes(hs_elf_file_section(file, ".debug_frame"))) {
        health->tables = HS_UNWIND_TABLES_DEBUG;
    }
}

static bool has_section(const struct hs_elf_file *file, const char *name)
{
    return file->elf && has_bytes(hs_elf_file_section(file, name));
}

static enum hs_unwind_files find_unwind_files(const struct hs_debug_files *files)
{
    struct hs_elf_file mini;
    if (has_section(&files->module, ".debug_frame")) {
        return HS_UNWIND_FILES_MODULE;
    }
    if (has_section(&files->debug, ".debug_frame")) {
        return HS_UNWIND_FILES_DEBUG;
    }
    if (hs_mini_debug_open(&files->module, &mini) != 0) {
        return HS_UNWIND_FILES_NONE;
    }
    bool has_rules = has_section(&mini, ".debug_frame") || has_section(&mini, ".eh_frame");
    hs_elf_file_close(&mini);
    return has_rules ? HS_UNWIND_FILES_MINI : HS_UNWIND_FILES_NONE;
}

/* Is there a `push %rbp; mov %rsp,%rbp` for every so many bytes of code? */
static bool has_frame_pointers(const struct hs_elf_file *file)
{
    static const uint8_t prologue[] = { 0x55, 0x48, 0x89, 0xe5 };
    Elf_Data *data = NULL;
    Elf_Scn *scn = hs_elf_file_section(file, ".text");
    size_t count = 0;
    if (!has_bytes(scn) || !(data = elf_rawdata(scn, NULL)) || !data->d_buf) {
        return false;
    }
    const uint8_t *at = data->d_buf, *end = at + data->d_size;
    while ((at = memmem(at, (size_t)(end - at), prologue, sizeof(prologue)))) {
        at += sizeof(prologue);
        count++;
    }
    return count > 0 && data->d_size / count <= FRAME_POINTER_EACH_BYTES;
}

/* --- names --- */

static void look_at_names(const struct hs_debug_files *files, struct hs_module_health *health)
{
    const struct hs_elf_file *module = &files->module;
    const struct hs_elf_file *dwarf = hs_debug_files_dwarf(files);
    health->is_debug_unreadable = dwarf && hs_debug_image_is_unreadable(dwarf);
    if (dwarf && !health->is_debug_unreadable) {
        health->names = HS_MODULE_NAMES_DEBUG;
    } else if (module->has_symtab || files->debug.has_symtab) {
        health->names = HS_MODULE_NAMES_SYMTAB;
    } else if (hs_elf_file_section(module, ".gnu_debugdata")) {
        health->names = HS_MODULE_NAMES_MINI;
    } else if (has_bytes(hs_elf_file_section(module, ".dynsym"))) {
        health->names = HS_MODULE_NAMES_EXPORTED;
    }
    if (files->debug.elf && health->names >= HS_MODULE_NAMES_SYMTAB && dwarf != module) {
        snprintf(health->debug_path, sizeof(health->debug_path), "%s", files->debug.path);
    }
}

int hs_module_health_look(const char *path, const struct hs_symbol_options *options,
                          struct hs_module_health *ret_health)
{
    const struct hs_symbol_request request = { .path = path };
    struct hs_module_health health = { 0 };
    struct hs_debug_files files;
    hs_debug_files_find(options, &request, &files);
    int err = files.module.elf ? 0 : files.module_err;
    if (err == 0) {
        health.has_code = hs_elf_file_code_sva(&files.module) != 0;
        health.has_build_id = files.module.build_id_bytes > 0;
        hs_module_health_tables(&files.module, &health);
        health.unwind_files = find_unwind_files(&files);
        health.has_frame_pointers = has_frame_pointers(&files.module);
        look_at_names(&files, &health);
        *ret_health = health;
    }
    hs_debug_files_close(&files);
    return err;
}
