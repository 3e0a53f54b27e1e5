/*
 * From the look at a program to changed entries: see embedded_allocator.h.
 */
#include "collect/attach/embedded_allocator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/attach/client_calls.h"
#include "collect/attach/detour_plan.h"
#include "collect/attach/waiting_call.h"
#include "collect/inspect/exe_file.h"
#include "fmt/ctl_layout.h"
#include "inject/check/inject_check.h"
#include "inject/inject.h"
#include "inject/ptrace/text_patch.h"
#include "inject/remote/remote_maps.h"
#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"

#define READS_MAX 1000000U
/* While libraries are loaded and unloaded, the loader's list is inconsistent at times: it is read
 * up to LOOKS times. */
#define LOOKS    10U
#define PAUSE_NS 1000000
/* How many places for slots are tried: the process may itself map something at the chosen place. */
#define PLACES 16U

struct work {
    pid_t pid;
    uint64_t patience_ns;
    struct hs_inject_request inject;
    int waiting_fd; /* the process waits at the other end of this connection; -1: it runs */
    uint32_t reads_left;
    struct hs_remote_memory memory;
    struct hs_remote_objects objects;
    struct hs_remote_maps maps;
    struct hs_detours_v1 detours; /* the detours that the client has noted */
    struct hs_allocator_names names;
    uint64_t malloc_va; /* the malloc that the program exports; 0: none */
    struct hs_detour_plan plan;
    struct hs_detour_request_v1 request;
    struct hs_embedded_allocator *own;
    char prefix[HS_ALLOCATOR_PREFIX_MAX + 1]; /* without HS_ALLOCATOR_CARVED */
    bool is_carved;
};

static bool fail(struct work *w, const char *what, const char *detail)
{
    snprintf(w->own->words, sizeof(w->own->words), "%s%s%s%s", what, *detail ? " (" : "", detail,
             *detail ? ")" : "");
    return false;
}

static const char *message_of(int64_t value)
{
    switch (-value) {
    case EEXIST:
        return "there is no free address space near its code; try again";
    case EPERM:
    case EACCES:
        return "its allocator is embedded, and a security module does not allow the new code that "
               "redirecting it needs";
    case EINVAL:
        return "the heapscope client in it is of another version: restart the program";
    case ENOMEM:
        return "it has no memory or address space left: see its RLIMIT_AS";
    default:
        return strerror((int)-value);
    }
}

/* --- looking ---------------------------------------------------------------------------------- */

static bool load_objects(struct work *w)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    int r = HS_INJECT_BAD_MEMORY;
    for (unsigned i = 0; r == HS_INJECT_BAD_MEMORY && i < LOOKS; i++) {
        if (i > 0) {
            nanosleep(&pause, NULL);
        }
        w->reads_left = READS_MAX;
        r = hs_remote_objects_load(w->pid, &w->memory, &w->objects);
    }
    return r == HS_INJECT_DONE;
}

/* Opens the process. False: it cannot be looked at, or is gone; attaching itself will say why. */
static bool open_work(struct work *w, pid_t pid, uint64_t patience_ns,
                      struct hs_embedded_allocator *own)
{
    memset(w, 0, sizeof(*w));
    *own = (struct hs_embedded_allocator){ 0 };
    w->pid = pid;
    w->patience_ns = patience_ns;
    w->own = own;
    w->waiting_fd = -1;
    w->memory.fd = -1;
    if (hs_remote_memory_open(pid, &w->memory) < 0) {
        return false;
    }
    w->memory.reads_left = &w->reads_left;
    return load_objects(w);
}

static void close_work(struct work *w)
{
    hs_remote_objects_deinit(&w->objects);
    hs_remote_maps_deinit(&w->maps);
    hs_remote_memory_close(&w->memory);
}

/* Reads the detours that the client has noted; none, if it is not loaded. */
static void read_detours(struct work *w)
{
    struct hs_remote_symbol symbol;
    struct hs_detours_v1 *detours = &w->detours;
    if (!hs_remote_objects_search(&w->memory, &w->objects, HS_DETOURS_SYMBOL, &symbol) ||
        hs_remote_memory_read(&w->memory, symbol.va, detours, sizeof(*detours)) < 0 ||
        detours->detours_bytes != sizeof(*detours) || detours->count > HS_DETOUR_ROWS_MAX) {
        detours->count = 0;
    }
}

/* --- changing --------------------------------------------------------------------------------- */

static bool is_in_program(const struct work *w, const struct hs_detour_row_v1 *row)
{
    const struct hs_remote_object *program = &w->objects.items[0];
    return row->change_bytes <= HS_DETOUR_CHANGE_BYTES && row->entry_va >= program->start_va &&
           row->entry_va + row->change_bytes <= program->end_va;
}

static bool is_known(const struct hs_text_change *changes, size_t count, uint64_t va)
{
    size_t i = 0;
    while (i < count && changes[i].va != va) {
        i++;
    }
    return i < count;
}

/* Lists one change for each entry: to the jump, or (is_back) to the original bytes. */
static size_t collect_changes(const struct work *w, bool is_back,
                              struct hs_text_change changes[HS_DETOUR_ROWS_MAX])
{
    size_t count = 0;
    for (uint32_t i = 0; i < w->detours.count; i++) {
        const struct hs_detour_row_v1 *row = &w->detours.rows[i];
        if (!is_in_program(w, row) || is_known(changes, count, row->entry_va)) {
            continue;
        }
        struct hs_text_change *change = &changes[count++];
        change->va = row->entry_va;
        change->size_bytes = (uint8_t)row->change_bytes;
        memcpy(change->was, is_back ? row->now : row->was, sizeof(change->was));
        memcpy(change->now, is_back ? row->was : row->now, sizeof(change->now));
    }
    return count;
}

static bool change_entries(struct work *w, bool is_back)
{
    struct hs_text_change changes[HS_DETOUR_ROWS_MAX];
    struct hs_text_patch_result result;
    const struct hs_text_patch_request request = { .pid = w->pid,
                                                   .changes = changes,
                                                   .count = collect_changes(w, is_back, changes),
                                                   .may_be_inside = !is_back,
                                                   .patience_ns = w->patience_ns };
    if (request.count == 0) {
        return is_back || fail(w, message_of(-EINVAL), "");
    }
    int error = hs_text_patch(&request, &result);
    w->own->changed_count = (uint32_t)result.changed_count;
    w->own->thread_count = (uint32_t)result.thread_count;
    w->own->stopped_ns = result.stopped_ns;
    return !error || fail(w, hs_inject_error_words(error), result.detail);
}

/* --- preparing -------------------------------------------------------------------------------- */

static bool call(struct work *w, int64_t *ret_value)
{
    struct hs_inject_result result;
    if (w->waiting_fd >= 0) {
        int r = hs_waiting_call(w->waiting_fd, &w->memory, &w->objects, &w->request, ret_value);
        return r == 0 ||
               fail(w, "it did not wait until its allocator was redirected", strerror(-r));
    }
    w->inject.arg = &w->request;
    w->inject.arg_bytes = sizeof(w->request);
    int error = hs_inject_call(&w->inject, &result);
    *ret_value = result.value;
    return !error || fail(w, hs_inject_error_words(error), result.detail);
}

/* Plans all detours, with the slots at the `nth` free place. */
static bool plan(struct work *w, unsigned nth)
{
    struct hs_remote_symbol unused;
    char words[HS_DETOUR_PLAN_WORDS];
    if (hs_remote_maps_load(w->pid, &w->maps) < 0) {
        return fail(w, "its memory cannot be read", "");
    }
    const struct hs_detour_place place = {
        .memory = &w->memory,
        .names = &w->names,
        .has_exported_malloc = w->malloc_va != 0,
        .objects = &w->objects,
        .client = hs_remote_objects_search(&w->memory, &w->objects, HS_DETOUR_ENTRY, &unused),
        .slots_va = hs_detour_find_place(&w->maps, &w->objects.items[0], nth),
    };
    if (!place.client || place.slots_va == 0) {
        return fail(w, message_of(-EEXIST), "");
    }
    return hs_detour_make_plan(&place, &w->plan, words) ||
           fail(w,
                w->malloc_va != 0
                    ? "its allocator is embedded, and cannot be redirected; link the allocator as "
                      "a shared library"
                    : "it has an allocator beside malloc, which cannot be redirected; link that as "
                      "a shared library, or attach with --allocator none, to leave it out",
                words);
}

/* Brings the plan into the process, in pieces. */
static bool send_plan(struct work *w, int64_t *ret_value)
{
    const struct hs_detour_plan *plan = &w->plan;
    struct hs_detour_request_v1 *request = &w->request;
    uint32_t row = 0, off = 0;
    do {
        uint32_t rows = plan->detours.count - row, bytes = plan->slots_bytes - off;
        rows = rows < HS_DETOUR_PIECE_ROWS ? rows : HS_DETOUR_PIECE_ROWS;
        bytes = bytes < HS_DETOUR_PIECE_SLOTS_BYTES ? bytes : HS_DETOUR_PIECE_SLOTS_BYTES;
        *request = (struct hs_detour_request_v1){ .request_bytes = sizeof(*request),
                                                  .row_first = row,
                                                  .row_count = rows,
                                                  .slots_va = plan->detours.slots_va,
                                                  .slots_all_bytes = plan->slots_bytes,
                                                  .slots_off = off,
                                                  .slots_bytes = bytes,
                                                  .flags = w->is_carved ? HS_DETOUR_CARVED : 0 };
        memcpy(request->rows, plan->detours.rows + row, rows * sizeof(request->rows[0]));
        memcpy(request->slots, plan->slots + off, bytes);
        row += rows;
        off += bytes;
        request->is_last = row == plan->detours.count;
        if (!call(w, ret_value)) {
            return false;
        }
    } while (*ret_value == 0 && !request->is_last);
    return true;
}

/* Loads the client. *ret_value is -ENOTSUP when the client was there from the start. */
static bool load_client(struct work *w, int64_t *ret_value)
{
    memset(&w->request, 0, sizeof(w->request));
    w->request.request_bytes = sizeof(w->request);
    return call(w, ret_value);
}

static bool prepare(struct work *w)
{
    int64_t value = -EEXIST;
    if (!load_objects(w)) {
        return fail(w, "the data of its loader in memory is not valid", "");
    }
    for (unsigned nth = 0; value == -EEXIST && nth < PLACES; nth++) {
        if (!plan(w, nth) || !send_plan(w, &value)) {
            return false;
        }
    }
    if (value != 0 && value != -EALREADY) {
        return fail(w, message_of(value), "");
    }
    read_detours(w);
    return w->detours.count > 0 || fail(w, message_of(-EINVAL), "");
}

static bool redirect(struct work *w)
{
    int64_t value = 0;
    const char *objection = hs_detour_objection(&w->memory, &w->objects);
    if (objection) {
        return fail(w, objection, "");
    }
    read_detours(w);
    if (w->detours.count == 0) {
        if (!load_client(w, &value)) {
            return false;
        }
        if (value == -ENOTSUP) {
            return true;
        }
        if (value != 0) {
            return fail(w, message_of(value), "");
        }
        if (!prepare(w)) {
            return false;
        }
    }
    return change_entries(w, false);
}

/* --- redirecting and releasing ---------------------------------------------------------------- */

/* Does the program have an allocator to redirect? False, with a message: that cannot be decided. */
static bool find_allocators(struct work *w, const char *prefix, bool *ret_is_there)
{
    w->malloc_va = hs_detour_exported_malloc(&w->memory, &w->objects);
    hs_allocator_names_init(prefix, &w->names);
    hs_allocator_names_look(w->pid, &w->memory, &w->objects.items[0], &w->names);
    if (!hs_allocator_names_choose(&w->names, w->malloc_va, w->own->words, sizeof(w->own->words))) {
        return false;
    }
    if (prefix && strcmp(prefix, HS_ALLOCATOR_NONE) != 0 && w->names.chosen_count == 0) {
        snprintf(w->own->words, sizeof(w->own->words),
                 "it has no functions like %smalloc and %sfree%s", prefix, prefix,
                 w->malloc_va != 0 ? " that are the malloc that it exports"
                                   : ", or no symbols for them");
        return false;
    }
    *ret_is_there = w->malloc_va != 0 || w->names.chosen_count > 0;
    return true;
}

static bool find_and_redirect(struct work *w, const char *allocator)
{
    bool is_there = false;
    const char *prefix = NULL;
    if (allocator) {
        const char *carved = strstr(allocator, HS_ALLOCATOR_CARVED);
        w->is_carved = carved != NULL;
        snprintf(w->prefix, sizeof(w->prefix), "%.*s",
                 (int)(carved ? (size_t)(carved - allocator) : strlen(allocator)), allocator);
        prefix = w->prefix;
    }
    return find_allocators(w, prefix, &is_there) && (!is_there || redirect(w));
}

bool hs_embedded_allocator_redirect(pid_t pid, const char *client_path, const char *client_name,
                                    const char *prefix, uint64_t patience_ns,
                                    struct hs_embedded_allocator *ret_own)
{
    struct work *w = malloc(sizeof(*w));
    bool is_ok = true;
    if (!w) {
        *ret_own = (struct hs_embedded_allocator){ .words = "heapscope ran out of memory" };
        return false;
    }
    if (open_work(w, pid, patience_ns, ret_own) && w->objects.count > 0) {
        w->inject = (struct hs_inject_request){ .pid = pid,
                                                .library_path = client_path,
                                                .library_name = client_name,
                                                .symbol = HS_DETOUR_ENTRY,
                                                .fetch_fd_off = -1,
                                                .patience_ns = patience_ns };
        hs_client_calls_detour(&w->inject);
        is_ok = find_and_redirect(w, prefix);
    }
    close_work(w);
    free(w);
    return is_ok;
}

static bool is_sanitized(pid_t pid)
{
    char path[64];
    struct hs_exe_file file = { .has_sanitizer_inside = false };
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        hs_exe_file_inspect(fd, &file);
        close(fd);
    }
    return file.has_sanitizer_inside;
}

/* Checks for the reasons for which attaching would be refused, before anything is changed. */
static bool check(struct work *w, bool is_open)
{
    char detail[HS_INJECT_DETAIL_BYTES] = "";
    pid_t view_tid;
    int error = hs_inject_check(w->pid, &view_tid, detail);
    if (error == HS_INJECT_DONE && !is_open) {
        error = w->memory.fd < 0 ? hs_inject_check_refusal(w->pid, EACCES, detail)
                                 : HS_INJECT_BAD_MEMORY;
    }
    if (error != HS_INJECT_DONE) {
        return fail(w, hs_inject_error_words(error), detail);
    }
    const char *objection = hs_detour_objection(&w->memory, &w->objects);
    if (!objection && is_sanitized(w->pid)) {
        objection = "a sanitizer serves its memory: profile it without the sanitizer";
    }
    return !objection || fail(w, objection, "");
}

bool hs_embedded_allocator_redirect_waiting(pid_t pid, int waiting_fd, uint64_t patience_ns,
                                            struct hs_embedded_allocator *ret_own)
{
    struct work *w = malloc(sizeof(*w));
    bool is_there = false;
    if (!w) {
        *ret_own = (struct hs_embedded_allocator){ .words = "heapscope ran out of memory" };
        return false;
    }
    bool is_open = open_work(w, pid, patience_ns, ret_own);
    w->waiting_fd = waiting_fd;
    bool is_ok = check(w, is_open) && find_allocators(w, NULL, &is_there) && prepare(w) &&
                 change_entries(w, false);
    close_work(w);
    free(w);
    return is_ok;
}

bool hs_embedded_allocator_release(pid_t pid, uint64_t patience_ns,
                                   struct hs_embedded_allocator *ret_own)
{
    struct work *w = malloc(sizeof(*w));
    bool is_ok = true;
    if (!w) {
        *ret_own = (struct hs_embedded_allocator){ .words = "heapscope ran out of memory" };
        return false;
    }
    if (open_work(w, pid, patience_ns, ret_own)) {
        read_detours(w);
        is_ok = change_entries(w, true);
    }
    close_work(w);
    free(w);
    return is_ok;
}

void hs_embedded_allocator_describe(pid_t pid, char *ret_text, size_t cap_bytes)
{
    struct work *w = malloc(sizeof(*w));
    struct hs_embedded_allocator unused;
    bool is_there;
    ret_text[0] = '\0';
    if (!w) {
        return;
    }
    if (open_work(w, pid, 0, &unused) && w->objects.count > 0) {
        find_allocators(w, NULL, &is_there);
        for (size_t i = 0; w->malloc_va == 0 && i < w->names.family_count; i++) {
            size_t at = strlen(ret_text);
            if (w->names.families[i].is_chosen) {
                snprintf(ret_text + at, cap_bytes - at, "%s%smalloc", at > 0 ? ", " : "",
                         w->names.families[i].prefix);
            }
        }
    }
    close_work(w);
    free(w);
}
