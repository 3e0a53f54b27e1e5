/*
 * Fuzz target: an untrusted ELF file: its notes, debug link, packed symbols, symbol tables, and how
 * much of its code has unwind rules.
 *
 * DWARF is left to libdw. Files that crash libdw crash only the worker process.
 *
 * Holds     a name that is found begins at or before its address.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf_file.h"
#include "symbol/elf_names.h"
#include "symbol/mini_debug.h"
#include "symbol/module_health.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_names(const struct hs_elf_file *file)
{
    static const uint64_t pcs[] = { 0, 0x10, 0x1000, 0x1131, 0x1149, 0x401136, UINT64_MAX };
    const size_t count = sizeof(pcs) / sizeof(pcs[0]);
    struct hs_elf_name names[sizeof(pcs) / sizeof(pcs[0])] = { 0 };
    static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
    for (size_t k = 0; k < 2; k++) {
        size_t found_count;
        if (hs_elf_names_find(file, types[k], pcs, count, names, &found_count) != 0) {
            abort();
        }
        for (size_t i = 0; i < count; i++) {
            if (names[i].name && (names[i].start_sva > pcs[i] || strlen(names[i].name) == 0)) {
                abort();
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_elf_file file, mini;
    void *image = malloc(size + 1);
    if (!image) {
        return 0;
    }
    memcpy(image, data, size);
    if (hs_elf_file_open_image(image, size, "fuzz", &file) != 0) {
        return 0;
    }
    const char *link;
    uint32_t crc;
    if (hs_elf_file_debuglink(&file, &link, &crc) && strchr(link, '/')) {
        abort();
    }
    hs_elf_file_code_sva(&file);
    hs_elf_file_crc(&file);
    read_names(&file);
    struct hs_module_health health = { 0 };
    hs_module_health_tables(&file, &health);
    if (health.tables == HS_UNWIND_TABLES_SORTED && health.covered_bytes == 0) {
        abort();
    }
    if (hs_mini_debug_open(&file, &mini) == 0) {
        read_names(&mini);
        hs_elf_file_close(&mini);
    }
    hs_elf_file_close(&file);
    return 0;
}
