/*
 * Where the environment says to look for names: PERFETTO_BINARY_PATH, folders separated by colons,
 * and PERFETTO_SYMBOLIZER_MODE: "find" searches by path and name, anything else by an index of all
 * build ids in the folders.
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
    size_t root_count;                          /* 0: the environment names none */
    bool is_indexing;
};

/* Reads the environment; further folders than HS_SYMBOL_ENV_ROOTS_MAX are left out. */
void hs_symbol_env_read(struct hs_symbol_env *ret_env);
/* Frees the text. */
void hs_symbol_env_deinit(struct hs_symbol_env *env);
