/*
 * Follows skeletons to their .dwo files. See dwarf_split.h.
 */
#include "symbol/dwarf_split.h"

#include <dwarf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

void hs_dwarf_split_follow(Dwarf_Die *die)
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
