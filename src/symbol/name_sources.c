/*
 * Collects the sources of names: see name_sources.h.
 */
#include "symbol/name_sources.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/base.h"
#include "rt/clock.h"
#include "symbol/cache_folder.h"
#include "symbol/debuginfod.h"
#include "util/buf.h"

#define NS_PER_MS UINT64_C(1000000)
/* The limits without servers, at the end of a recording. */
#define MODULE_MS 20000U
#define TOTAL_MS  120000U

/* Sources, and who is told about those that cannot be used. */
struct reading {
    struct hs_name_sources *sources;
    const struct hs_opt_list *given;
    hs_name_sources_say_fn *say;
};

HS_PRINTF(2, 3)
static void say(const struct reading *reading, const char *format, ...)
{
    struct hs_buf text = HS_BUF_INIT;
    va_list args;
    if (!reading->say) {
        return;
    }
    va_start(args, format);
    hs_buf_vprintf(&text, format, args);
    va_end(args);
    reading->say(hs_buf_text(&text));
    hs_buf_deinit(&text);
}

/* Says what is wrong with a folder that the user named. */
static void look_at(const struct reading *reading, const char *who, const char *path)
{
    if (!reading->say) {
        return;
    }
    DIR *folder = opendir(path);
    if (!folder) {
        say(reading, "%s: no names come from the folder %s: %s", who, path, strerror(errno));
        return;
    }
    const struct dirent *entry;
    do {
        entry = readdir(folder);
    } while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    if (!entry) {
        say(reading, "%s: no names come from the folder %s: it is empty", who, path);
    }
    closedir(folder);
}

/* Adds the folders of a variable. */
static int add_variable(const struct reading *reading, struct hs_symbol_folders *folders,
                        const char *name)
{
    size_t first = folders->count;
    int err = hs_symbol_folders_add_variable(folders, name);
    for (size_t i = first; i < folders->count; i++) {
        reading->sources->is_any = true;
        look_at(reading, name, folders->paths[i]);
    }
    return err;
}

static int add_given(const struct reading *reading)
{
    struct hs_name_sources *sources = reading->sources;
    int err = 0;
    for (size_t i = 0; reading->given && i < reading->given->count && err == 0; i++) {
        const char *path = reading->given->items[i];
        look_at(reading, "--symbols", path);
        err = hs_symbol_folders_add(&sources->folders, path, strlen(path));
        err = err ? err : hs_symbol_folders_add(&sources->breakpad, path, strlen(path));
        sources->is_any = true;
    }
    return err;
}

/* pprof's folder counts where its variable names none, and is no request for names. */
static int add_pprof(const struct reading *reading)
{
    struct hs_name_sources *sources = reading->sources;
    const char *value = getenv("PPROF_BINARY_PATH"), *home = getenv("HOME");
    char path[PATH_MAX];
    if ((value && *value) || !home || home[0] != '/') {
        return add_variable(reading, &sources->folders, "PPROF_BINARY_PATH");
    }
    int bytes = snprintf(path, sizeof(path), "%s/pprof/binaries", home);
    DIR *folder = bytes > 0 && (size_t)bytes < sizeof(path) ? opendir(path) : NULL;
    if (!folder) {
        return 0;
    }
    closedir(folder);
    return hs_symbol_folders_add(&sources->folders, path, (size_t)bytes);
}

static void look_at_servers(const struct reading *reading)
{
    struct hs_name_sources *sources = reading->sources;
    if (!hs_debuginfod_is_wanted()) {
        return;
    }
    sources->is_any = sources->has_debuginfod = hs_debuginfod_is_installed();
    if (!sources->has_debuginfod) {
        say(reading, "DEBUGINFOD_URLS: no server is asked, because libdebuginfod.so.1 cannot be "
                     "loaded: install it (Debian: libdebuginfod1)");
    }
}

int hs_name_sources_read(const struct hs_opt_list *given, hs_name_sources_say_fn *say_fn,
                         struct hs_name_sources *ret_sources)
{
    struct hs_name_sources *s = ret_sources;
    const struct reading reading = { .sources = s, .given = given, .say = say_fn };
    *s = (struct hs_name_sources){ 0 };
    int err = add_given(&reading);
    s->indexed_count = s->folders.count;
    err = err ? err : add_variable(&reading, &s->folders, HS_ENV_BINARY_PATH);
    if (hs_symbol_folders_are_indexed()) {
        s->indexed_count = s->folders.count;
    }
    err = err ? err : add_pprof(&reading);
    err = err ? err : add_variable(&reading, &s->breakpad, "BREAKPAD_SYMBOL_DIR");
    look_at_servers(&reading);
    if (!hs_cache_folder_find(s->cache, sizeof(s->cache))) {
        s->cache[0] = '\0';
    }
    if (err != 0) {
        hs_name_sources_deinit(s);
    }
    return err;
}

void hs_name_sources_deinit(struct hs_name_sources *sources)
{
    hs_symbol_folders_deinit(&sources->folders);
    hs_symbol_folders_deinit(&sources->breakpad);
    *sources = (struct hs_name_sources){ 0 };
}

bool hs_name_sources_is_any(const struct hs_opt_list *given)
{
    static const char *const names[] = { HS_ENV_BINARY_PATH, "PPROF_BINARY_PATH",
                                         "BREAKPAD_SYMBOL_DIR" };
    bool is_any =
        (given && given->count > 0) || (hs_debuginfod_is_wanted() && hs_debuginfod_is_installed());
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        const char *value = getenv(names[i]);
        is_any |= value && value[strspn(value, ":")] != '\0';
    }
    return is_any;
}

struct hs_symbol_options hs_name_sources_options(const struct hs_name_sources *sources)
{
    struct hs_symbol_options options = {
        .search_paths = (const char *const *)sources->folders.paths,
        .search_path_count = sources->folders.count,
        .indexed_path_count = sources->indexed_count,
        .breakpad_paths = (const char *const *)sources->breakpad.paths,
        .breakpad_path_count = sources->breakpad.count,
        .has_debuginfod = sources->has_debuginfod,
        .is_given_only = sources->is_given_only,
        .cache_folder = sources->cache[0] ? sources->cache : NULL,
    };
    if (sources->has_debuginfod && sources->is_end_of_recording) {
        options.server_timeout_ms = HS_NAME_SOURCES_SERVER_MS;
        options.servers_until_ns =
            hs_clock_ns(CLOCK_MONOTONIC) + HS_NAME_SOURCES_SERVERS_MS * NS_PER_MS;
        options.module_timeout_ms = MODULE_MS + HS_NAME_SOURCES_SERVERS_MS;
        options.total_timeout_ms = TOTAL_MS + HS_NAME_SOURCES_SERVERS_MS;
    }
    return options;
}
