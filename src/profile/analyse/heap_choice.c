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
    const bool *is_left_out, *is_left_out_of_other;
    bool *is_chosen;
    struct hs_buf *missing;
};

/* Finds the heaps that the recording left out of each process that has them: an element for each
 * heap. NULL: out of memory. */
static bool *find_left_out(const struct hs_profile *p)
{
    bool *is_left_out = calloc((size_t)p->heap_count + 1, sizeof(*is_left_out));
    for (int turn = 0; turn < 2 && is_left_out; turn++) {
        for (uint32_t i = 0; i < p->dump_heap_count; i++) {
            const struct hs_profile_dump_heap *heap = &p->dump_heaps[i];
            if (heap->is_left_out == (turn == 0)) {
                is_left_out[heap->heap] = heap->is_left_out;
            }
        }
    }
    return is_left_out;
}

enum match { MATCH_NONE, MATCH_NOT_RECORDED, MATCH_RECORDED };

/* Marks the heaps that a glob matches. `is_chosen` may be NULL. */
static enum match mark(const struct hs_profile *p, const char *glob, const bool *is_left_out,
                       bool *is_chosen)
{
    enum match match = MATCH_NONE;
    for (uint32_t i = 0; i < p->heap_count; i++) {
        if (hs_heap_glob_matches(glob, hs_profile_string(p, p->heaps[i]))) {
            match =
                match == MATCH_RECORDED || !is_left_out[i] ? MATCH_RECORDED : MATCH_NOT_RECORDED;
            if (is_chosen) {
                is_chosen[i] = true;
            }
        }
    }
    return match;
}

/* Marks the heaps that one glob of the list matches. */
static int mark_glob(void *ctx, const char *glob)
{
    const struct choice *choice = ctx;
    struct hs_buf *missing = choice->missing;
    enum match match = mark(choice->p, glob, choice->is_left_out, choice->is_chosen);
    /* What was not recorded has not come or gone since the other profile. */
    if (match == MATCH_NONE && choice->other) {
        match = mark(choice->other, glob, choice->is_left_out_of_other, NULL);
    }
    bool is_there = match == MATCH_RECORDED;
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
    bool *is_left_out = find_left_out(p), *of_other = other ? find_left_out(other) : NULL;
    struct choice choice = { .p = p,
                             .other = other,
                             .is_left_out = is_left_out,
                             .is_left_out_of_other = of_other,
                             .is_chosen = is_chosen,
                             .missing = missing };
    bool has_all = is_chosen && is_left_out && (of_other || !other);
    int err = has_all ? hs_heap_patterns_each(patterns, mark_glob, &choice) : -ENOMEM;
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
    free(is_left_out);
    free(of_other);
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

/* Writes the names of the heaps that are not skipped (NULL: of all). */
static void list(const struct hs_profile *p, const bool *is_skipped, struct hs_buf *buf)
{
    uint32_t count = 0, listed = 0;
    for (uint32_t i = 0; i < p->heap_count; i++) {
        count += !(is_skipped && is_skipped[i]);
    }
    uint32_t most = count > NAMES_LISTED + 1 ? NAMES_LISTED : count;
    for (uint32_t i = 0; i < p->heap_count && listed < most; i++) {
        const char *name = hs_profile_string(p, p->heaps[i]);
        if (is_skipped && is_skipped[i]) {
            continue;
        }
        listed++;
        hs_buf_str(buf, listed == 1 ? "" : listed == count ? " and " : ", ");
        hs_utf8_write(buf, name, strlen(name));
    }
    if (listed < count) {
        hs_buf_printf(buf, " and %u more", count - listed);
    }
}

void hs_heap_choice_list(const struct hs_profile *p, struct hs_buf *buf)
{
    list(p, NULL, buf);
}

void hs_heap_choice_write_missing(const struct hs_profile *p, struct hs_buf *missing,
                                  struct hs_buf *words)
{
    bool *is_left_out = find_left_out(p);
    if (is_left_out && mark(p, hs_buf_text(missing), is_left_out, NULL) != MATCH_NONE) {
        hs_buf_printf(words, "the heap '%s' was not recorded; recorded were ",
                      hs_buf_text(missing));
        list(p, is_left_out, words);
    } else {
        hs_buf_printf(words, "there is no heap '%s'; ", hs_buf_text(missing));
        hs_buf_str(words, p->heap_count == 0   ? "the file has no heaps"
                          : p->heap_count == 1 ? "the only heap is "
                                               : "there are ");
        list(p, NULL, words);
    }
    free(is_left_out);
}
