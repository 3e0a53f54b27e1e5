/*
 * One pass over a symbol table on disk: see symbol_file.h.
 */
#include "collect/inspect/symbol_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTS_MAX         256U
#define NAMES_BYTES_MAX   (UINT64_C(512) << 20)
#define SYMBOLS_MAX       (UINT64_C(1) << 26)
#define SYMBOLS_AT_ONCE   4096U
#define NOTES_BYTES_MAX   4096U
#define BUILD_ID_BYTES    64U
#define BUILD_ID_TYPE     3U /* NT_GNU_BUILD_ID */
#define DEBUG_FILE_FOLDER "/usr/lib/debug/.build-id"

struct elf {
    int fd;
    Elf64_Ehdr head;
    Elf64_Shdr *sections;
};

static bool read_at(int fd, uint64_t off, void *ret_data, size_t bytes)
{
    size_t n = 0;
    while (n < bytes) {
        if (off > INT64_MAX - bytes) {
            return false;
        }
        ssize_t got = pread(fd, (char *)ret_data + n, bytes - n, (off_t)(off + n));
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        n += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static uint64_t file_bytes(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

static bool is_in_file(const struct elf *elf, const Elf64_Shdr *section)
{
    uint64_t bytes = file_bytes(elf->fd);
    return section->sh_offset <= bytes && section->sh_size <= bytes - section->sh_offset;
}

static bool read_head(int fd, Elf64_Ehdr *ret_head)
{
    return file_bytes(fd) > 0 && read_at(fd, 0, ret_head, sizeof(*ret_head)) &&
           memcmp(ret_head->e_ident, ELFMAG, SELFMAG) == 0 &&
           ret_head->e_ident[EI_CLASS] == ELFCLASS64 && ret_head->e_ident[EI_DATA] == ELFDATA2LSB;
}

static bool open_elf(int fd, struct elf *ret_elf)
{
    struct elf elf = { .fd = fd };
    if (!read_head(fd, &elf.head) || elf.head.e_shentsize != sizeof(Elf64_Shdr) ||
        elf.head.e_shnum == 0) {
        return false;
    }
    elf.sections = calloc(elf.head.e_shnum, sizeof(*elf.sections));
    if (!elf.sections ||
        !read_at(fd, elf.head.e_shoff, elf.sections, elf.head.e_shnum * sizeof(*elf.sections))) {
        free(elf.sections);
        return false;
    }
    *ret_elf = elf;
    return true;
}

/* --- symbols ---------------------------------------------------------------------------------- */

#define TYPE_BIT(type) (1U << (type))
#define FUNCTIONS      (TYPE_BIT(STT_FUNC) | TYPE_BIT(STT_GNU_IFUNC))
#define OBJECTS        TYPE_BIT(STT_OBJECT)

/* Which symbols are wanted, and who takes them. */
struct wanted {
    unsigned type_bits;
    hs_symbol_file_fn *take;
    void *ctx;
};

static void take_some(const struct elf *elf, const Elf64_Sym *symbols, size_t count,
                      const char *names, uint64_t names_bytes, const struct wanted *wanted)
{
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        if ((wanted->type_bits & TYPE_BIT(type)) != 0 && symbol->st_shndx != SHN_UNDEF &&
            symbol->st_shndx < elf->head.e_shnum && symbol->st_name < names_bytes) {
            /* A NUL follows the last name. */
            wanted->take(wanted->ctx, names + symbol->st_name, symbol->st_value, symbol->st_size,
                         type);
        }
    }
}

static bool read_table(const struct elf *elf, const Elf64_Shdr *table, const struct wanted *wanted)
{
    const Elf64_Shdr *strings = &elf->sections[table->sh_link];
    uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    Elf64_Sym *symbols = NULL;
    char *names = NULL;
    bool is_ok = false;
    if (!is_in_file(elf, table) || !is_in_file(elf, strings) || count > SYMBOLS_MAX ||
        strings->sh_size > NAMES_BYTES_MAX) {
        return false;
    }
    symbols = malloc(SYMBOLS_AT_ONCE * sizeof(*symbols));
    names = malloc(strings->sh_size + 1);
    if (symbols && names && read_at(elf->fd, strings->sh_offset, names, strings->sh_size)) {
        names[strings->sh_size] = '\0';
        is_ok = true;
        for (uint64_t first = 0; is_ok && first < count; first += SYMBOLS_AT_ONCE) {
            size_t n = count - first < SYMBOLS_AT_ONCE ? (size_t)(count - first) : SYMBOLS_AT_ONCE;
            is_ok = read_at(elf->fd, table->sh_offset + first * sizeof(*symbols), symbols,
                            n * sizeof(*symbols));
            if (is_ok) {
                take_some(elf, symbols, n, names, strings->sh_size, wanted);
            }
        }
    }
    free(symbols);
    free(names);
    return is_ok;
}

static bool read_tables(int fd, uint32_t table_type, const struct wanted *wanted)
{
    struct elf elf;
    bool is_found = false;
    if (!open_elf(fd, &elf)) {
        return false;
    }
    for (unsigned i = 0; i < elf.head.e_shnum && !is_found; i++) {
        const Elf64_Shdr *section = &elf.sections[i];
        if (section->sh_type == table_type && section->sh_entsize == sizeof(Elf64_Sym) &&
            section->sh_link < elf.head.e_shnum) {
            is_found = read_table(&elf, section, wanted);
        }
    }
    free(elf.sections);
    return is_found;
}

bool hs_symbol_file_read(int fd, hs_symbol_file_fn *take, void *ctx)
{
    return read_tables(fd, SHT_SYMTAB, &(struct wanted){ FUNCTIONS, take, ctx });
}

bool hs_symbol_file_read_objects(int fd, uint32_t table_type, hs_symbol_file_fn *take, void *ctx)
{
    return read_tables(fd, table_type, &(struct wanted){ OBJECTS, take, ctx });
}

/* --- which file it is ------------------------------------------------------------------------- */

bool hs_symbol_file_is_program(int fd, const struct hs_remote_memory *memory, uint64_t bias_va)
{
    Elf64_Ehdr head;
    Elf64_Phdr parts[PARTS_MAX], mapped[PARTS_MAX];
    if (!read_head(fd, &head) || head.e_phentsize != sizeof(parts[0]) || head.e_phnum == 0 ||
        head.e_phnum > PARTS_MAX) {
        return false;
    }
    const size_t bytes = head.e_phnum * sizeof(parts[0]);
    if (!read_at(fd, head.e_phoff, parts, bytes)) {
        return false;
    }
    for (unsigned i = 0; i < head.e_phnum; i++) {
        const Elf64_Phdr *part = &parts[i];
        if (part->p_type == PT_LOAD && part->p_offset <= head.e_phoff &&
            head.e_phoff - part->p_offset < part->p_filesz) {
            uint64_t va = bias_va + part->p_vaddr + (head.e_phoff - part->p_offset);
            return hs_remote_memory_read(memory, va, mapped, bytes) == 0 &&
                   memcmp(mapped, parts, bytes) == 0;
        }
    }
    return false;
}

static size_t find_build_id(const uint8_t *notes, size_t bytes, uint8_t ret_id[BUILD_ID_BYTES])
{
    Elf64_Nhdr note;
    size_t at = 0;
    while (bytes - at >= sizeof(note)) {
        memcpy(&note, notes + at, sizeof(note));
        at += sizeof(note);
        size_t name_bytes = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t value_bytes = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name_bytes > bytes - at || value_bytes > bytes - at - name_bytes) {
            return 0;
        }
        if (note.n_type == BUILD_ID_TYPE && note.n_namesz == 4 &&
            memcmp(notes + at, "GNU", 4) == 0 && note.n_descsz > 1 &&
            note.n_descsz <= BUILD_ID_BYTES) {
            memcpy(ret_id, notes + at + name_bytes, note.n_descsz);
            return note.n_descsz;
        }
        at += name_bytes + value_bytes;
    }
    return 0;
}

size_t hs_symbol_file_build_id(int fd, uint8_t ret_id[64])
{
    struct elf elf;
    uint8_t notes[NOTES_BYTES_MAX];
    size_t bytes = 0;
    if (!open_elf(fd, &elf)) {
        return 0;
    }
    for (unsigned i = 0; i < elf.head.e_shnum && bytes == 0; i++) {
        const Elf64_Shdr *section = &elf.sections[i];
        if (section->sh_type == SHT_NOTE && section->sh_size <= sizeof(notes) &&
            read_at(fd, section->sh_offset, notes, section->sh_size)) {
            bytes = find_build_id(notes, section->sh_size, ret_id);
        }
    }
    free(elf.sections);
    return bytes;
}

/* --- the program's ---------------------------------------------------------------------------- */

static int open_debug_file(const uint8_t *id, size_t id_bytes)
{
    char path[sizeof(DEBUG_FILE_FOLDER) + 2 * BUILD_ID_BYTES + 16];
    size_t at = (size_t)snprintf(path, sizeof(path), DEBUG_FILE_FOLDER "/%02x/", id[0]);
    for (size_t i = 1; i < id_bytes; i++) {
        at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", id[i]);
    }
    snprintf(path + at, sizeof(path) - at, ".debug");
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int hs_symbol_file_open_debug(int program_fd)
{
    uint8_t id[BUILD_ID_BYTES], other_id[BUILD_ID_BYTES];
    size_t id_bytes = hs_symbol_file_build_id(program_fd, id);
    int fd = id_bytes > 0 ? open_debug_file(id, id_bytes) : -1;
    if (fd >= 0 && (hs_symbol_file_build_id(fd, other_id) != id_bytes ||
                    memcmp(id, other_id, id_bytes) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool read_debug_file(int program_fd, hs_symbol_file_fn *take, void *ctx)
{
    int fd = hs_symbol_file_open_debug(program_fd);
    bool is_ok = fd >= 0 && hs_symbol_file_read(fd, take, ctx);
    if (fd >= 0) {
        close(fd);
    }
    return is_ok;
}

bool hs_symbol_file_read_program(pid_t pid, const struct hs_remote_memory *memory,
                                 const struct hs_remote_object *program, hs_symbol_file_fn *take,
                                 void *ctx)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    bool is_ok = hs_symbol_file_is_program(fd, memory, program->bias_va) &&
                 (hs_symbol_file_read(fd, take, ctx) || read_debug_file(fd, take, ctx));
    close(fd);
    return is_ok;
}
