/*
 * Compares a symbol table with sorted addresses in one pass. See elf_names.h.
 */
#include "symbol/elf_names.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf_symbols.h"
#include "symbol/pc_index.h"

#define SECTIONS_MAX 65536U
/*
 * The most bytes that a label without a size covers. Start-up code and similar code is short, and
 * what follows it may be functions whose symbols were stripped.
 */
#define LABEL_REACH_BYTES 512U

/* For each address, the last symbol that begins at or before it, whatever it covers. */
struct last_label {
    uint64_t sva;
    uint64_t section_end_sva;
    const char *name; /* NULL: that symbol has a size, so it is not a label */
    uint32_t rank;
    bool is_set;
};

struct section_bounds {
    uint64_t end_sva;
    bool is_code;
};

struct scan {
    const uint64_t *pcs;
    size_t pc_count;
    struct hs_pc_index index; /* of pcs */
    struct hs_elf_name *names;
    const bool *is_done;
    struct last_label *labels;
    struct section_bounds *sections;
    size_t section_count;
};

/* The rank of a symbol; higher is better. Names decide only between equal ranks. */
static uint32_t rank_of(const GElf_Sym *sym)
{
    uint32_t type = GELF_ST_TYPE(sym->st_info) == STT_NOTYPE ? 0 : 4;
    switch (GELF_ST_BIND(sym->st_info)) {
    case STB_GLOBAL:
        return type + 3;
    case STB_WEAK:
        return type + 2;
    case STB_LOCAL:
        return type + 1;
    default:
        return type;
    }
}

static bool is_better_name(const char *name, const char *than)
{
    size_t bars = strspn(name, "_"), than_bars = strspn(than, "_");
    if (bars != than_bars) {
        return bars < than_bars;
    }
    size_t bytes = strlen(name), than_bytes = strlen(than);
    if (bytes != than_bytes) {
        return bytes < than_bytes;
    }
    return strcmp(name, than) < 0;
}

static bool is_better(const struct hs_elf_name *old, uint64_t start_sva, uint32_t rank,
                      const char *name)
{
    if (!old->name || start_sva != old->start_sva) {
        return !old->name || start_sva > old->start_sva;
    }
    return rank != old->rank ? rank > old->rank : is_better_name(name, old->name);
}

/* False for labels of the assembler, and for ARM's marks between code and data. */
static bool is_real_name(const char *name)
{
    return name && *name && name[0] != '$' && strncmp(name, ".L", 2) != 0;
}

static void take_sized(struct scan *scan, const GElf_Sym *sym, size_t first, const char *name)
{
    uint32_t rank = rank_of(sym);
    for (size_t i = first; i < scan->pc_count && scan->pcs[i] - sym->st_value < sym->st_size; i++) {
        struct hs_elf_name *one = &scan->names[i];
        if (scan->is_done[i]) {
            continue;
        }
        bool has_others = one->name && one->start_sva == sym->st_value;
        if (is_better(one, sym->st_value, rank, name)) {
            *one = (struct hs_elf_name){ name, sym->st_value, rank, has_others };
        } else {
            one->has_others |= has_others;
        }
    }
}

/* Notes at the first address behind the symbol that it is there. */
static void take_label(struct scan *scan, const GElf_Sym *sym, size_t first, const char *name)
{
    struct last_label *label = &scan->labels[first];
    if (label->is_set && label->sva > sym->st_value) {
        return;
    }
    uint32_t rank = rank_of(sym);
    if (label->is_set && label->sva == sym->st_value && !name) {
        label->name = NULL;
        return;
    }
    if (label->is_set && label->sva == sym->st_value &&
        (!label->name || label->rank > rank ||
         (label->rank == rank && !is_better_name(name, label->name)))) {
        return;
    }
    *label = (struct last_label){ .sva = sym->st_value,
                                  .section_end_sva = scan->sections[sym->st_shndx].end_sva,
                                  .name = name,
                                  .rank = rank,
                                  .is_set = true };
}

static void take_symbol(struct scan *scan, Elf *elf, size_t strings_idx, const GElf_Sym *sym)
{
    unsigned type = GELF_ST_TYPE(sym->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
        sym->st_shndx == SHN_UNDEF || sym->st_shndx >= scan->section_count ||
        !scan->sections[sym->st_shndx].is_code) {
        return;
    }
    size_t first = hs_pc_index_first(&scan->index, sym->st_value);
    if (first == scan->pc_count) {
        return;
    }
    if (sym->st_size > 0) {
        take_label(scan, sym, first, NULL);
        if (scan->pcs[first] - sym->st_value >= sym->st_size) {
            return;
        }
    }
    const char *name = elf_strptr(elf, strings_idx, sym->st_name);
    if (!is_real_name(name)) {
        return;
    }
    if (sym->st_size > 0) {
        take_sized(scan, sym, first, name);
    } else {
        take_label(scan, sym, first, name);
    }
}

static void scan_table(struct scan *scan, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
    const struct hs_elf_symbols table = hs_elf_symbols_of(elf, scn, shdr);
    for (size_t i = 1; i < table.count; i++) {
        GElf_Sym buffer;
        const GElf_Sym *sym = hs_elf_symbols_at(&table, i, &buffer);
        if (sym) {
            take_symbol(scan, elf, table.strings_idx, sym);
        }
    }
}

/*
 * Names addresses by labels. A label reaches to the next symbol, to the end of its section, or
 * LABEL_REACH_BYTES.
 */
static void name_by_labels(struct scan *scan)
{
    const struct last_label *last = NULL;
    for (size_t i = 0; i < scan->pc_count; i++) {
        if (scan->labels[i].is_set) {
            last = &scan->labels[i];
        }
        if (last && last->name && !scan->names[i].name && !scan->is_done[i] &&
            scan->pcs[i] < last->section_end_sva && scan->pcs[i] - last->sva < LABEL_REACH_BYTES) {
            scan->names[i] = (struct hs_elf_name){ last->name, last->sva, last->rank, false };
        }
    }
}

static int read_sections(struct scan *scan, Elf *elf)
{
    size_t count;
    if (elf_getshdrnum(elf, &count) != 0) {
        count = 0;
    }
    scan->section_count = count < SECTIONS_MAX ? count : SECTIONS_MAX;
    scan->sections = calloc(scan->section_count + 1, sizeof(*scan->sections));
    if (!scan->sections) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < scan->section_count; i++) {
        GElf_Shdr shdr;
        Elf_Scn *scn = elf_getscn(elf, i);
        if (scn && gelf_getshdr(scn, &shdr)) {
            scan->sections[i].end_sva = shdr.sh_addr + shdr.sh_size;
            scan->sections[i].is_code = (shdr.sh_flags & SHF_EXECINSTR) != 0;
        }
    }
    return 0;
}

int hs_elf_names_find(const struct hs_elf_file *file, uint32_t section_type, const uint64_t *pcs,
                      size_t pc_count, struct hs_elf_name *names, size_t *ret_found_count)
{
    struct scan scan = { .pcs = pcs, .pc_count = pc_count, .names = names };
    bool *is_done = calloc(pc_count + 1, sizeof(*is_done));
    scan.labels = calloc(pc_count + 1, sizeof(*scan.labels));
    scan.is_done = is_done;
    int err = is_done && scan.labels ? read_sections(&scan, file->elf) : -ENOMEM;
    err = err ? err : hs_pc_index_init(&scan.index, pcs, pc_count);
    if (err == 0) {
        for (size_t i = 0; i < pc_count; i++) {
            is_done[i] = names[i].name != NULL;
        }
        for (size_t i = 1; i < scan.section_count; i++) {
            GElf_Shdr shdr;
            Elf_Scn *scn = elf_getscn(file->elf, i);
            if (scn && gelf_getshdr(scn, &shdr) && shdr.sh_type == section_type) {
                scan_table(&scan, file->elf, scn, &shdr);
            }
        }
        name_by_labels(&scan);
        size_t found_count = 0;
        for (size_t i = 0; i < pc_count; i++) {
            found_count += !is_done[i] && names[i].name;
        }
        *ret_found_count = found_count;
    }
    hs_pc_index_deinit(&scan.index);
    free(scan.sections);
    free(scan.labels);
    free(is_done);
    return err;
}
