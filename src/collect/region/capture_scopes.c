/*
 * Copies the scopes. See capture_scopes.h.
 */
#include "collect/region/capture_scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "util/utf8.h"

/* No client of ours stores more. */
#define HS_SCOPES_MAX (1U << 18)
/* limit for all names together: they may overlap */
#define HS_NAMES_BUDGET_BYTES (UINT64_C(32) << 20)
/* Each bad byte becomes the three bytes of U+FFFD. */
#define HS_CLEAN_BYTES (3U * HS_SCOPE_NAME_BYTES)

static int set_name(struct hs_snap_scope *scope, const char *text)
{
    char clean[HS_CLEAN_BYTES + 1];
    size_t bytes = hs_utf8_clean(text, strlen(text), clean, HS_CLEAN_BYTES);
    for (size_t i = 0; i < bytes; i++) {
        clean[i] = clean[i] == '\t' ? ' ' : clean[i]; /* tabs are kept by hs_utf8_clean */
    }
    clean[bytes] = '\0';
    scope->name = strdup(clean);
    return scope->name ? 0 : -ENOMEM;
}

static int copy_scope(const struct hs_region *region, const struct hs_name_v2 *from, uint32_t id,
                      uint64_t *budget_bytes, struct hs_snapshot *snap)
{
    struct hs_snap_scope *scope = &snap->scopes[id];
    char *text = NULL;
    if (id == HS_SCOPE_OTHER) {
        return set_name(scope, "(other)");
    }
    if (from->hash == 0 || *budget_bytes < HS_SCOPE_NAME_BYTES) {
        return set_name(scope, "");
    }
    int r = hs_region_read_text(region, from->name_off, HS_SCOPE_NAME_BYTES - 1, &text);
    if (r < 0) {
        return r;
    }
    *budget_bytes -= strlen(text);
    r = set_name(scope, text);
    free(text);
    scope->parent = from->parent;
    if (scope->parent >= id) {
        scope->parent = 0;
        snap->bad_count++;
    }
    return r;
}

static void check_stacks(struct hs_snapshot *snap)
{
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        struct hs_snap_stack *stack = &snap->stacks[i];
        if (stack->scope_id >= snap->scope_count && stack->scope_id != 0) {
            stack->scope_id = 0;
            snap->bad_count++;
        }
    }
}

int hs_capture_scopes(const struct hs_region *region, struct hs_snapshot *snap)
{
    uint64_t count = hs_region_count(region, HS_SECTION_SCOPES);
    uint64_t budget_bytes = HS_NAMES_BUDGET_BYTES;
    count = count < HS_SCOPES_MAX ? count : HS_SCOPES_MAX;
    struct hs_name_v2 *from = calloc(count + 1, sizeof(*from));
    snap->scopes = calloc(count + 1, sizeof(*snap->scopes));
    int r = from && snap->scopes ? 0 : -ENOMEM;
    if (r == 0) {
        r = hs_region_read(region, HS_SECTION_SCOPES, 0, count, from);
    }
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        snap->scope_count = i + 1;
        r = i == 0 ? set_name(&snap->scopes[0], "")
                   : copy_scope(region, &from[i], i, &budget_bytes, snap);
    }
    free(from);
    if (r == 0) {
        check_stacks(snap);
    }
    return r;
}
