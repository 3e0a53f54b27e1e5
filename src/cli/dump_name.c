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

int hs_dump_name_split(const char *operand, char **ret_path, uint32_t *ret_snapshot,
                       bool *ret_has_number)
{
    const char *at = strrchr(operand, '@');
    uint32_t snapshot = HS_SELECT_LAST;
    bool has_number = at && at > operand && hs_dump_name_number(at + 1, &snapshot) == 0 &&
                      access(operand, F_OK) != 0;
    char *path = has_number ? strndup(operand, (size_t)(at - operand)) : strdup(operand);
    if (!path) {
        return -ENOMEM;
    }
    *ret_path = path;
    *ret_snapshot = has_number ? snapshot : HS_SELECT_LAST;
    *ret_has_number = has_number;
    return 0;
}
