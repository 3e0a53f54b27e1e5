/*
 * Inspects an executable: see exe_file.h.
 */
#include "collect/inspect/exe_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HS_PHDRS_MAX       4096U
#define HS_SHDRS_MAX       65536U
#define HS_SYMS_BYTES_MAX  (UINT64_C(64) << 20)
#define HS_NAMES_BYTES_MAX (UINT64_C(64) << 20)
#define HS_SCRIPT_HEAD     256U /* as much as the kernel reads */

#if defined(__x86_64__)
#define HS_EM_NATIVE EM_X86_64
#elif defined(__aarch64__)
#define HS_EM_NATIVE EM_AARCH64
#else
#error "which ELF machine is this?"
#endif

/* Reads up to `bytes`, fewer at the end of the file. */
static ssize_t read_some(int fd, uint64_t off, void *ret_data, size_t bytes)
{
    size_t n = 0;
    while (n < bytes && off <= INT64_MAX - n) {
        ssize_t got = pread(fd, (char *)ret_data + n, bytes - n, (off_t)(off + n));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        n += (size_t)got;
    }
    return (ssize_t)n;
}

static bool read_all(int fd, uint64_t off, void *ret_data, size_t bytes)
{
    return read_some(fd, off, ret_data, bytes) == (ssize_t)bytes;
}

static size_t skip_blanks(const char *head, size_t head_bytes, size_t at)
{
    while (at < head_bytes && (head[at] == ' ' || head[at] == '\t')) {
        at++;
    }
    return at;
}

static void inspect_script(const char *head, size_t head_bytes, struct hs_exe_file *file)
{
    size_t at = skip_blanks(head, head_bytes, 2), end;
    for (end = at; end < head_bytes && !strchr(" \t\n", head[end]); end++) {
        /* strchr also finds the NUL of its own string: a NUL ends the path as well. */
    }
    memcpy(file->interpreter, head + at, end - at);
    file->interpreter[end - at] = '\0';
    at = skip_blanks(head, head_bytes, end);
    for (end = at; end < head_bytes && head[end] != '\n' && head[end] != '\0'; end++) {
    }
    memcpy(file->argument, head + at, end - at);
    file->argument[end - at] = '\0';
    file->kind = HS_EXE_SCRIPT;
}

/* Looks for the program header that names a loader, which preloads libraries. */
static void inspect_phdrs(int fd, const Elf64_Ehdr *ehdr, struct hs_exe_file *file)
{
    if (ehdr->e_phentsize != sizeof(Elf64_Phdr)) {
        return;
    }
    for (unsigned i = 0; i < ehdr->e_phnum && i < HS_PHDRS_MAX; i++) {
        Elf64_Phdr phdr;
        uint64_t off;
        if (__builtin_add_overflow(ehdr->e_phoff, i * sizeof(phdr), &off) ||
            !read_all(fd, off, &phdr, sizeof(phdr))) {
            return;
        }
        if (phdr.p_type == PT_INTERP) {
            size_t n = phdr.p_filesz < sizeof(file->interpreter) - 1
                           ? (size_t)phdr.p_filesz
                           : sizeof(file->interpreter) - 1;
            ssize_t got = read_some(fd, phdr.p_offset, file->interpreter, n);
            file->interpreter[got > 0 ? got : 0] = '\0';
            return;
        }
    }
}

/* The sanitizer whose runtime has this function, or NULL. Instrumented code calls its runtime,
 * which is in a library when it is not in the program. (The sanitizers for leaks and for undefined
 * behaviour alone work together with heapscope.) */
static const char *find_sanitizer(const char *name)
{
    static const char *const known[][2] = {
        { "__asan_init", "AddressSanitizer" },
        { "__hwasan_init", "HWAddressSanitizer" },
        { "__msan_init", "MemorySanitizer" },
        { "__tsan_init", "ThreadSanitizer" },
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i][0]) == 0) {
            return known[i][1];
        }
    }
    return NULL;
}

/* Looks for the known names among the exported and imported ones. */
static void inspect_names(const Elf64_Sym *syms, size_t count, const char *names,
                          size_t names_bytes, struct hs_exe_file *file)
{
    for (size_t i = 0; i < count; i++) {
        unsigned type = ELF64_ST_TYPE(syms[i].st_info);
        if (syms[i].st_shndx == SHN_UNDEF && syms[i].st_name < names_bytes) {
            const char *import = names + syms[i].st_name;
            file->sanitizer = file->sanitizer ? file->sanitizer : find_sanitizer(import);
            /* All sanitizer runtimes refer to this function, weakly. */
            file->has_sanitizer_inside |= strcmp(import, "__sanitizer_malloc_hook") == 0;
        }
        if (syms[i].st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC) ||
            ELF64_ST_BIND(syms[i].st_info) == STB_LOCAL || syms[i].st_name >= names_bytes) {
            continue;
        }
        const char *name = names + syms[i].st_name; /* a NUL follows the last name */
        file->defines_malloc |= strcmp(name, "malloc") == 0;
        file->is_loader |= strcmp(name, "__tls_get_addr") == 0;
    }
}

static void inspect_dynsym(int fd, const Elf64_Shdr *dynsym, const Elf64_Shdr *strtab,
                           struct hs_exe_file *file)
{
    uint64_t sym_bytes = dynsym->sh_size < HS_SYMS_BYTES_MAX ? dynsym->sh_size : HS_SYMS_BYTES_MAX;
    uint64_t names_bytes =
        strtab->sh_size < HS_NAMES_BYTES_MAX ? strtab->sh_size : HS_NAMES_BYTES_MAX;
    Elf64_Sym *syms = malloc(sym_bytes + 1);
    char *names = calloc(names_bytes + 1, 1);
    if (syms && names) {
        ssize_t syms_got = read_some(fd, dynsym->sh_offset, syms, sym_bytes);
        ssize_t names_got = read_some(fd, strtab->sh_offset, names, names_bytes);
        if (syms_got > 0 && names_got > 0) {
            inspect_names(syms, (size_t)syms_got / sizeof(*syms), names, (size_t)names_got, file);
        }
    }
    free(syms);
    free(names);
}

static void inspect_symbols(int fd, const Elf64_Ehdr *ehdr, struct hs_exe_file *file)
{
    if (ehdr->e_shentsize != sizeof(Elf64_Shdr)) {
        return;
    }
    for (unsigned i = 0; i < ehdr->e_shnum && i < HS_SHDRS_MAX; i++) {
        Elf64_Shdr shdr, strtab;
        uint64_t off, strtab_off;
        if (__builtin_add_overflow(ehdr->e_shoff, i * sizeof(shdr), &off) ||
            !read_all(fd, off, &shdr, sizeof(shdr))) {
            return;
        }
        if (shdr.sh_type != SHT_DYNSYM || shdr.sh_link >= ehdr->e_shnum) {
            continue;
        }
        if (!__builtin_add_overflow(ehdr->e_shoff, shdr.sh_link * sizeof(shdr), &strtab_off) &&
            read_all(fd, strtab_off, &strtab, sizeof(strtab))) {
            inspect_dynsym(fd, &shdr, &strtab, file);
        }
        return;
    }
}

int hs_exe_file_inspect(int fd, struct hs_exe_file *ret_file)
{
    struct hs_exe_file file = { .kind = HS_EXE_UNKNOWN };
    union {
        char text[HS_SCRIPT_HEAD];
        Elf64_Ehdr elf;
    } head;
    ssize_t got = read_some(fd, 0, &head, sizeof(head));
    if (got < 0) {
        return (int)got;
    }
    if (got >= 2 && memcmp(head.text, "#!", 2) == 0) {
        inspect_script(head.text, (size_t)got, &file);
    } else if (got >= (ssize_t)sizeof(Elf32_Ehdr) && memcmp(head.text, ELFMAG, SELFMAG) == 0) {
        file.kind = HS_EXE_ELF;
        file.is_64bit = head.elf.e_ident[EI_CLASS] == ELFCLASS64;
        /* e_machine is at the same place in both classes; the supported machines are
         * little-endian. */
        file.is_native =
            head.elf.e_ident[EI_DATA] == ELFDATA2LSB && head.elf.e_machine == HS_EM_NATIVE;
        if (file.is_64bit && file.is_native && got >= (ssize_t)sizeof(Elf64_Ehdr)) {
            file.is_pie = head.elf.e_type == ET_DYN;
            inspect_phdrs(fd, &head.elf, &file);
            inspect_symbols(fd, &head.elf, &file);
        }
    }
    *ret_file = file;
    return 0;
}
