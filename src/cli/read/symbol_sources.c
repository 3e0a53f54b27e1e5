/*
 * Reads the sources of names for a command: see symbol_sources.h.
 */
#include "cli/read/symbol_sources.h"

#include "cli/message.h"
#include "cli/progress.h"
#include "symbol/debuginfod.h"
#include "util/array.h"

struct hs_opt_list hs_symbol_folders_given;

int hs_symbol_sources_give(const char *folder)
{
    struct hs_opt_list *list = &hs_symbol_folders_given;
    int err =
        hs_array_reserve(&list->items, &list->capacity, list->count + 1, sizeof(list->items[0]));
    if (err == 0) {
        list->items[list->count++] = folder;
    }
    return err;
}

int hs_symbol_sources_read(struct hs_name_sources *ret_sources)
{
    static bool is_said; /* what there is to say about folders */
    int err = hs_name_sources_read(&hs_symbol_folders_given, is_said ? NULL : hs_message_text,
                                   ret_sources);
    is_said = true;
    return err;
}

bool hs_symbol_sources_is_any(void)
{
    return hs_name_sources_is_any(&hs_symbol_folders_given);
}

const char *hs_symbol_sources_end_line(void)
{
    return hs_debuginfod_is_wanted() ? HS_PROGRESS_ASKING : HS_PROGRESS_NAMING;
}

struct hs_symbol_options hs_symbol_sources_options(const struct hs_name_sources *sources)
{
    struct hs_symbol_options options = hs_name_sources_options(sources);
    options.on_progress = hs_progress_step;
    return options;
}
