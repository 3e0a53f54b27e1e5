/*
 * Copies and frees the rights of a user: see user_rights.h.
 */
#include "daemon/user_rights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int hs_user_rights_init(struct hs_user_rights *rights, uid_t uid, gid_t gid, const gid_t *groups,
                        size_t group_count)
{
    gid_t *copy = malloc((group_count + 1) * sizeof(gid_t));
    if (!copy) {
        return -ENOMEM;
    }
    if (group_count > 0) {
        memcpy(copy, groups, group_count * sizeof(gid_t));
    }
    copy[group_count] = gid;
    *rights = (struct hs_user_rights){ uid, gid, copy, group_count };
    return 0;
}

void hs_user_rights_deinit(struct hs_user_rights *rights)
{
    free(rights->groups);
    *rights = (struct hs_user_rights){ 0 };
}
