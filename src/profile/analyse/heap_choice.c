/*
 * See heap_choice.h.
 */
#include "profile/analyse/heap_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/dump_heaps.h"
#include "util/buf.h"
#include "util/utf8.h"

/* In a list of more names, the rest is only counted. */
#define NAMES_LISTED 32U

/* What is chosen: marks are made while the globs are read. */
struct choice {
    const struct hs_profile *p, *other;
    bool *is_chosen;
    struct hs_buf *missing;
};

/* Marks the heaps that a glob matches. Returns whether there is one. `is_chosen` may be NULL. */
static bool mark(const struct hs_profile *p, const char *glob, bool *is_chosen)
{
    bool has_any = false;
    for (uint32_t i = 0; i < p->heap_count; i++) {
        if (hs_heap_glob_matches(glob, hs_profile_string(p, p->heaps[i]))) {
            has_any = true;
            if (is_chosen) {
                is_chosen[i] = true;
            }
        }
    }
    return has_any;
}

/* Marks the heaps that one glob of the list matches. */
static int mark_glob(void *ctx, const char *glob)
{
    const struct choice *choice = ctx;
    struct hs_buf *missing = choice->missing;
    bool is_there = mark(choice->p, glob, choice->is_chosen) ||
                    (choice->other && mark(choice->other, glob, NULL));
    if (!is_there && missing && missing->bytes == 0) {
        hs_utf8_write(missing, glob, strlen(glob));
        if (glob[0] == '\0') {
            hs_buf_str(missing, "(no name)");
        }
    }
    return 0;
}

/* Did the recording leave out a heap of any process? */
static bool has_left_out(const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->dump_heap_count; i++) {
        if (p->dump_heaps[i].is_left_out) {
            return true;
        }
    }
    return false;
}

/* What is counted at first shows nothing of carved heaps. If a heap in which they lie was not
 * recorded, nothing contains them: so all heaps are chosen, which leaves out only what lies in
 * another one that was recorded. */
static int choose_recorded(struct hs_profile *p)
{
    if (!has_left_out(p)) {
        return 0;
    }
    bool *is_chosen = malloc((size_t)p->heap_count + 1);
    if (!is_chosen) {
        return -ENOMEM;
    }
    memset(is_chosen, true, (size_t)p->heap_count + 1);
    hs_profile_choose_heaps(p, is_chosen);
    free(is_chosen);
    return 0;
}

static int choose(struct hs_profile *p, const struct hs_heap_patterns *patterns,
                  const struct hs_profile *other, bool is_alone, struct hs_buf *missing)
{
    bool *is_chosen = calloc((size_t)p->heap_count + 1, sizeof(*is_chosen));
    struct choice choice = { .p = p, .other = other, .is_chosen = is_chosen, .missing = missing };
    int err = is_chosen ? hs_heap_patterns_each(patterns, mark_glob, &choice) : -ENOMEM;
    if (err == 0 && missing && missing->err < 0) {
        err = missing->err;
    }
    if (err == 0 && (!missing || missing->bytes == 0)) {
        hs_profile_choose_heaps(p, is_chosen);
        if (is_alone) {
            hs_profile_keep_heaps(p, is_chosen);
        }
    }
    free(is_chosen);
    return err;
}

int hs_heap_choice_apply(struct hs_profile *p, const struct hs_heap_patterns *patterns,
                         const struct hs_profile *other, struct hs_buf *missing)
{
    return patterns && patterns->count > 0 ? choose(p, patterns, other, false, missing)
                                           : choose_recorded(p);
}

int hs_heap_choice_keep(struct hs_profile *p, const struct hs_heap_patterns *patterns,
                        struct hs_buf *missing)
{
    return patterns && patterns->count > 0 ? choose(p, patterns, NULL, true, missing)
                                           : choose_recorded(p);
}

void hs_heap_choice_write_missing(const struct hs_profile *p, struct hs_buf *missing,
                                  struct hs_buf *words)
{
    hs_buf_printf(words, "there is no heap '%s'; ", hs_buf_text(missing));
    hs_buf_str(words, p->heap_count == 0   ? "the file has no heaps"
                      : p->heap_count == 1 ? "the only heap is "
                                           : "there are ");
    hs_heap_choice_list(p, words);
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
