/*
 * Opens a cached image, a new image, or the file itself. See dwarf_open.h.
 *
 * With an image, the ranges of its units are cached, because reading them takes longer than naming
 * ten addresses.
 */
#include "symbol/dwarf_open.h"

#include <errno.h>
#include <stdlib.h>

/* Makes the image and stores it. `key` NULL: it is not stored. */
static void make_image(const struct hs_elf_file *file, const struct hs_debug_cache *cache,
                       const struct hs_debug_key *key, struct hs_dwarf_file *dwarf)
{
    if (hs_debug_image_make(file, &dwarf->image) != 0) {
        return;
    }
    dwarf->dwarf = dwarf_begin_elf(dwarf->image.elf, DWARF_C_READ, NULL);
    if (key && dwarf->dwarf) {
        /* Without a list, the next search reads all units again. */
        (void)hs_dwarf_unit_ranges_list(dwarf->dwarf, &dwarf->listed);
        (void)hs_debug_cache_store(cache, file, key, &dwarf->image, dwarf->listed.ranges,
                                   dwarf->listed.count * sizeof(*dwarf->listed.ranges));
    }
}

static void open_image(const struct hs_elf_file *file, const char *cache_folder,
                       struct hs_dwarf_file *dwarf)
{
    struct hs_debug_cache cache = HS_DEBUG_CACHE_NONE;
    struct hs_debug_key key;
    bool is_cached = cache_folder && hs_debug_key_of(file, &key) == 0 &&
                     hs_debug_cache_open(cache_folder, &cache) == 0;
    if (is_cached && hs_debug_cache_load(&cache, &key, &dwarf->image) == 0) {
        dwarf->dwarf = dwarf_begin_elf(dwarf->image.elf, DWARF_C_READ, NULL);
    } else {
        make_image(file, &cache, is_cached ? &key : NULL, dwarf);
    }
    hs_debug_cache_close(&cache);
}

void hs_dwarf_open(const struct hs_elf_file *file, const char *cache_folder,
                   struct hs_dwarf_file *ret_dwarf)
{
    *ret_dwarf = (struct hs_dwarf_file){ 0 };
    if (!file->elf) {
        return;
    }
    if (file->has_packed_dwarf) {
        open_image(file, cache_folder, ret_dwarf);
    }
    if (!ret_dwarf->dwarf) {
        ret_dwarf->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    }
}

void hs_dwarf_close(struct hs_dwarf_file *dwarf)
{
    if (dwarf->dwarf) {
        dwarf_end(dwarf->dwarf);
    }
    hs_debug_image_close(&dwarf->image);
    free(dwarf->listed.ranges);
    *dwarf = (struct hs_dwarf_file){ 0 };
}

int hs_dwarf_file_units(const struct hs_dwarf_file *dwarf, uint64_t code_sva, const uint64_t *pcs,
                        size_t pc_count, struct hs_dwarf_units *ret_units)
{
    const void *ranges = dwarf->listed.ranges;
    size_t count = dwarf->listed.count;
    if (!ranges && dwarf->image.tail_bytes > 0) {
        ranges = dwarf->image.tail;
        count = dwarf->image.tail_bytes / sizeof(struct hs_dwarf_unit_range);
    }
    int err = hs_dwarf_units_find(dwarf->dwarf, ranges, count, code_sva, pcs, pc_count, ret_units);
    return err == -ENOENT && ranges
               ? hs_dwarf_units_find(dwarf->dwarf, NULL, 0, code_sva, pcs, pc_count, ret_units)
               : err;
}
