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
/* Each bad byte becomes the three bytes of U+FFFD. */
#define HS_CLEAN_BYTES (3U * HS_SCOPE_NAME_BYTES)

int hs_capture_clean_name(const char *text, char **ret_name)
{
    char clean[HS_CLEAN_BYTES + 1];
    size_t bytes = hs_utf8_clean(text, strlen(text), clean, HS_CLEAN_BYTES);
    for (size_t i = 0; i < bytes; i++) {
        clean[i] = clean[i] == '\t' ? ' ' : clean[i]; /* tabs are kept by hs_utf8_clean */
    }
    clean[bytes] = '\0';
    *ret_name = strdup(clean);
    return *ret_name ? 0 : -ENOMEM;
}

int hs_capture_name(const struct hs_region *region, const struct hs_name_v2 *from,
                    uint64_t *budget_bytes, char **ret_name)
{
    char *text = NULL;
    if (from->hash == 0 || *budget_bytes < HS_SCOPE_NAME_BYTES) {
        return hs_capture_clean_name("", ret_name);
    }
    int r = hs_region_read_text(region, from->name_off, HS_SCOPE_NAME_BYTES - 1, &text);
    if (r == 0) {
        *budget_bytes -= strlen(text);
        r = hs_capture_clean_name(text, ret_name);
        free(text);
    }
    return r;
}

static int copy_scope(const struct hs_region *region, const struct hs_name_v2 *from, uint32_t id,
                      uint64_t *budget_bytes, struct hs_snapshot *snap)
{
    struct hs_snap_scope *scope = &snap->scopes[id];
    if (id == HS_SCOPE_OTHER) {
        return hs_capture_clean_name("(other)", &scope->name);
    }
    int r = hs_capture_name(region, from, budget_bytes, &scope->name);
    if (r < 0 || !scope->name || scope->name[0] == '\0') {
        return r;
    }
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
    uint64_t budget_bytes = HS_CAPTURE_NAMES_BUDGET_BYTES;
    count = count < HS_SCOPES_MAX ? count : HS_SCOPES_MAX;
    struct hs_name_v2 *from = calloc(count + 1, sizeof(*from));
    snap->scopes = calloc(count + 1, sizeof(*snap->scopes));
    int r = from && snap->scopes ? 0 : -ENOMEM;
    if (r == 0) {
        r = hs_region_read(region, HS_SECTION_SCOPES, 0, count, from);
    }
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        snap->scope_count = i + 1;
        r = i == 0 ? hs_capture_clean_name("", &snap->scopes[0].name)
                   : copy_scope(region, &from[i], i, &budget_bytes, snap);
    }
    free(from);
    if (r == 0) {
        check_stacks(snap);
    }
    return r;
}
