/*
 * See heap_choice.h.
 */
#include "profile/analyse/heap_choice.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/dump_heaps.h"
#include "util/buf.h"
#include "util/utf8.h"

/* In a list of more names, the rest is only counted. */
#define NAMES_LISTED 32U

/* Marks the heaps that a glob matches. Returns whether there is one. `is_chosen` may be NULL. */
static bool mark(const struct hs_profile *p, const char *glob, bool *is_chosen)
{
    bool has_any = false;
    for (uint32_t i = 0; i < p->heap_count; i++) {
        const char *name = hs_profile_string(p, p->heaps[i]);
        if (strcmp(name, glob) == 0 || fnmatch(glob, name, 0) == 0) {
            has_any = true;
            if (is_chosen) {
                is_chosen[i] = true;
            }
        }
    }
    return has_any;
}

/* Marks the heaps that one list of globs matches. Changes the list. */
static void mark_list(const struct hs_profile *p, char *list, const struct hs_profile *other,
                      bool *is_chosen, struct hs_buf *missing)
{
    char *rest = list;
    for (char *glob; (glob = strsep(&rest, ",")) != NULL;) {
        bool is_there = mark(p, glob, is_chosen) || (other && mark(other, glob, NULL));
        if (!is_there && missing && missing->bytes == 0) {
            hs_utf8_write(missing, glob, strlen(glob));
            if (glob[0] == '\0') {
                hs_buf_str(missing, "(no name)");
            }
        }
    }
}

/* Did the recording leave out malloc's heap in every process that it recorded? */
static bool is_without_malloc(const struct hs_profile *p)
{
    bool is_any = false;
    for (uint32_t i = 0; i < p->process_count; i++) {
        if (p->processes[i].refusal == 0 && !p->processes[i].is_without_malloc) {
            return false;
        }
        is_any |= p->processes[i].is_without_malloc;
    }
    return is_any;
}

/* What is chosen at first shows nothing of heaps carved from malloc's. If that was left out,
 * nothing contains them: so all heaps but malloc's are chosen. */
static int choose_recorded(struct hs_profile *p)
{
    if (!is_without_malloc(p)) {
        return 0;
    }
    bool *is_chosen = calloc((size_t)p->heap_count + 1, sizeof(*is_chosen));
    if (!is_chosen) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < p->heap_count; i++) {
        is_chosen[i] = strcmp(hs_profile_string(p, p->heaps[i]), "libc.malloc") != 0;
    }
    hs_profile_choose_heaps(p, is_chosen);
    free(is_chosen);
    return 0;
}

int hs_heap_choice_apply(struct hs_profile *p, const struct hs_heap_patterns *patterns,
                         const struct hs_profile *other, struct hs_buf *missing)
{
    if (!patterns || patterns->count == 0) {
        return choose_recorded(p);
    }
    bool *is_chosen = calloc((size_t)p->heap_count + 1, sizeof(*is_chosen));
    int err = is_chosen ? 0 : -ENOMEM;
    for (size_t i = 0; i < patterns->count && err == 0; i++) {
        char *list = strdup(patterns->texts[i]);
        if (list) {
            mark_list(p, list, other, is_chosen, missing);
        } else {
            err = -ENOMEM;
        }
        free(list);
    }
    if (err == 0 && missing && missing->err < 0) {
        err = missing->err;
    }
    if (err == 0 && (!missing || missing->bytes == 0)) {
        hs_profile_choose_heaps(p, is_chosen);
    }
    free(is_chosen);
    return err;
}

void hs_heap_choice_list(const struct hs_profile *p, struct hs_buf *buf)
{
    uint32_t listed = p->heap_count > NAMES_LISTED + 1 ? NAMES_LISTED : p->heap_count;
    for (uint32_t i = 0; i < listed; i++) {
        const char *name = hs_profile_string(p, p->heaps[i]);
        bool is_last = i + 1 == p->heap_count;
        hs_buf_str(buf, i == 0 ? "" : is_last ? " and " : ", ");
        hs_utf8_write(buf, name, strlen(name));
    }
    if (listed < p->heap_count) {
        hs_buf_printf(buf, " and %u more", p->heap_count - listed);
    }
}
