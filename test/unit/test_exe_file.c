/*
 * Tests of collect/exe_file: programs of this machine, scripts, and ELF files with false contents.
 */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/inspect/exe_file.h"

static struct hs_exe_file inspect(const void *data, size_t bytes)
{
    struct hs_exe_file file;
    int fd = memfd_create("exe", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, bytes), bytes);
    assert_int_equal(hs_exe_file_inspect(fd, &file), 0);
    close(fd);
    return file;
}

static struct hs_exe_file inspect_path(const char *path)
{
    struct hs_exe_file file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(hs_exe_file_inspect(fd, &file), 0);
    close(fd);
    return file;
}

static void test_ourselves(void **state)
{
    (void)state;
    struct hs_exe_file file = inspect_path("/proc/self/exe");
    assert_int_equal(file.kind, HS_EXE_ELF);
    assert_true(file.is_64bit && file.is_native && !file.is_loader && !file.defines_malloc);
    assert_true(strstr(file.interpreter, "/ld-") != NULL);
    /* The interpreter of this program has no interpreter of its own. */
    file = inspect_path(file.interpreter);
    assert_true(file.is_loader);
    assert_string_equal(file.interpreter, "");
}

static void test_libc_has_malloc(void **state)
{
    (void)state;
    /* Any library that exports malloc will do; this process has one mapped. */
    char line[1024], path[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) && !strstr(line, "/libc.so.6")) {
    }
    fclose(maps);
    assert_int_equal(sscanf(strchr(line, '/'), "%511s", path), 1);
    assert_true(inspect_path(path).defines_malloc);
}

static void test_scripts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *interpreter, *argument;
    } cases[] = {
        { "#!/bin/sh\nls\n", "/bin/sh", "" },
        { "#!  \t/usr/bin/env -S python3\n", "/usr/bin/env", "-S python3" },
        { "#!/bin/sh", "/bin/sh", "" },
        { "#!", "", "" },
        { "#!\n", "", "" },
        { "#!/bin/sh\r\n", "/bin/sh\r", "" },
        { "#!/bin/sh -e\t-x", "/bin/sh", "-e\t-x" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_exe_file file = inspect(cases[i].text, strlen(cases[i].text));
        assert_int_equal(file.kind, HS_EXE_SCRIPT);
        assert_string_equal(file.interpreter, cases[i].interpreter);
        assert_string_equal(file.argument, cases[i].argument);
    }
    char big[400];
    memset(big, 'x', sizeof(big));
    memcpy(big, "#!/", 3);
    /* Longer than the kernel reads: the result is what the kernel would see. */
    assert_int_equal(strlen(inspect(big, sizeof(big)).interpreter), 254);
}

static void test_what_is_neither(void **state)
{
    (void)state;
    assert_int_equal(inspect("", 0).kind, HS_EXE_UNKNOWN);
    assert_int_equal(inspect("echo hello\n", 11).kind, HS_EXE_UNKNOWN);
    assert_int_equal(inspect("\177ELF", 4).kind, HS_EXE_UNKNOWN);
}

struct liar {
    Elf64_Ehdr ehdr;
    Elf64_Phdr phdrs[2];
    Elf64_Shdr shdrs[3];
    char interp[16];
    Elf64_Sym syms[2];
    char names[16];
};

static struct liar make_elf(void)
{
    struct liar elf;
    memset(&elf, 0, sizeof(elf));
    memcpy(elf.ehdr.e_ident, ELFMAG, SELFMAG);
    elf.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
    elf.ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.ehdr.e_machine = inspect_path("/proc/self/exe").is_native ? EM_X86_64 : EM_NONE;
    elf.ehdr.e_phoff = offsetof(struct liar, phdrs);
    elf.ehdr.e_phentsize = sizeof(Elf64_Phdr);
    elf.ehdr.e_phnum = 2;
    elf.ehdr.e_shoff = offsetof(struct liar, shdrs);
    elf.ehdr.e_shentsize = sizeof(Elf64_Shdr);
    elf.ehdr.e_shnum = 3;
    elf.phdrs[1].p_type = PT_INTERP;
    elf.phdrs[1].p_offset = offsetof(struct liar, interp);
    elf.phdrs[1].p_filesz = sizeof(elf.interp);
    memcpy(elf.interp, "/lib/ld.so", 11);
    elf.shdrs[1].sh_type = SHT_DYNSYM;
    elf.shdrs[1].sh_link = 2;
    elf.shdrs[1].sh_offset = offsetof(struct liar, syms);
    elf.shdrs[1].sh_size = sizeof(elf.syms);
    elf.shdrs[2].sh_offset = offsetof(struct liar, names);
    elf.shdrs[2].sh_size = sizeof(elf.names);
    elf.syms[1].st_name = 1;
    elf.syms[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    elf.syms[1].st_shndx = 1;
    memcpy(elf.names, "\0malloc", 8);
    return elf;
}

static void test_elf_files_that_lie(void **state)
{
    (void)state;
    struct liar elf = make_elf();
    struct hs_exe_file file = inspect(&elf, sizeof(elf));
    assert_string_equal(file.interpreter, "/lib/ld.so");
    assert_true(file.defines_malloc);

    elf.syms[1].st_shndx = SHN_UNDEF; /* used by the file, not defined */
    assert_false(inspect(&elf, sizeof(elf)).defines_malloc);
    assert_null(inspect(&elf, sizeof(elf)).sanitizer);
    memcpy(elf.names, "\0__tsan_init", 13);
    assert_string_equal(inspect(&elf, sizeof(elf)).sanitizer, "ThreadSanitizer");
    elf.syms[1].st_shndx = 1; /* the sanitizer's runtime is part of the program */
    assert_null(inspect(&elf, sizeof(elf)).sanitizer);
    elf.syms[1].st_shndx = SHN_UNDEF;
    elf.syms[1].st_name = UINT32_MAX;
    assert_null(inspect(&elf, sizeof(elf)).sanitizer);
    elf = make_elf();
    elf.phdrs[1].p_filesz = UINT64_MAX;
    elf.phdrs[1].p_offset = UINT64_MAX - 3;
    assert_string_equal(inspect(&elf, sizeof(elf)).interpreter, "");
    elf = make_elf();
    elf.ehdr.e_phoff = UINT64_MAX - 10;
    elf.ehdr.e_phnum = UINT16_MAX;
    elf.ehdr.e_shoff = UINT64_MAX - 10;
    elf.ehdr.e_shnum = UINT16_MAX;
    assert_string_equal(inspect(&elf, sizeof(elf)).interpreter, "");
    elf = make_elf();
    elf.shdrs[1].sh_size = UINT64_MAX;
    elf.shdrs[2].sh_size = UINT64_MAX;
    assert_true(inspect(&elf, sizeof(elf)).defines_malloc);
    elf.shdrs[1].sh_link = 3;
    assert_false(inspect(&elf, sizeof(elf)).defines_malloc);
    elf = make_elf();
    elf.syms[1].st_name = UINT32_MAX;
    assert_false(inspect(&elf, sizeof(elf)).defines_malloc);
    for (size_t cut = 0; cut < sizeof(elf); cut++) {
        elf = make_elf();
        inspect(&elf, cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ourselves),
        cmocka_unit_test(test_libc_has_malloc),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_what_is_neither),
        cmocka_unit_test(test_elf_files_that_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
