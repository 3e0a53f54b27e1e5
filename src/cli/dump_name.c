/*
 * See dump_name.h.
 */
#include "cli/dump_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/analyse/select.h"
#include "util/parse.h"

int hs_dump_name_number(const char *text, uint32_t *ret_snapshot)
{
    uint64_t number;
    bool is_from_end = text[0] == '-';
    if (strcmp(text, "last") == 0) {
        *ret_snapshot = HS_SELECT_LAST;
        return 0;
    }
    if (hs_parse_number(text + is_from_end, &number) < 0 || number >= HS_SELECT_FROM_END ||
        (is_from_end && number == 0)) {
        return -EINVAL;
    }
    *ret_snapshot = is_from_end ? HS_SELECT_LAST - (uint32_t)(number - 1) : (uint32_t)number;
    return 0;
}

void hs_dump_name_choose(const char *text, struct hs_select_spec *select)
{
    uint64_t number;
    if (hs_parse_number(text, &number) == 0 && number < HS_SELECT_FROM_END) {
        select->snapshot = (uint32_t)number;
    } else {
        select->snapshot_name = text;
    }
}

/* The @ behind which the snapshot stands; NULL: the operand is the name of a file. */
static const char *find_at(const char *operand, uint32_t *ret_snapshot, bool *ret_is_named)
{
    const char *last = strrchr(operand, '@');
    *ret_is_named = false;
    if (!last || last == operand || access(operand, F_OK) == 0) {
        return NULL;
    }
    if (hs_dump_name_number(last + 1, ret_snapshot) == 0) {
        return last;
    }
    /* A name may contain an @, and so may a path. */
    for (const char *at = last; at > operand; at--) {
        char *path = *at == '@' && at[1] ? strndup(operand, (size_t)(at - operand)) : NULL;
        *ret_is_named = path && access(path, F_OK) == 0;
        free(path);
        if (*ret_is_named) {
            return at;
        }
    }
    return NULL;
}

int hs_dump_name_split(const char *operand, char **ret_path, struct hs_select_spec *select,
                       bool *ret_has_snapshot)
{
    uint32_t snapshot = HS_SELECT_LAST;
    bool is_named;
    const char *at = find_at(operand, &snapshot, &is_named);
    char *path = at ? strndup(operand, (size_t)(at - operand)) : strdup(operand);
    if (!path) {
        return -ENOMEM;
    }
    *ret_path = path;
    *ret_has_snapshot = at != NULL;
    select->snapshot = snapshot;
    select->snapshot_name = is_named ? at + 1 : NULL;
    return 0;
}
