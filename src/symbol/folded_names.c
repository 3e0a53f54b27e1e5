/*
 * See folded_names.h. One pass over the table finds the symbols that begin where a wanted function
 * with several symbols does; only their names are read. Without such a function there is no pass.
 */
#include "symbol/folded_names.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf_symbols.h"
#include "symbol/pc_index.h"
#include "symbol/pc_search.h"
#include "util/array.h"
#include "util/buf.h"

/* Further names are left out. */
#define NAMES_MAX 32U

/* A symbol that begins where a function of an address does. */
struct candidate {
    uint64_t sva, size_bytes;
    const char *name; /* in the file */
};

struct search {
    uint64_t *starts; /* ascending, each once */
    size_t start_count;
    struct hs_pc_index index; /* of starts */
    struct candidate *found;
    size_t found_count, found_capacity;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->sva != b->sva) {
        return a->sva < b->sva ? -1 : 1;
    }
    return a->size_bytes != b->size_bytes ? (a->size_bytes < b->size_bytes ? -1 : 1)
                                          : strcmp(a->name, b->name);
}

/* The starts of functions that have several symbols: of others no second name can be found. */
static int find_starts(struct search *search, const struct hs_elf_name *names, size_t count)
{
    search->starts = malloc((count + 1) * sizeof(*search->starts));
    if (!search->starts) {
        return -ENOMEM;
    }
    size_t all = 0;
    for (size_t i = 0; i < count; i++) {
        if (names[i].name && names[i].has_others) {
            search->starts[all++] = names[i].start_sva;
        }
    }
    search->start_count = hs_pcs_sort(search->starts, all);
    return hs_pc_index_init(&search->index, search->starts, search->start_count);
}

static bool is_start(const struct search *search, uint64_t sva)
{
    size_t i = hs_pc_index_first(&search->index, sva);
    return i < search->start_count && search->starts[i] == sva;
}

/* A mangled name of C++ or Rust that can be one of its own. */
static bool is_telling(const char *name)
{
    return name && name[0] == '_' &&
           ((name[1] == 'Z' && strncmp(name, "_ZT", 3) != 0) || name[1] == 'R');
}

static int take(struct search *search, const GElf_Sym *sym, const char *name)
{
    int err = hs_array_reserve(&search->found, &search->found_capacity, search->found_count + 1,
                               sizeof(*search->found));
    if (err == 0) {
        search->found[search->found_count++] =
            (struct candidate){ sym->st_value, sym->st_size, name };
    }
    return err;
}

static int scan_table(struct search *search, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
    const struct hs_elf_symbols table = hs_elf_symbols_of(elf, scn, shdr);
    int err = 0;
    for (size_t i = 1; i < table.count && err == 0; i++) {
        GElf_Sym buffer;
        const GElf_Sym *sym = hs_elf_symbols_at(&table, i, &buffer);
        if (!sym || GELF_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_size == 0 ||
            sym->st_shndx == SHN_UNDEF || !is_start(search, sym->st_value)) {
            continue;
        }
        const char *name = elf_strptr(elf, table.strings_idx, sym->st_name);
        err = is_telling(name) ? take(search, sym, name) : 0;
    }
    return err;
}

static int scan_file(struct search *search, const struct hs_elf_file *file, uint32_t section_type)
{
    size_t count;
    int err = 0;
    if (elf_getshdrnum(file->elf, &count) != 0) {
        return 0;
    }
    for (size_t i = 1; i < count && err == 0; i++) {
        GElf_Shdr shdr;
        Elf_Scn *scn = elf_getscn(file->elf, i);
        if (scn && gelf_getshdr(scn, &shdr) && shdr.sh_type == section_type) {
            err = scan_table(search, file->elf, scn, &shdr);
        }
    }
    return err;
}

/* The name without a version and without the suffix of a clone, demangled. */
static uint32_t readable_name(struct hs_symbol_builder *builder, const char *raw)
{
    char name[4096];
    size_t bytes = strcspn(raw, "@.");
    if (bytes >= sizeof(name)) {
        return 0;
    }
    memcpy(name, raw, bytes);
    name[bytes] = '\0';
    struct hs_symbol_name both = hs_symbol_builder_name(builder, name);
    return both.function_off != both.system_name_off ? both.function_off : 0;
}

/* Joins the different names of symbols [first, end). Returns the offset of the text; 0: there is
 * only one name. */
static uint32_t join_names(struct hs_symbol_builder *builder, const struct search *search,
                           size_t first, size_t end)
{
    uint32_t offs[NAMES_MAX];
    uint32_t count = 0, off = 0;
    struct hs_buf text = HS_BUF_INIT;
    for (size_t i = first; i < end && count < NAMES_MAX; i++) {
        uint32_t name_off = readable_name(builder, search->found[i].name), k = 0;
        while (k < count && offs[k] != name_off) {
            k++;
        }
        if (name_off != 0 && k == count) {
            hs_buf_str(&text, count > 0 ? HS_SYMBOL_FOLDED_BETWEEN : "");
            hs_buf_str(&text, builder->err ? "" : builder->table.strings + name_off);
            offs[count++] = name_off;
        }
    }
    if (count > 1 && text.err == 0) {
        off = hs_symbol_builder_string(builder, hs_buf_text(&text));
    }
    builder->err = builder->err ? builder->err : text.err;
    hs_buf_deinit(&text);
    return off;
}

/* Marks the addresses of the function that begins at `sva` and has this size. */
static void mark(struct hs_symbol_builder *builder, const struct hs_elf_name *names,
                 const struct candidate *function, uint32_t folded_off)
{
    for (size_t i = hs_pc_first(builder->pcs, builder->pc_count, function->sva);
         i < builder->pc_count && builder->pcs[i] - function->sva < function->size_bytes; i++) {
        if (names[i].name && names[i].start_sva == function->sva &&
            hs_symbol_builder_has(builder, i)) {
            hs_symbol_builder_folded(builder, i, HS_FOLDED_MARK, folded_off);
        }
    }
}

int hs_folded_names_mark(struct hs_symbol_builder *builder, const struct hs_elf_file *file,
                         uint32_t section_type, const struct hs_elf_name *names)
{
    struct search search = { 0 };
    int err = find_starts(&search, names, builder->pc_count);
    if (err == 0 && search.start_count > 0) {
        err = scan_file(&search, file, section_type);
    }
    if (err == 0 && search.found_count > 0) {
        qsort(search.found, search.found_count, sizeof(*search.found), compare_candidates);
    }
    for (size_t i = 0, end; i < search.found_count && err == 0; i = end) {
        const struct candidate *one = &search.found[i];
        end = i + 1;
        while (end < search.found_count && search.found[end].sva == one->sva &&
               search.found[end].size_bytes == one->size_bytes) {
            end++;
        }
        uint32_t folded_off = end - i > 1 ? join_names(builder, &search, i, end) : 0;
        if (folded_off != 0) {
            mark(builder, names, &search.found[i], folded_off);
        }
        err = builder->err;
    }
    hs_pc_index_deinit(&search.index);
    free(search.starts);
    free(search.found);
    return err;
}
