/*
 * Where the environment says that names are to be looked for: PERFETTO_BINARY_PATH, folders with colons between, and
 * PERFETTO_SYMBOLIZER_MODE, "find" by path and name, else in an index of all build ids in them.
 *
 *     struct hs_symbol_env env;
 *     hs_symbol_env_read(&env);
 *     options.search_paths = env.roots ...
 *     hs_symbol_env_deinit(&env);
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HS_SYMBOL_ENV_ROOTS_MAX 64

struct hs_symbol_env {
    char *text;                                 /* owned; the roots point into it */
    const char *roots[HS_SYMBOL_ENV_ROOTS_MAX]; /* further ones are left out */
    size_t root_count;                          /* 0: it says nothing */
    bool is_indexing;
};

void hs_symbol_env_read(struct hs_symbol_env *ret_env);
void hs_symbol_env_deinit(struct hs_symbol_env *env);
