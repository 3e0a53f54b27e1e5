/*
 * See folded_names.h. One pass over the table finds the symbols that begin where a wanted function
 * with several symbols does; only their names are read. Without such a function there is no pass.
 */
#include "symbol/folded_names.h"

#include <dwarf.h>
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
/* So many symbols of one name are looked at; those of real programs are fewer. */
#define EQUAL_MAX 64U

#define NONE      UINT32_MAX

/* The reading of a symbol table. */
struct search {
    struct hs_folded_names *folded;
    uint64_t *starts; /* ascending, each once */
    size_t start_count;
    struct hs_pc_index index; /* of starts */
};

static int compare_symbols(const void *left, const void *right)
{
    const struct hs_folded_symbol *a = left, *b = right;
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
    return (name[1] == 'Z' && strncmp(name, "_ZT", 3) != 0) || name[1] == 'R';
}

static bool is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static int take(struct hs_folded_names *folded, const GElf_Sym *sym, const char *name)
{
    int err = hs_array_reserve(&folded->symbols, &folded->symbol_capacity, folded->symbol_count + 1,
                               sizeof(*folded->symbols));
    if (err == 0) {
        folded->symbols[folded->symbol_count++] = (struct hs_folded_symbol){
            .sva = sym->st_value,
            .size_bytes = sym->st_size,
            .name = name,
            .is_local = GELF_ST_BIND(sym->st_info) == STB_LOCAL,
            .is_mangled = is_mangled(name),
            .next_equal = NONE,
        };
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
        bool is_wanted = name && *name && (!is_mangled(name) || is_telling(name));
        err = is_wanted ? take(search->folded, sym, name) : 0;
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

/* The length of a name without a version and without the suffix of a clone. */
static size_t bare_bytes(const char *name)
{
    return strcspn(name, "@.");
}

/* Lists the symbols whose names are not mangled by their names. */
static int list_plain(struct hs_folded_names *folded)
{
    int err = 0;
    for (size_t i = 0; i < folded->symbol_count && i < NONE && err == 0; i++) {
        struct hs_folded_symbol *symbol = &folded->symbols[i];
        uint32_t id;
        bool is_new;
        if (symbol->is_mangled) {
            continue;
        }
        err = hs_array_reserve(&folded->first_plain, &folded->plain_capacity,
                               (size_t)folded->plain_ids.count + 1, sizeof(*folded->first_plain));
        err = err ? err
                  : hs_intern_put(&folded->plain_ids,
                                  hs_intern_hash(symbol->name, bare_bytes(symbol->name)), &id,
                                  &is_new);
        if (err == 0) {
            symbol->next_equal = is_new ? NONE : folded->first_plain[id];
            folded->first_plain[id] = (uint32_t)i;
        }
    }
    return err;
}

int hs_folded_names_find(struct hs_folded_names *ret_folded, const struct hs_elf_file *file,
                         uint32_t section_type, const struct hs_symbol_builder *builder,
                         const struct hs_elf_name *names)
{
    *ret_folded = (struct hs_folded_names){ 0 };
    struct search search = { .folded = ret_folded };
    int err = find_starts(&search, names, builder->pc_count);
    if (err == 0 && search.start_count > 0) {
        err = scan_file(&search, file, section_type);
    }
    if (err == 0 && ret_folded->symbol_count > 0) {
        qsort(ret_folded->symbols, ret_folded->symbol_count, sizeof(*ret_folded->symbols),
              compare_symbols);
        err = list_plain(ret_folded);
    }
    hs_pc_index_deinit(&search.index);
    free(search.starts);
    return err;
}

void hs_folded_names_deinit(struct hs_folded_names *folded)
{
    hs_intern_deinit(&folded->plain_ids);
    for (size_t i = 0; i < folded->symbol_count; i++) {
        free(folded->symbols[i].copy);
    }
    free(folded->first_plain);
    free(folded->symbols);
    *folded = (struct hs_folded_names){ 0 };
}

/* --- what units define --- */

static const char *string_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

/* The address of a function's code; false: there is none, because it was dropped. */
static bool has_code(Dwarf_Die *function, uint64_t *ret_sva)
{
    Dwarf_Addr sva;
    /* Linkers put 0, 1 or the highest addresses in the place of dropped code. */
    if (dwarf_lowpc(function, &sva) != 0 || sva <= 1 || sva >= UINT64_MAX - 1) {
        return false;
    }
    *ret_sva = sva;
    return true;
}

/*
 * Is this the definition of the symbol's function? A local one without code must be in the unit of
 * the code that is left: other units may have another function of that name.
 */
static bool is_of(const struct hs_folded_symbol *symbol, Dwarf_Die *function, const uint64_t *pcs,
                  size_t pc_count)
{
    Dwarf_Attribute attr;
    uint64_t sva;
    if ((dwarf_attr_integrate(function, DW_AT_external, &attr) == NULL) != symbol->is_local) {
        return false;
    }
    if (has_code(function, &sva)) {
        return sva == symbol->sva;
    }
    size_t i = hs_pc_first(pcs, pc_count, symbol->sva);
    return !symbol->is_local || (i < pc_count && pcs[i] - symbol->sva < symbol->size_bytes);
}

/* The name by which the linker knows a function. */
static const char *linker_name(Dwarf_Die *function)
{
    const char *name = string_of(function, DW_AT_linkage_name);
    return name ? name : string_of(function, DW_AT_name);
}

int hs_folded_names_add(struct hs_folded_names *folded, Dwarf_Die *function, uint64_t sva,
                        uint64_t size_bytes)
{
    const char *name = linker_name(function);
    if (!name || !*name || is_mangled(name)) {
        return 0;
    }
    int err = hs_array_reserve(&folded->symbols, &folded->symbol_capacity, folded->symbol_count + 1,
                               sizeof(*folded->symbols));
    char *copy = err == 0 ? strdup(name) : NULL;
    if (!copy) {
        return -ENOMEM;
    }
    folded->symbols[folded->symbol_count++] = (struct hs_folded_symbol){ .sva = sva,
                                                                         .size_bytes = size_bytes,
                                                                         .name = copy,
                                                                         .copy = copy,
                                                                         .is_defined = true,
                                                                         .next_equal = NONE };
    return 0;
}

static void take_function(struct hs_folded_names *folded, Dwarf_Die *function, const uint64_t *pcs,
                          size_t pc_count)
{
    Dwarf_Attribute attr;
    uint32_t id, steps = 0;
    const char *name = linker_name(function);
    if (!name || dwarf_attr(function, DW_AT_declaration, &attr) ||
        !hs_intern_find(&folded->plain_ids, hs_intern_hash(name, bare_bytes(name)), &id)) {
        return;
    }
    for (uint32_t i = folded->first_plain[id]; i != NONE && steps < EQUAL_MAX;
         i = folded->symbols[i].next_equal) {
        struct hs_folded_symbol *symbol = &folded->symbols[i];
        symbol->is_defined = symbol->is_defined || is_of(symbol, function, pcs, pc_count);
        steps++;
    }
}

void hs_folded_names_take_unit(struct hs_folded_names *folded, Dwarf_Die *unit, const uint64_t *pcs,
                               size_t pc_count)
{
    Dwarf_Die child;
    if (folded->plain_ids.count == 0 || dwarf_child(unit, &child) != 0) {
        return;
    }
    do {
        if (dwarf_tag(&child) == DW_TAG_subprogram) {
            take_function(folded, &child, pcs, pc_count);
        }
    } while (dwarf_siblingof(&child, &child) == 0);
}

/* --- marks --- */

/* The name without a version and without the suffix of a clone, demangled. 0: it says nothing. */
static uint32_t readable_name(struct hs_symbol_builder *builder,
                              const struct hs_folded_symbol *symbol)
{
    char name[4096];
    size_t bytes = bare_bytes(symbol->name);
    if (bytes >= sizeof(name) || (!symbol->is_mangled && !symbol->is_defined)) {
        return 0;
    }
    memcpy(name, symbol->name, bytes);
    name[bytes] = '\0';
    struct hs_symbol_name both = hs_symbol_builder_name(builder, name);
    bool is_telling = both.function_off != both.system_name_off;
    return is_telling == symbol->is_mangled ? both.function_off : 0;
}

/* Joins the different names of symbols [first, end). Returns the offset of the text; 0: there is
 * only one name. */
static uint32_t join_names(struct hs_symbol_builder *builder, const struct hs_folded_names *folded,
                           size_t first, size_t end)
{
    uint32_t offs[NAMES_MAX];
    uint32_t count = 0, off = 0;
    struct hs_buf text = HS_BUF_INIT;
    for (size_t i = first; i < end && count < NAMES_MAX; i++) {
        uint32_t name_off = readable_name(builder, &folded->symbols[i]), k = 0;
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
                 const struct hs_folded_symbol *function, uint32_t folded_off)
{
    for (size_t i = hs_pc_first(builder->pcs, builder->pc_count, function->sva);
         i < builder->pc_count && builder->pcs[i] - function->sva < function->size_bytes; i++) {
        if ((!names[i].name || names[i].start_sva == function->sva) &&
            hs_symbol_builder_has(builder, i)) {
            hs_symbol_builder_folded(builder, i, HS_FOLDED_MARK, folded_off);
        }
    }
}

int hs_folded_names_mark(struct hs_folded_names *folded, struct hs_symbol_builder *builder,
                         const struct hs_elf_name *names)
{
    if (folded->symbol_count > 0) {
        qsort(folded->symbols, folded->symbol_count, sizeof(*folded->symbols), compare_symbols);
    }
    for (size_t i = 0, end; i < folded->symbol_count && builder->err == 0; i = end) {
        const struct hs_folded_symbol *one = &folded->symbols[i];
        end = i + 1;
        while (end < folded->symbol_count && folded->symbols[end].sva == one->sva &&
               folded->symbols[end].size_bytes == one->size_bytes) {
            end++;
        }
        uint32_t folded_off = end - i > 1 ? join_names(builder, folded, i, end) : 0;
        if (folded_off != 0) {
            mark(builder, names, one, folded_off);
        }
    }
    return builder->err;
}
