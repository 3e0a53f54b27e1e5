/*
 * The sources of names for a command that reads a file: symbol/name_sources.h, with the folders of
 * the option --symbols. What there is to say about folders is said once.
 *
 *     struct hs_name_sources sources;
 *     int err = hs_symbol_sources_read(&sources);
 *     struct hs_symbol_options options = hs_symbol_sources_options(&sources);
 *     ...
 *     hs_name_sources_deinit(&sources);
 *
 * Threads   main thread only.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>

#include "symbol/name_sources.h"
#include "util/opts.h"

/* The option of every command that reads a file. */
#define HS_OPT_SYMBOLS                                                                             \
    HS_OPT_LIST(0, "symbols", "DIR", &hs_symbol_folders_given,                                     \
                "look up names in the modules, debug files and Breakpad symbol files\n"            \
                "below this folder, too; may be given more than once")

/* The folders of the option --symbols. */
extern struct hs_opt_list hs_symbol_folders_given;
/* Adds a folder to those of --symbols that this process got. -ENOMEM. */
int hs_symbol_sources_give(const char *folder);

/* Reads options and environment. hs_name_sources_deinit() frees the lists. */
int hs_symbol_sources_read(struct hs_name_sources *ret_sources);

/* The user named a source of names. */
bool hs_symbol_sources_is_any(void);

/* The line that is shown when the end of a recording takes long. */
const char *hs_symbol_sources_end_line(void);

/* What the symbolizer needs; it refers to `sources`. Progress is shown. */
struct hs_symbol_options hs_symbol_sources_options(const struct hs_name_sources *sources);
