/*
 * The rights of a user: what a process of the daemon takes when it works for that user.
 *
 * Threads   none.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct hs_user_rights {
    uid_t uid;
    gid_t gid;
    gid_t *groups;      /* owned: group_count supplementary groups, and one more: `gid` */
    size_t group_count; /* without that one */
};

/* Copies the groups. Returns 0 or -ENOMEM. */
int hs_user_rights_init(struct hs_user_rights *rights, uid_t uid, gid_t gid, const gid_t *groups,
                        size_t group_count);
/* Accepts a zeroed structure. */
void hs_user_rights_deinit(struct hs_user_rights *rights);
