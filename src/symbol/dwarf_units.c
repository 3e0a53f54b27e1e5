/*
 * Matches addresses with compilation units. See dwarf_units.h.
 */
#include "symbol/dwarf_units.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbol/pc_search.h"
#include "util/array.h"

/* The limit for all units together: hostile units may share one long list of ranges. */
#define RANGES_MAX (UINT64_C(1) << 26)
/* A longer list would cost more to store than it saves. */
#define LISTED_MAX (UINT64_C(1) << 19)

struct unit_search {
    const uint64_t *pcs;
    size_t pc_count;
    uint64_t code_sva;
    uint64_t *width; /* per address: size of the range in which it was found */
    uint64_t range_count;
    struct hs_dwarf_units *units;
};

static int add_unit(struct hs_dwarf_units *units, const Dwarf_Die *die)
{
    int err =
        hs_array_reserve(&units->dies, &units->capacity, units->count + 1, sizeof(*units->dies));
    if (err < 0) {
        return err;
    }
    units->dies[units->count++] = *die;
    return 0;
}

/*
 * Gives the addresses in [low, high) to unit number `idx`, except those in a narrower range: where
 * two ranges overlap, one is left over. Returns whether the unit got any.
 */
static bool claim(struct unit_search *search, uint64_t low, uint64_t high, uint32_t idx)
{
    bool has_any = false;
    if (low < search->code_sva || high <= low) {
        return false;
    }
    for (size_t i = hs_pc_first(search->pcs, search->pc_count, low);
         i < search->pc_count && search->pcs[i] < high; i++) {
        if (search->units->unit_of[i] == HS_DWARF_UNIT_NONE || high - low < search->width[i]) {
            search->units->unit_of[i] = idx;
            search->width[i] = high - low;
            has_any = true;
        }
    }
    return has_any;
}

static int take_unit(struct unit_search *search, Dwarf_Die *die)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t off = 0;
    bool has_any = false;
    while ((off = dwarf_ranges(die, off, &base, &low, &high)) > 0) {
        has_any |= claim(search, low, high, (uint32_t)search->units->count);
        if (++search->range_count > RANGES_MAX) {
            break;
        }
    }
    return has_any ? add_unit(search->units, die) : 0;
}

static int walk_units(struct unit_search *search, Dwarf *dwarf)
{
    Dwarf_CU *unit = NULL;
    uint8_t type;
    Dwarf_Die die;
    int err = 0;
    while (err == 0 && search->range_count <= RANGES_MAX &&
           dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit) {
            err = take_unit(search, &die);
        }
    }
    return err;
}

/* Does the same as walk_units(), with a list of the ranges that walk_units() would find. */
static int walk_list(struct unit_search *search, Dwarf *dwarf, const uint8_t *ranges,
                     size_t range_count)
{
    uint64_t last_off = UINT64_MAX;
    bool has_any = false;
    int err = 0;
    for (size_t i = 0; i <= range_count && err == 0; i++) {
        struct hs_dwarf_unit_range range = { .die_off = UINT64_MAX };
        if (i < range_count) {
            memcpy(&range, ranges + i * sizeof(range), sizeof(range));
        }
        if (range.die_off != last_off && has_any) {
            Dwarf_Die die;
            err = dwarf_offdie(dwarf, last_off, &die) ? add_unit(search->units, &die) : -ENOENT;
            has_any = false;
        }
        last_off = range.die_off;
        has_any |= claim(search, range.low_sva, range.high_sva, (uint32_t)search->units->count);
    }
    return err;
}

static const char *attr_string(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    return dwarf_formstring(dwarf_attr(die, name, &attr));
}

static bool is_plain_file(const char *folder, const char *name)
{
    char path[PATH_MAX];
    int bytes = name[0] == '/' || !folder ? snprintf(path, sizeof(path), "%s", name)
                                          : snprintf(path, sizeof(path), "%s/%s", folder, name);
    struct stat st;
    return bytes > 0 && (size_t)bytes < sizeof(path) && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/*
 * Replaces the entry of a skeleton by that of its split unit (-gsplit-dwarf: the rest of the unit
 * is in a .dwo file). A unit whose file is missing stays a skeleton, which still has lines. libdw
 * finds the file by the name and folder in the skeleton. It would open anything with that name,
 * even a named pipe; it is therefore called only when a plain file is there.
 */
static void follow_split(Dwarf_Die *die)
{
    const char *name = attr_string(die, DW_AT_dwo_name);
    if (!name) {
        name = attr_string(die, DW_AT_GNU_dwo_name);
    }
    if (!name) {
        return;
    }
    /* libdw also tries the name beside the module, without its folders. */
    const char *folder = attr_string(die, DW_AT_comp_dir);
    if (!is_plain_file(folder, name)) {
        return;
    }
    Dwarf_Die split;
    if (dwarf_cu_info(die->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 &&
        dwarf_tag(&split) == DW_TAG_compile_unit) {
        *die = split;
    }
}

int hs_dwarf_units_find(Dwarf *dwarf, const void *ranges, size_t range_count, uint64_t code_sva,
                        const uint64_t *pcs, size_t pc_count, struct hs_dwarf_units *ret_units)
{
    struct hs_dwarf_units units = { 0 };
    struct unit_search search = {
        .pcs = pcs,
        .pc_count = pc_count,
        .code_sva = code_sva,
        .units = &units,
    };
    units.unit_of = malloc((pc_count + 1) * sizeof(*units.unit_of));
    search.width = calloc(pc_count + 1, sizeof(*search.width));
    int err = units.unit_of && search.width ? 0 : -ENOMEM;
    if (err == 0) {
        memset(units.unit_of, 0xff, pc_count * sizeof(*units.unit_of));
        err = ranges ? walk_list(&search, dwarf, ranges, range_count) : walk_units(&search, dwarf);
    }
    free(search.width);
    if (err != 0) {
        hs_dwarf_units_deinit(&units);
        return err;
    }
    /* Split units are opened only now, and only for units with wanted addresses. */
    for (size_t i = 0; i < units.count; i++) {
        follow_split(&units.dies[i]);
    }
    *ret_units = units;
    return 0;
}

static int list_range(struct hs_dwarf_unit_ranges *list, uint64_t die_off, uint64_t low,
                      uint64_t high)
{
    int err =
        hs_array_reserve(&list->ranges, &list->capacity, list->count + 1, sizeof(*list->ranges));
    if (err < 0) {
        return err;
    }
    list->ranges[list->count++] = (struct hs_dwarf_unit_range){ die_off, low, high };
    return 0;
}

/*
 * Lists a unit, if its entry can be found by the offset alone, which is not possible in
 * .debug_types.
 */
static int list_unit(struct hs_dwarf_unit_ranges *list, Dwarf *dwarf, Dwarf_Die *die)
{
    Dwarf_Die again;
    uint64_t die_off = dwarf_dieoffset(die);
    if (!dwarf_offdie(dwarf, die_off, &again) || again.addr != die->addr) {
        return -ENOENT;
    }
    Dwarf_Addr base, low, high;
    ptrdiff_t off = 0;
    int err = 0;
    while (err == 0 && (off = dwarf_ranges(die, off, &base, &low, &high)) > 0) {
        err = list->count < LISTED_MAX ? list_range(list, die_off, low, high) : -ENOENT;
    }
    return err;
}

int hs_dwarf_unit_ranges_list(Dwarf *dwarf, struct hs_dwarf_unit_ranges *ret_list)
{
    struct hs_dwarf_unit_ranges list = { 0 };
    Dwarf_CU *unit = NULL;
    uint8_t type;
    Dwarf_Die die;
    int err = 0;
    while (err == 0 && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit) {
            err = list_unit(&list, dwarf, &die);
        }
    }
    if (err != 0 || list.count == 0) {
        free(list.ranges);
        return err != 0 ? err : -ENOENT;
    }
    *ret_list = list;
    return 0;
}

void hs_dwarf_units_deinit(struct hs_dwarf_units *units)
{
    free(units->dies);
    free(units->unit_of);
    *units = (struct hs_dwarf_units){ 0 };
}
