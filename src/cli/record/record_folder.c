/*
 * The files of `record`: see record_folder.h.
 */
#include "cli/record/record_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/empty_words.h"
#include "cli/end_signals.h"
#include "cli/message.h"
#include "cli/read/profile_file.h"
#include "cli/read/profile_files.h"
#include "cli/read/symbol_append.h"
#include "cli/read/symbol_sources.h"
#include "profile/read/load.h"
#include "util/outfile.h"

/* Chooses as Python's tempfile does. */
static const char *temporary_folder(void)
{
    static const char *const names[] = { "TMPDIR", "TEMP", "TMP" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && *value && access(value, W_OK | X_OK) == 0) {
            return value;
        }
    }
    return "/tmp";
}

static int make_new(struct hs_record_folder *folder)
{
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        uint8_t bytes[3] = { 0 };
        if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
            return -errno;
        }
        snprintf(folder->path, sizeof(folder->path), "%s/%02x%02x%02x", temporary_folder(),
                 bytes[0], bytes[1], bytes[2]);
        if (mkdir(folder->path, 0777) == 0) {
            /* The link needs an absolute path. */
            char whole[PATH_MAX];
            if (realpath(folder->path, whole) && strlen(whole) < sizeof(folder->path)) {
                snprintf(folder->path, sizeof(folder->path), "%.*s", (int)sizeof(folder->path) - 1,
                         whole);
            }
            folder->is_ours = true;
            return 0;
        }
        if (errno != EEXIST) {
            return -errno;
        }
    }
    return -EEXIST;
}

static int check_empty(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) {
        return -errno;
    }
    int r = 0;
    for (struct dirent *it = readdir(dir); it; it = readdir(dir)) {
        if (strcmp(it->d_name, ".") != 0 && strcmp(it->d_name, "..") != 0) {
            r = -ENOTEMPTY;
        }
    }
    closedir(dir);
    return r;
}

int hs_record_folder_open(struct hs_record_folder *folder, const char *path)
{
    *folder = (struct hs_record_folder){ .is_ours = false };
    if (!path) {
        int r = make_new(folder);
        if (r < 0) {
            hs_message("cannot make a folder in %s: %s", temporary_folder(), strerror(-r));
        }
        return r < 0 ? HS_EXIT_STATUS_FAILED : 0;
    }
    if (strlen(path) >= sizeof(folder->path)) {
        hs_message("%s: %s", path, strerror(ENAMETOOLONG));
        return HS_EXIT_STATUS_FAILED;
    }
    snprintf(folder->path, sizeof(folder->path), "%s", path);
    int r = check_empty(path);
    if (r == -ENOTEMPTY) {
        hs_message("output folder %s is not empty: give another one", path);
    } else if (r < 0) {
        hs_message("output folder %s: %s%s", path, strerror(-r),
                   r == -ENOENT ? "; the folder must exist: make it, or leave out -o" : "");
    }
    return r < 0 ? HS_EXIT_STATUS_FAILED : 0;
}

void hs_record_folder_file(const struct hs_record_folder *folder, const char *name, char *ret_path)
{
    snprintf(ret_path, PATH_MAX, "%s/%s", folder->path, name);
}

void hs_record_folder_drop(const struct hs_record_folder *folder)
{
    if (folder->is_ours) {
        rmdir(folder->path);
    }
}

/* --- symbols ---------------------------------------------------------------------------------- */

static int write_symbols(const char *raw, const char *symbols,
                         const struct hs_name_sources *sources)
{
    struct hs_outfile out;
    int r = hs_outfile_open(&out, symbols);
    if (r < 0) {
        return r;
    }
    r = hs_symbol_append_packets(raw, sources, hs_outfile_write, &out);
    if (r == 0) {
        r = hs_outfile_commit(&out);
    }
    hs_outfile_abort(&out);
    return r;
}

static int append_file(struct hs_outfile *out, const char *path)
{
    char block[65536];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;
    while (r == 0) {
        ssize_t got = read(fd, block, sizeof(block));
        if (got <= 0) {
            r = got < 0 ? -errno : 0;
            break;
        }
        r = hs_outfile_write(out, block, (size_t)got);
    }
    if (fd >= 0) {
        close(fd);
    }
    return r;
}

bool hs_record_folder_wants_symbols(void)
{
    return hs_symbol_sources_is_any();
}

/* Writes symbols and symbolized-trace, if the user says where to look. False: they are not
 * written. */
static bool symbolize(const struct hs_record_folder *folder)
{
    char raw[PATH_MAX], symbols[PATH_MAX], both[PATH_MAX];
    struct hs_name_sources sources;
    if (!hs_symbol_sources_is_any()) {
        return false;
    }
    hs_record_folder_file(folder, "raw-trace", raw);
    hs_record_folder_file(folder, "symbols", symbols);
    hs_record_folder_file(folder, "symbolized-trace", both);
    int r = hs_symbol_sources_read(&sources);
    if (r == 0) {
        sources.is_end_of_recording = true;
        r = write_symbols(raw, symbols, &sources);
        hs_name_sources_deinit(&sources);
    }
    struct hs_outfile out;
    if (r == 0 && (r = hs_outfile_open(&out, both)) == 0) {
        r = append_file(&out, raw);
        r = r ? r : append_file(&out, symbols);
        r = r ? r : hs_outfile_commit(&out);
        hs_outfile_abort(&out);
    }
    if (r != 0) {
        hs_message("Failed to symbolize. Continuing without symbols.%s%s", r < 0 ? " " : "",
                   r < 0 ? strerror(-r) : "");
    }
    return r == 0;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Makes heap_profile-latest beside the folder, with an atomic replacement. False: an entry of this
 * name belongs to another user. */
static bool link_latest(const struct hs_record_folder *folder, char *ret_link)
{
    char parent[PATH_MAX / 2], temporary[PATH_MAX];
    snprintf(parent, sizeof(parent), "%s", folder->path);
    *strrchr(parent, '/') = 0;
    snprintf(ret_link, PATH_MAX, "%s/heap_profile-latest", parent);
    snprintf(temporary, sizeof(temporary), "%s.link", folder->path);
    if (symlink(folder->path, temporary) < 0) {
        return false;
    }
    bool is_done = rename(temporary, ret_link) == 0;
    if (!is_done) {
        unlink(temporary);
    }
    return is_done;
}

int hs_record_fail_empty(const struct hs_profile *profile, const char *trace)
{
    hs_message("No profiles generated; the trace is %s", trace);
    hs_empty_words_say(profile, HS_EMPTY_ASKED);
    return HS_EXIT_STATUS_FAILED;
}

int hs_record_folder_finish(const struct hs_record_folder *folder, bool is_annotated)
{
    char trace[PATH_MAX], link[PATH_MAX];
    struct hs_profile *profile = NULL;
    bool is_symbolized = symbolize(folder);
    hs_record_folder_file(folder, is_symbolized ? "symbolized-trace" : "raw-trace", trace);
    if (hs_profile_file_load(trace, &profile) != 0) {
        return HS_EXIT_STATUS_FAILED;
    }
    const struct hs_profile_files files = { .folder = folder->path,
                                            .is_annotated = is_annotated,
                                            .is_compressed = true };
    int count = hs_profile_files_write(profile, &files);
    hs_profile_files_warn(profile);
    int status = count < 0    ? -count
                 : count == 0 ? hs_record_fail_empty(profile, trace)
                              : HS_EXIT_STATUS_DONE;
    hs_profile_free(profile);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    printf("Wrote profiles to %s", folder->path);
    if (folder->is_ours && link_latest(folder, link)) {
        printf(" (symlink %s)", link);
    }
    printf("\nThe raw-trace and heap_dump.* (pprof) files can be visualized with "
           "https://ui.perfetto.dev.\n");
    return fflush(stdout) == 0 ? 0 : HS_EXIT_STATUS_FAILED;
}
