/*
 * Folders of symbol files in the environment: see symbol_env.h.
 */
#include "cli/read/symbol_env.h"

#include <stdlib.h>
#include <string.h>

void hs_symbol_env_read(struct hs_symbol_env *ret_env)
{
    const char *value = getenv("PERFETTO_BINARY_PATH");
    const char *mode = getenv("PERFETTO_SYMBOLIZER_MODE");
    char *rest = NULL;
    *ret_env = (struct hs_symbol_env){ .is_indexing = !mode || strcmp(mode, "find") != 0 };
    ret_env->text = value && *value ? strdup(value) : NULL;
    for (char *root = ret_env->text ? strtok_r(ret_env->text, ":", &rest) : NULL;
         root && ret_env->root_count < HS_SYMBOL_ENV_ROOTS_MAX; root = strtok_r(NULL, ":", &rest)) {
        ret_env->roots[ret_env->root_count++] = root;
    }
}

void hs_symbol_env_deinit(struct hs_symbol_env *env)
{
    free(env->text);
    *env = (struct hs_symbol_env){ 0 };
}
