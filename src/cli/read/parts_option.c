/*
 * See parts_option.h.
 */
#include "cli/read/parts_option.h"

#include <errno.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"

int hs_parts_option_parse(const struct hs_opts_spec *spec, const char *text, enum hs_view view,
                          struct hs_part_groups *ret_groups)
{
    const char *bad;
    if (hs_part_by_parse(text, ret_groups, &bad) < 0) {
        return hs_args_fail(spec,
                            "--by: '%.*s' is not one of process, heap, thread, type, scope, "
                            "label:KEY, age, stack, or is "
                            "given twice",
                            (int)strcspn(bad, ","), bad);
    }
    if ((view == HS_VIEW_ALLOC_SPACE || view == HS_VIEW_ALLOC_OBJECTS) &&
        !hs_part_groups_are_of_allocated(ret_groups)) {
        return hs_args_fail(spec,
                            "--by with thread, type or age needs --view space, objects or peak: "
                            "of what was freed, these are not recorded");
    }
    return 0;
}

int hs_parts_option_check(const char *path, const struct hs_profile *profile,
                          const struct hs_select_spec *select, enum hs_view view,
                          const struct hs_part_groups *groups)
{
    bool is_alloc = hs_views[view].quantity == HS_QUANTITY_ALLOC;
    int known = hs_part_groups_check(profile, select, hs_views[view].quantity, groups);
    if (known == -ENOENT) {
        hs_message(hs_part_groups_are_without_types(profile, select)
                       ? "%s: no types of blocks were recorded: record without --no-types"
                       : "%s: no types of blocks were recorded: they are read in the memory of the "
                         "running program, now and then and at snapshots, and it ended before, or "
                         "heapscope may not read its memory",
                   path);
    } else if (known == -ENODATA) {
        hs_message(
            "%s: --by needs a trace of this version of heapscope: in this file, no %s is recorded "
            "for what %s",
            path, is_alloc ? "scope" : "thread and age",
            is_alloc               ? "was allocated"
            : view == HS_VIEW_PEAK ? "lived at the peak"
                                   : "lives");
    } else if (known != 0) {
        hs_message("%s: %s", path, strerror(known < 0 ? -known : EINVAL));
    }
    return known == 0 ? 0 : HS_EXIT_STATUS_FAILED;
}
