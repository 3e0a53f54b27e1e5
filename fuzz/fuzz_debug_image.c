/*
 * Fuzz target: a debug file with compressed sections, from an untrusted source.
 *
 * Holds     the unpacked image has no compressed section, and each section lies inside the image.
 */
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/debug_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hs_debug_image *image)
{
    Elf_Scn *scn = NULL;
    while ((scn = elf_nextscn(image->elf, scn)) != NULL) {
        GElf_Shdr shdr;
        size_t bytes = image->map_bytes - HS_DEBUG_IMAGE_OFF;
        if (!gelf_getshdr(scn, &shdr) || (shdr.sh_flags & SHF_COMPRESSED) != 0 ||
            shdr.sh_offset > bytes || shdr.sh_size > bytes - shdr.sh_offset) {
            abort();
        }
        Elf_Data *raw = elf_rawdata(scn, NULL);
        if (!raw || raw->d_size != shdr.sh_size) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_elf_file file;
    struct hs_debug_image image;
    void *copy = malloc(size + 1);
    if (!copy) {
        return 0;
    }
    memcpy(copy, data, size);
    if (hs_elf_file_open_image(copy, size, "fuzz", &file) != 0) {
        return 0;
    }
    if (hs_debug_image_make(&file, &image) == 0) {
        check(&image);
        hs_debug_image_close(&image);
    }
    hs_elf_file_close(&file);
    return 0;
}
