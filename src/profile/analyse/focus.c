/*
 * See focus.h.
 */
#include "profile/analyse/focus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "rt/check.h"
#include "util/buf.h"

/* The number of the first character that the pattern cannot have: what comes before it is a pattern
 * by itself. regcomp() does not tell it. */
static size_t find_place(const char *pattern)
{
    size_t bytes = strlen(pattern);
    char *prefix = strdup(pattern);
    bool is_good = false;
    for (; prefix && bytes > 0 && !is_good; bytes -= !is_good) {
        regex_t regex;
        prefix[bytes] = '\0';
        is_good = regcomp(&regex, prefix, REG_EXTENDED | REG_NOSUB) == 0;
        if (is_good) {
            regfree(&regex);
        }
    }
    free(prefix);
    return bytes + 1;
}

int hs_focus_add(struct hs_focus *focus, const char *pattern, struct hs_buf *ret_why)
{
    char why[200];
    if (focus->count == HS_FOCUS_PATTERNS_MAX) {
        return -E2BIG;
    }
    regex_t *regex = &focus->patterns[focus->count];
    int code = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (code == 0) {
        focus->count++;
        return 0;
    }
    regerror(code, NULL, why, sizeof(why));
    hs_buf_printf(ret_why, "%s, at character %zu", why, find_place(pattern));
    return code == REG_ESPACE ? -ENOMEM : -EINVAL;
}

void hs_focus_deinit(struct hs_focus *focus)
{
    for (size_t i = 0; i < focus->count; i++) {
        regfree(&focus->patterns[i]);
    }
    focus->count = 0;
}

uint32_t hs_focus_match(const struct hs_focus *focus, const char *name)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < focus->count; i++) {
        mask |= regexec(&focus->patterns[i], name, 0, NULL, 0) == 0 ? UINT32_C(1) << i : 0;
    }
    return mask;
}

static int match_frame(const struct hs_profile *p, const struct hs_focus *focus,
                       const struct hs_profile_frame *frame, uint32_t *ret_mask)
{
    uint32_t mask = 0;
    const char *name = hs_profile_string(p, frame->name);
    for (uint32_t i = 0; i < frame->line_count; i++) {
        name = hs_profile_string(p, p->lines[frame->line_first + i].function);
        mask |= hs_focus_match(focus, name);
    }
    *ret_mask = mask;
    if (frame->line_count > 0) {
        return 0;
    }
    if (name[0] != '\0') {
        *ret_mask = hs_focus_match(focus, name);
        return 0;
    }
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(&text, "%s+0x%" PRIx64, hs_describe_module(p, frame->module), frame->rel_pc);
    *ret_mask = hs_focus_match(focus, hs_buf_text(&text));
    int err = text.err;
    hs_buf_deinit(&text);
    return err;
}

/* Finds which patterns match a frame of the stack, for each node. */
static int match_nodes(const struct hs_profile *p, const struct hs_focus *focus, uint32_t *masks)
{
    uint32_t *of_frames = calloc(p->frame_count + 1u, sizeof(of_frames[0]));
    int err = of_frames ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < p->frame_count && err == 0; i++) {
        err = match_frame(p, focus, &p->frames[i], &of_frames[i]);
    }
    for (uint32_t i = 0; i < p->node_count && err == 0; i++) {
        uint32_t parent = p->nodes[i].parent;
        masks[i] = of_frames[p->nodes[i].frame] | (parent == HS_NODE_NONE ? 0 : masks[parent]);
    }
    free(of_frames);
    return err;
}

static uint32_t keep_samples(const bool *is_kept, struct hs_profile_sample *to,
                             const struct hs_profile_sample *from, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_kept[from[i].node]) {
            to[kept++] = from[i];
        }
    }
    return kept;
}

void hs_focus_keep(struct hs_profile *p, struct hs_profile_dump *dump, const bool *is_kept)
{
    if (dump->samples_n + dump->aside_n > 0) {
        struct hs_profile_sample *samples = &p->samples[dump->sample_first];
        const struct hs_profile_sample *aside = samples + dump->samples_n;
        dump->samples_n = keep_samples(is_kept, samples, samples, dump->samples_n);
        dump->aside_n = keep_samples(is_kept, samples + dump->samples_n, aside, dump->aside_n);
    }
    for (unsigned view = 0; view < HS_PART_VIEWS_ALL && dump->has_parts; view++) {
        uint32_t first = dump->part_first[view], kept = 0;
        for (uint32_t i = first; i < first + dump->parts_n[view]; i++) {
            if (is_kept[p->parts[i].node]) {
                p->parts[first + kept++] = p->parts[i];
            }
        }
        dump->parts_n[view] = kept;
    }
    uint64_t block_count = dump->has_blocks ? dump->blocks_n : 0, kept_blocks = 0;
    struct hs_profile_block *blocks = block_count > 0 ? p->blocks + dump->block_first : NULL;
    for (uint64_t i = 0; i < block_count; i++) {
        if (is_kept[blocks[i].node]) {
            blocks[kept_blocks++] = blocks[i];
        }
    }
    dump->blocks_n = kept_blocks;
}

int hs_focus_apply(struct hs_profile *profile, const struct hs_focus *focus)
{
    uint32_t all = (uint32_t)((UINT64_C(1) << focus->count) - 1);
    uint32_t *masks = calloc(profile->node_count + 1u, sizeof(masks[0]));
    bool *is_kept = calloc(profile->node_count + 1u, sizeof(is_kept[0]));
    int err = masks && is_kept ? match_nodes(profile, focus, masks) : -ENOMEM;
    for (uint32_t i = 0; i < profile->node_count && err == 0; i++) {
        is_kept[i] = masks[i] == all;
    }
    for (uint32_t i = 0; i < profile->dump_count && err == 0 && focus->count > 0; i++) {
        hs_focus_keep(profile, &profile->dumps[i], is_kept);
    }
    HS_ASSERT_SLOW(hs_profile_is_valid(profile));
    free(masks);
    free(is_kept);
    return err;
}
