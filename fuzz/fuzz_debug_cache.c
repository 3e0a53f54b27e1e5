/*
 * Fuzz target: a file in the cache folder that claims to be an entry.
 *
 * The target corrects the checksum first, so that the input reaches the code behind that check.
 *
 * Holds     an entry is only valid as a whole and with its own key.
 */
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "symbol/debug_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_debug_entry entry;
    struct hs_debug_image image;
    if (size < sizeof(entry)) {
        const struct hs_debug_key none = { 0 };
        if (hs_debug_entry_is_valid(data, size, &none)) {
            abort();
        }
        return 0;
    }
    uint8_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return 0;
    }
    memcpy(map, data, size);
    memcpy(&entry, data, sizeof(entry));
    entry.crc = 0;
    memcpy(map, &entry, sizeof(entry));
    entry.crc = libdeflate_crc32(0, map, size);
    memcpy(map, &entry, sizeof(entry));
    struct hs_debug_key other = entry.key;
    other.inode++;
    if (hs_debug_entry_is_valid(map, size, &other) ||
        hs_debug_entry_is_valid(map, size - 1, &entry.key)) {
        abort();
    }
    if (!hs_debug_entry_is_valid(map, size, &entry.key)) {
        munmap(map, size);
    } else if (hs_debug_image_take(map, size, entry.tail_bytes, &image) == 0) {
        if (image.tail + image.tail_bytes != map + size || image.tail <= map + HS_DEBUG_IMAGE_OFF) {
            abort();
        }
        const struct hs_elf_file file = { .elf = image.elf, .fd = -1 };
        Elf_Scn *scn = hs_elf_file_section(&file, ".debug_info");
        if (scn) {
            elf_rawdata(scn, NULL);
        }
        hs_debug_image_close(&image);
    }
    return 0;
}
