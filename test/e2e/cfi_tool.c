/*
 * Prints our reading of a file's call frame information as text: for test_cfi_readelf.py.
 *
 *     cfi_tool FILE hdr|scan|debug < ADDRESSES
 *
 * ADDRESSES are link-time addresses in hexadecimal, one per line. For each one it prints a line:
 * the CFA, the rules of registers 0 to 16 in readelf's notation, and behind bars the packed rules
 * for a frame that was interrupted there, and for one that made a call whose last byte is there.
 * `hdr` uses the search table, `scan` reads .eh_frame from its start, `debug` reads .debug_frame.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/rule_make.h"

static const char *const reg_names[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                         "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                         "r12", "r13", "r14", "r15", "ra" };

static const uint8_t *map_file(const char *path, size_t *ret_size_bytes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(path);
        exit(1);
    }
    void *va = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (va == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(fd);
    *ret_size_bytes = (size_t)st.st_size;
    return va;
}

/*
 * The section `name`, at its link-time address. The file is trusted, because it is one of this
 * machine.
 */
static struct hs_span find_section(const uint8_t *file, const char *name)
{
    Elf64_Ehdr head;
    memcpy(&head, file, sizeof(head));
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(file + head.e_shoff);
    const char *names = (const char *)file + sections[head.e_shstrndx].sh_offset;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, name) == 0 && sections[i].sh_type != SHT_NOBITS) {
            return (struct hs_span){ file + sections[i].sh_offset, sections[i].sh_addr,
                                     sections[i].sh_size };
        }
    }
    return (struct hs_span){ 0 };
}

static void print_reg(const struct hs_cfi_row *row, unsigned reg)
{
    int32_t value = row->value[reg];
    switch ((enum hs_cfi_how)row->how[reg]) {
    case HS_CFI_UNSET:
    case HS_CFI_UNDEFINED:
        printf(" u");
        break;
    case HS_CFI_SAME:
        printf(" s");
        break;
    case HS_CFI_OFFSET:
        printf(" c%+d", value);
        break;
    case HS_CFI_VAL_OFFSET:
        printf(" v%+d", value);
        break;
    case HS_CFI_REGISTER:
        printf(" %s", (unsigned)value < HS_DWARF_REG_N ? reg_names[value] : "?");
        break;
    case HS_CFI_EXPR:
        printf(" exp");
        break;
    case HS_CFI_VAL_EXPR:
        printf(" vexp");
        break;
    }
}

static void print_rule(uint32_t rule)
{
    static const char *const names[] = { "sp",        "bp",      "fp",  "drap",
                                         "sigreturn", "general", "end", "bad" };
    enum hs_rule_kind kind = hs_rule_kind(rule);
    printf(" | %s", names[kind]);
    if (kind <= HS_RULE_DRAP) {
        printf(" %" PRIu64, hs_rule_cfa_off(rule));
    }
    if (kind <= HS_RULE_BP && hs_rule_bp_bytes(rule) != HS_RULE_BP_SAME_BYTES) {
        printf(" %" PRIu64, hs_rule_bp_bytes(rule));
    }
}

static void print_row(const struct hs_unwind_module *module, uint64_t va)
{
    struct hs_cfi_fde fde;
    struct hs_cfi_row row;
    int err = hs_eh_find(module, va, &fde);
    printf("%" PRIx64, va);
    if (err == 0) {
        err = hs_cfi_row_at(&fde, va, &row);
    }
    if (err) {
        printf(" %s\n", strerror(-err));
        return;
    }
    if (row.is_cfa_expr) {
        printf(" exp");
    } else {
        printf(" %s%+d", reg_names[row.cfa_reg], row.cfa_value);
    }
    for (unsigned reg = 0; reg < HS_DWARF_REG_N; reg++) {
        print_reg(&row, reg);
    }
    print_rule(hs_rule_make(module, va, true));
    print_rule(hs_rule_make(module, va + 1, false));
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: cfi_tool FILE hdr|scan|debug < ADDRESSES\n");
        return 2;
    }
    size_t size_bytes;
    const uint8_t *file = map_file(argv[1], &size_bytes);
    struct hs_unwind_module module = { .end_va = UINT64_MAX };
    if (strcmp(argv[2], "debug") == 0) {
        module.debug_frame = find_section(file, ".debug_frame");
    } else {
        module.eh_frame = find_section(file, ".eh_frame");
        if (strcmp(argv[2], "hdr") == 0) {
            module.eh_hdr = find_section(file, ".eh_frame_hdr");
        }
    }
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        print_row(&module, strtoull(line, NULL, 16));
    }
    munmap((void *)(uintptr_t)file, size_bytes);
    return 0;
}
