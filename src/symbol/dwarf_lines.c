/*
 * Finds a unit's line number program, and makes paths of its files. See dwarf_lines.h.
 */
#include "symbol/dwarf_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"

/* The bytes of a section. If it was compressed, libdw has already unpacked it in place. */
static struct hs_line_bytes bytes_of(Elf_Scn *scn, const GElf_Shdr *shdr)
{
    Elf_Data *data = shdr->sh_flags & SHF_COMPRESSED ? NULL : elf_getdata(scn, NULL);
    if (shdr->sh_type == SHT_NOBITS || !data || !data->d_buf) {
        return (struct hs_line_bytes){ 0 };
    }
    return (struct hs_line_bytes){ data->d_buf, data->d_size };
}

/*
 * True when `name` is ".debug_WHAT", or the old name ".zdebug_WHAT" of a compressed section; in
 * .dwo files, with ".dwo" behind it.
 */
static bool is_section(const char *name, const char *what, bool is_dwo)
{
    const char *rest = strncmp(name, ".z", 2) == 0 ? name + 2 : name + 1;
    size_t bytes = strlen(what);
    return name[0] == '.' && strncmp(rest, "debug_", 6) == 0 &&
           strncmp(rest + 6, what, bytes) == 0 &&
           strcmp(rest + 6 + bytes, is_dwo ? ".dwo" : "") == 0;
}

void hs_dwarf_lines_sections(Dwarf *dwarf, bool is_dwo, struct hs_line_sections *ret_sections)
{
    struct hs_line_sections found = { 0 };
    struct {
        const char *what;
        struct hs_line_bytes *bytes;
    } const wanted[] = {
        { "line", &found.line },
        { "line_str", &found.line_str },
        { "str", &found.str },
    };
    Elf *elf = dwarf_getelf(dwarf);
    GElf_Ehdr ehdr;
    size_t names;
    Elf_Scn *scn = NULL;
    bool is_readable = gelf_getehdr(elf, &ehdr) && ehdr.e_ident[EI_DATA] == ELFDATA2LSB &&
                       elf_getshdrstrndx(elf, &names) == 0;
    while (is_readable && (scn = elf_nextscn(elf, scn))) {
        GElf_Shdr shdr;
        const char *name = gelf_getshdr(scn, &shdr) ? elf_strptr(elf, names, shdr.sh_name) : NULL;
        for (size_t i = 0; name && i < HS_COUNT_OF(wanted); i++) {
            if (is_section(name, wanted[i].what, is_dwo)) {
                *wanted[i].bytes = bytes_of(scn, &shdr);
            }
        }
    }
    *ret_sections = found;
}

static bool is_split(Dwarf_Die *unit)
{
    uint8_t type;
    return dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) == 0 &&
           type == DW_UT_split_compile;
}

/*
 * An attribute of a unit; for a split unit, the skeleton may have it. Never the other way round:
 * see dwarf_units.h.
 */
static Dwarf_Attribute *unit_attr(Dwarf_Die *unit, unsigned name, Dwarf_Attribute *attr)
{
    return is_split(unit) ? dwarf_attr_integrate(unit, name, attr) : dwarf_attr(unit, name, attr);
}

/* Opens the list of files to which the entries of a split unit refer. */
static int open_split(Dwarf_Die *unit, struct hs_dwarf_lines *lines)
{
    struct hs_line_sections sections;
    if (!is_split(unit)) {
        return 0;
    }
    hs_dwarf_lines_sections(dwarf_cu_getdwarf(unit->cu), true, &sections);
    return hs_line_program_open(&sections, 0, &lines->split);
}

static int read_lines(Dwarf_Die *unit, const struct hs_line_sections *sections, uint64_t code_sva,
                      const uint64_t *pcs, size_t pc_count, struct hs_dwarf_lines *lines)
{
    Dwarf_Attribute attr;
    Dwarf_Word off;
    if (dwarf_formudata(unit_attr(unit, DW_AT_stmt_list, &attr), &off) != 0) {
        return -ENOENT;
    }
    int err = hs_line_program_open(sections, off, &lines->own);
    if (err == 0) {
        err = hs_line_program_find(&lines->own, code_sva, pcs, pc_count, lines->rows);
    }
    if (err == 0) {
        err = open_split(unit, lines) == -ENOMEM ? -ENOMEM : 0;
    }
    return err;
}

int hs_dwarf_lines_open(Dwarf_Die *unit, const struct hs_line_sections *sections, uint64_t code_sva,
                        const uint64_t *pcs, size_t pc_count, struct hs_dwarf_lines *ret_lines)
{
    Dwarf_Attribute attr;
    struct hs_dwarf_lines lines = { .rows = calloc(pc_count + 1, sizeof(*lines.rows)) };
    int err = lines.rows ? read_lines(unit, sections, code_sva, pcs, pc_count, &lines) : -ENOMEM;
    if (err == -ENOMEM) {
        hs_dwarf_lines_close(&lines);
        return err;
    }
    lines.build_folder = dwarf_formstring(unit_attr(unit, DW_AT_comp_dir, &attr));
    *ret_lines = lines;
    return 0;
}

void hs_dwarf_lines_close(struct hs_dwarf_lines *lines)
{
    hs_line_program_close(&lines->own);
    hs_line_program_close(&lines->split);
    free(lines->rows);
    *lines = (struct hs_dwarf_lines){ 0 };
}

/*
 * Appends a path without "/./" and "//". Nothing else is changed, since "a/../" may lead through a
 * symbolic link.
 */
static size_t append_path(char *out, size_t at, const char *path)
{
    while (*path && at + 1 < PATH_MAX) {
        bool is_after_slash = at > 0 && out[at - 1] == '/';
        if (is_after_slash && path[0] == '/') {
            path++;
        } else if (is_after_slash && path[0] == '.' && path[1] == '/') {
            path += 2;
        } else {
            out[at++] = *path++;
        }
    }
    return at;
}

static size_t append_folder(char *out, size_t at, const char *folder)
{
    return folder && *folder ? append_path(out, append_path(out, at, folder), "/") : at;
}

/*
 * The full path of a source file. A relative path is below the folder of the build. But builds that
 * hide that folder (-ffile-prefix-map) contain "./debug/backtrace.c" with the folder "./debug":
 * there "./" stands for the root of the sources, and the path is complete as it is.
 */
static uint32_t path_of(const struct hs_dwarf_lines *lines, const struct hs_line_program *program,
                        uint64_t file_idx, struct hs_symbol_builder *builder)
{
    char whole[PATH_MAX];
    size_t bytes = 0;
    const char *folder, *name;
    const char *build = lines->build_folder;
    if (!hs_line_program_file(program, file_idx, &folder, &name) || !*name) {
        return 0;
    }
    const char *first = folder && *folder && name[0] != '/' ? folder : name;
    if (first[0] != '/') {
        bool is_hidden = build && build[0] != '/' && first[0] == '.' && first[1] == '/';
        bytes = is_hidden ? 0 : append_folder(whole, 0, build);
    }
    if (first != name) {
        bytes = append_folder(whole, bytes, folder);
    }
    bytes = append_path(whole, bytes, name);
    whole[bytes] = '\0';
    return hs_symbol_builder_string(builder, whole);
}

void hs_dwarf_lines_of_pc(const struct hs_dwarf_lines *lines, size_t i,
                          struct hs_symbol_builder *builder, uint32_t *ret_file_off,
                          uint32_t *ret_line)
{
    const struct hs_line_row *row = &lines->rows[i];
    *ret_file_off = row->is_found ? path_of(lines, &lines->own, row->file_idx, builder) : 0;
    *ret_line = row->is_found ? row->line : 0;
}

void hs_dwarf_lines_of_call(const struct hs_dwarf_lines *lines, Dwarf_Die *inlined,
                            struct hs_symbol_builder *builder, uint32_t *ret_file_off,
                            uint32_t *ret_line)
{
    const struct hs_line_program *program = lines->split.file_count ? &lines->split : &lines->own;
    Dwarf_Attribute attr;
    Dwarf_Word file_idx = 0, line = 0;
    *ret_file_off = 0;
    *ret_line = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &line) != 0 ||
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &file_idx) != 0) {
        return;
    }
    *ret_file_off = path_of(lines, program, file_idx, builder);
    *ret_line = *ret_file_off != 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}
