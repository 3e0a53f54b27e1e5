/*
 * A list of folders in which names are looked for, as options and variables of the environment give
 * them.
 *
 * All code that looks for debug files reads the variables with these functions, so that one value
 * means the same folders everywhere.
 *
 * Threads   none; the environment must not change meanwhile.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HS_ENV_BINARY_PATH "PERFETTO_BINARY_PATH"

struct hs_symbol_folders {
    char **paths; /* each owned by the list */
    size_t count, capacity;
};

/* Frees the list. A zero-initialized list is empty. */
void hs_symbol_folders_deinit(struct hs_symbol_folders *folders);

/* Appends a copy of path[0 .. bytes). */
int hs_symbol_folders_add(struct hs_symbol_folders *folders, const char *path, size_t bytes);

/*
 * Appends the folders that the environment variable `name` lists: colons separate them, and empty
 * ones mean nothing.
 */
int hs_symbol_folders_add_variable(struct hs_symbol_folders *folders, const char *name);

/*
 * Whether the folders of PERFETTO_BINARY_PATH are searched by the build ids of all files in them,
 * too: unless PERFETTO_SYMBOLIZER_MODE is "find".
 */
bool hs_symbol_folders_are_indexed(void);
