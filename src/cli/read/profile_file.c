/*
 * See profile_file.h.
 */
#include "cli/read/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/dump_name.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/read/memory_bound.h"
#include "cli/read/missing_symbols.h"
#include "cli/read/name_maps.h"
#include "cli/read/symbol_sources.h"
#include "profile/analyse/stack_mode.h"
#include "profile/model/describe.h"
#include "profile/model/frame_types.h"
#include "profile/model/symbolize.h"
#include "profile/read/load.h"
#include "rt/base.h"
#include "rt/cursor.h"
#include "util/buf.h"

#define PIDS_NAMED 8
#define NAMES_TOLD 8
/* A longer packet is not a packet. */
#define TRACE_PACKET_BYTES_MAX (UINT64_C(1) << 30)

const char *const hs_profile_file_views[HS_VIEW_N + 1] = {
    [HS_VIEW_SPACE] = "space",
    [HS_VIEW_OBJECTS] = "objects",
    [HS_VIEW_ALLOC_SPACE] = "alloc_space",
    [HS_VIEW_ALLOC_OBJECTS] = "alloc_objects",
    [HS_VIEW_PEAK] = "peak",
    [HS_VIEW_AUTO] = "auto",
};

static bool has_names(const struct hs_profile *profile)
{
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        if (profile->frames[i].line_count > 0) {
            return true;
        }
    }
    return false;
}

/* Looks names up, and says what was not found in the user's sources. */
static int symbolize(struct hs_profile *profile, const struct hs_name_sources *sources,
                     const char *name)
{
    struct hs_symbolized symbolized = { 0 };
    const struct hs_symbol_options options = hs_symbol_sources_options(sources);
    hs_progress_expect(HS_PROGRESS_NAMING);
    int r = hs_profile_symbolize(profile, &options, &symbolized);
    hs_progress_over();
    if (r == 0 && sources->is_any) {
        hs_missing_symbols_say_all(&symbolized, name);
    }
    hs_symbolized_deinit(&symbolized);
    return r;
}

/* Names that were not found during recording are not searched again: only a file without any name
 * was recorded without names. Sources that the user names change that. */
static void add_names_and_types(struct hs_profile *profile, const char *name)
{
    struct hs_name_sources sources;
    int r = hs_symbol_sources_read(&sources);
    if (r == 0) {
        r = sources.is_any || !has_names(profile) ? symbolize(profile, &sources, name) : 0;
        hs_name_sources_deinit(&sources);
    }
    if (r < 0) {
        hs_message("%s: cannot look up function names: %s", name, strerror(-r));
    }
    hs_name_maps_apply(profile);
    /* By the names of frames. */
    r = hs_frame_types_apply(profile);
    if (r < 0) {
        hs_message("%s: cannot look up types: %s", name, strerror(-r));
    }
}

/* True: the first packet, field 1 of a trace, ends after the end of the file. */
static bool is_cut_trace(const char *head, size_t bytes, const char *path)
{
    struct hs_cursor c = { .at = (const uint8_t *)head, .end = (const uint8_t *)head + bytes };
    struct stat st;
    uint64_t tag = hs_cursor_uleb(&c), packet_bytes = hs_cursor_uleb(&c);
    return !c.is_bad && tag == (1U << 3 | 2U) && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           packet_bytes > (uint64_t)st.st_size && packet_bytes < TRACE_PACKET_BYTES_MAX;
}

/* Reads the first bytes of a file. Returns 0 for a pipe: it has been read, and opening it again
 * would block forever. */
static size_t read_head(const char *path, char *ret_head, size_t bytes)
{
    struct stat st;
    int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t got = is_file ? read(fd, ret_head, bytes) : 0;
    if (fd >= 0) {
        close(fd);
    }
    return got > 0 ? (size_t)got : 0;
}

/* Hints for files that users take for heap profiles. */
static const char *foreign_hint(const char *path)
{
    static const struct {
        const char *start, *hint;
    } hints[] = {
        { "\x7f"
          "ELF",
          " (a program or a core file: profile it with heapscope run)" },
        { "desc:", " (massif's output, which cannot be read)" },
        { "v 1", " (heaptrack's data, which cannot be read: heaptrack_print -F makes collapsed "
                 "stacks of it)" },
        { "{", " (JSON: give the file that it was made from)" },
        { "SQLite format 3", " (a database: ask it with heapscope query)" },
        { "<", " (a page or a picture: give the file that it was made from)" },
    };
    char head[16] = { 0 };
    size_t bytes = read_head(path, head, sizeof(head) - 1);
    for (size_t i = 0; i < HS_COUNT_OF(hints); i++) {
        size_t start_bytes = strlen(hints[i].start);
        if (bytes >= start_bytes && memcmp(head, hints[i].start, start_bytes) == 0) {
            return hints[i].hint;
        }
    }
    return is_cut_trace(head, bytes, path) ? " (it may be a trace that was cut off: its first "
                                             "packet ends after the end of the file)"
                                           : "";
}

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Writes why a file could not be loaded, without the file's name. */
static void write_load_words(const char *path, int error, const struct hs_load_report *report,
                             struct hs_buf *words)
{
    if (error == HS_TRACE_E_EMPTY) {
        hs_buf_str(words, "the file is empty");
    } else if (error == HS_TRACE_E_FOREIGN) {
        hs_buf_printf(words,
                      "not a heap profile: no trace of heapscope or Perfetto, no pprof profile, no "
                      "heap text of jemalloc or gperftools, no collapsed stacks, no MemoryInfra "
                      "trace%s",
                      foreign_hint(path));
    } else if (error == HS_LOAD_E_NOT_MEMORY) {
        hs_buf_printf(words, "not a heap profile: a pprof profile of %s",
                      report->type_name[0] ? report->type_name : "nothing: it has no sample types");
    } else if (error == -ENOMEM) {
        hs_buf_str(words, "reading it needs more memory than there is, or than heapscope may take "
                          "for a file (" HS_MEMORY_BOUND_WORDS ")");
    } else {
        hs_buf_str(words, strerror(-error));
    }
}

int hs_profile_file_fail(const char *path, int error, const struct hs_load_report *report)
{
    struct hs_buf words = HS_BUF_INIT;
    write_load_words(path, error, report, &words);
    hs_message("%s: %s", name_of(path), hs_buf_text(&words));
    hs_buf_deinit(&words);
    return HS_EXIT_STATUS_FAILED;
}

static int load(const char *path, struct hs_profile **ret_profile, struct hs_load_report *report)
{
    struct hs_memory_bound bound;
    hs_memory_bound_begin(&bound, path);
    int r = hs_profile_load(path, ret_profile, report);
    hs_memory_bound_end(&bound);
    return r;
}

int hs_profile_file_load(const char *path, struct hs_profile **ret_profile)
{
    struct hs_load_report report;
    int r = load(path, ret_profile, &report);
    if (r != 0) {
        return hs_profile_file_fail(path, r, &report);
    }
    add_names_and_types(*ret_profile, name_of(path));
    return 0;
}

bool hs_profile_file_is_damaged(const struct hs_profile *profile)
{
    for (uint32_t i = 0; i < profile->loss_count; i++) {
        const struct hs_profile_loss *loss = &profile->losses[i];
        if (loss->count > 0 && loss->is_serious &&
            strncmp(hs_profile_string(profile, loss->name), "file_", 5) == 0) {
            return true;
        }
    }
    return false;
}

/* Lists processes: "12, 13 and 5 more", or "server (12), worker (13)" */
static void list_pids(const struct hs_profile *profile, bool has_names, struct hs_buf *text)
{
    for (uint32_t i = 0; i < profile->process_count; i++) {
        if (i == PIDS_NAMED && profile->process_count > PIDS_NAMED + 1) {
            hs_buf_printf(text, " and %u more", profile->process_count - PIDS_NAMED);
            return;
        }
        hs_buf_str(text, i > 0 ? ", " : "");
        if (has_names) {
            hs_describe_process(profile, i, text);
        }
        hs_buf_printf(text, has_names ? " (%u)" : "%u", profile->processes[i].pid);
    }
}

/* Writes that no snapshot has this name, and lists the names that there are. */
static void write_named_words(const struct hs_profile *profile, const char *name,
                              struct hs_buf *words)
{
    uint32_t count = 0;
    hs_buf_printf(words, "there is no snapshot named '%s'", name);
    for (uint32_t i = 0; i < profile->dump_count; i++) {
        const struct hs_profile_dump *dump = &profile->dumps[i];
        if (dump->name != 0 && count++ < NAMES_TOLD) {
            hs_buf_printf(words, "%s '%s'", count == 1 ? "; there are" : ",",
                          hs_profile_string(profile, dump->name));
        }
    }
    hs_buf_str(words, count == 0 ? "; the program took none itself, and --snapshot N counts from 0"
                      : count > NAMES_TOLD ? " and others"
                                           : "");
}

/* Writes why a profile has nothing to show, without the file's name. */
static void write_select_words(const struct hs_profile *profile,
                               const struct hs_select_spec *select, int error, struct hs_buf *words)
{
    switch (error) {
    case HS_SELECT_E_EMPTY:
        hs_buf_printf(words, "there is no heap profile in this file%s",
                      hs_profile_file_is_damaged(profile) ? ": it is damaged, or was cut off" : "");
        break;
    case HS_SELECT_E_NO_PID:
        if (select->name) {
            hs_buf_printf(words,
                          "there is no profile of a process named '%s'; there are profiles of ",
                          select->name);
        } else {
            hs_buf_printf(words, "there is no profile of process %u; there are profiles of ",
                          select->pid);
        }
        list_pids(profile, select->name != NULL, words);
        break;
    case HS_SELECT_E_NO_SNAPSHOT:
        if (select->snapshot >= HS_SELECT_FROM_END) {
            hs_buf_printf(words, "there is no snapshot -%u; there are %u",
                          HS_SELECT_LAST - select->snapshot + 1, hs_select_dump_count_max(profile));
        } else {
            hs_buf_printf(words, "there is no snapshot %u; the last one is %u, the first one 0",
                          select->snapshot, hs_select_dump_count_max(profile) - 1);
        }
        break;
    case HS_SELECT_E_NO_NAMED:
        write_named_words(profile, select->snapshot_name, words);
        break;
    case HS_SELECT_E_NO_PEAK:
        hs_buf_str(words, "the peak was not recorded in this file");
        break;
    default:
        hs_buf_str(words, strerror(-error));
        break;
    }
}

static int say_why(const char *path, const struct hs_profile *profile,
                   const struct hs_select_spec *select, int error)
{
    struct hs_buf words = HS_BUF_INIT;
    write_select_words(profile, select, error, &words);
    hs_message("%s: %s", path, hs_buf_text(&words));
    hs_buf_deinit(&words);
    return HS_EXIT_STATUS_FAILED;
}

/* Writes why heaps could not be chosen. Takes over `missing`. Returns the exit status. */
static int end_choice(const struct hs_profile *profile, int err, struct hs_buf *missing,
                      struct hs_buf *words)
{
    if (err < 0) {
        hs_buf_str(words, strerror(-err));
    } else if (missing->bytes > 0) {
        hs_heap_choice_write_missing(profile, missing, words);
    }
    bool is_good = err == 0 && missing->bytes == 0;
    hs_buf_deinit(missing);
    return is_good ? 0 : HS_EXIT_STATUS_FAILED;
}

/* Chooses heaps. Returns 0, or the exit status with the reason in *words. */
static int choose_heaps(struct hs_profile *profile, const struct hs_heap_patterns *heaps,
                        const struct hs_profile *other, bool is_lenient, struct hs_buf *words)
{
    struct hs_buf missing = HS_BUF_INIT;
    if (profile->heap_count == 0) {
        return 0; /* for which there are words elsewhere */
    }
    int err = hs_heap_choice_apply(profile, heaps, other, is_lenient ? NULL : &missing);
    return end_choice(profile, err, &missing, words);
}

int hs_profile_file_choose_heaps(const char *path, struct hs_profile *profile,
                                 const struct hs_heap_patterns *heaps,
                                 const struct hs_profile *other)
{
    struct hs_buf words = HS_BUF_INIT;
    int status = choose_heaps(profile, heaps, other, false, &words);
    if (status != 0) {
        hs_message("%s: %s", name_of(path), hs_buf_text(&words));
    }
    hs_buf_deinit(&words);
    return status;
}

int hs_profile_file_keep_heaps(const char *path, struct hs_profile *profile,
                               const struct hs_heap_patterns *heaps)
{
    struct hs_buf words = HS_BUF_INIT, missing = HS_BUF_INIT;
    int err = profile->heap_count > 0 ? hs_heap_choice_keep(profile, heaps, &missing) : 0;
    int status = end_choice(profile, err, &missing, &words);
    if (status != 0) {
        hs_message("%s: %s", name_of(path), hs_buf_text(&words));
    }
    hs_buf_deinit(&words);
    return status;
}

static int open_selected(const char *path, const struct hs_select_spec *select, bool is_lenient,
                         struct hs_profile **ret_profile, struct hs_buf *ret_why)
{
    struct hs_profile *profile = NULL;
    struct hs_selection selection;
    struct hs_load_report report;
    int r = load(path, &profile, &report);
    if (r != 0) {
        write_load_words(path, r, &report, ret_why);
        return HS_EXIT_STATUS_FAILED;
    }
    r = hs_select_dumps(profile, select, &selection);
    if (r != 0) {
        write_select_words(profile, select, r, ret_why);
        hs_profile_free(profile);
        return HS_EXIT_STATUS_FAILED;
    }
    hs_selection_deinit(&selection);
    int status = choose_heaps(profile, select->heaps, NULL, is_lenient, ret_why);
    if (status != 0) {
        hs_profile_free(profile);
        return status;
    }
    add_names_and_types(profile, name_of(path));
    *ret_profile = profile;
    return 0;
}

int hs_profile_file_open(const char *operand, const struct hs_heap_patterns *heaps, bool is_lenient,
                         struct hs_select_spec *ret_select, struct hs_profile **ret_profile,
                         struct hs_buf *ret_why)
{
    char *path = NULL;
    bool has_snapshot;
    *ret_select = (struct hs_select_spec){ .snapshot = HS_SELECT_LAST, .heaps = heaps };
    int r = hs_dump_name_split(operand, &path, ret_select, &has_snapshot);
    if (r < 0) {
        hs_buf_str(ret_why, strerror(-r));
        return HS_EXIT_STATUS_FAILED;
    }
    r = open_selected(path, ret_select, is_lenient, ret_profile, ret_why);
    free(path);
    return r;
}

int hs_profile_file_choose(const char *path, const struct hs_profile *profile,
                           const struct hs_select_spec *select, enum hs_view wanted,
                           enum hs_view *ret_view, const char **ret_reason)
{
    struct hs_selection selection;
    int r = hs_select_dumps(profile, select, &selection);
    if (r == 0) {
        r = hs_view_choose(&selection, wanted, ret_view, ret_reason);
        hs_selection_deinit(&selection);
    }
    return r == 0 ? 0 : say_why(path, profile, select, r);
}

int hs_profile_file_change_stacks(const char *path, struct hs_profile *profile,
                                  const struct hs_select_spec *select)
{
    enum hs_stack_mode mode = select->stack_mode;
    int r = mode == HS_STACK_MODE_NATIVE ? 0 : hs_stack_mode_check(profile, select);
    if (r == -ENODATA) {
        hs_message("%s: --stack-mode %s needs a trace of this version of heapscope: in this file, "
                   "threads and scopes are not recorded",
                   name_of(path), hs_stack_mode_names[mode]);
    } else if (r == 0) {
        r = hs_stack_mode_apply(profile, mode);
    }
    if (r != 0 && r != -ENODATA) {
        hs_message("%s: %s", name_of(path), strerror(r < 0 ? -r : EINVAL));
    }
    return r == 0 ? 0 : HS_EXIT_STATUS_FAILED;
}

int hs_profile_file_load_view(const char *path, const struct hs_select_spec *select,
                              enum hs_view wanted, struct hs_profile **ret_profile,
                              enum hs_view *ret_view, const char **ret_reason)
{
    struct hs_profile *profile = NULL;
    int status = hs_profile_file_load(path, &profile);
    if (status == 0) {
        status = hs_profile_file_choose_heaps(path, profile, select->heaps, NULL);
    }
    if (status == 0) {
        status = hs_profile_file_choose(path, profile, select, wanted, ret_view, ret_reason);
    }
    if (status == 0) {
        status = hs_profile_file_change_stacks(path, profile, select);
    }
    if (status != 0) {
        hs_profile_free(profile);
        return status;
    }
    *ret_profile = profile;
    return 0;
}
