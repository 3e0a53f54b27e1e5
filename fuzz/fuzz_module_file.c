/*
 * Fuzz target: the file of a module on hostile bytes: its headers and its .eh_frame, as the
 * collector reads them, and sections, unpacked, as the worker reads them.
 *
 * Input: the file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/unwind_tables/module_file.h"
#include "rt/base.h"
#include "symbol/section_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECTION_MAX_BYTES 65536U

static void read_headers(const uint8_t *data, size_t size)
{
    struct hs_module_file file;
    int fd = memfd_create("module", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size && hs_module_file_read(fd, &file) == 0) {
        for (size_t i = 0; i < file.covered_count; i++) {
            if (file.covered[i].start_sva >= file.covered[i].end_sva ||
                (i > 0 && file.covered[i].start_sva < file.covered[i - 1].start_sva) ||
                !hs_module_file_is_covered(&file, file.covered[file.covered_count - 1].start_sva)) {
                abort();
            }
        }
        hs_module_file_has_gaps(&file);
        hs_module_file_deinit(&file);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void read_sections(const uint8_t *data, size_t size)
{
    static const char *const names[] = { ".eh_frame", ".debug_frame" };
    struct hs_elf_file file;
    void *image = malloc(size + 1);
    if (!image) {
        return;
    }
    memcpy(image, data, size);
    if (hs_elf_file_open_image(image, size, "fuzz", &file) != 0) {
        return;
    }
    for (unsigned i = 0; i < HS_COUNT_OF(names); i++) {
        struct hs_section_bytes section;
        if (hs_section_bytes_read(&file, names[i], SECTION_MAX_BYTES, &section) == 0) {
            if (section.size_bytes > SECTION_MAX_BYTES) {
                abort();
            }
            hs_section_bytes_deinit(&section);
        }
    }
    hs_elf_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0) {
        read_headers(data, size);
        read_sections(data, size);
    }
    return 0;
}
