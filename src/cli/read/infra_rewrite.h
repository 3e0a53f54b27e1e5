/*
 * Replaces strings in a JSON file, in place: the new file takes the old one's name when whole.
 *
 * Everything else is copied byte for byte. A file that was compressed with gzip is compressed
 * again; mode and, as far as permitted, owner are those of the old file. A backup is a second name
 * of the old file, so that it needs no copy.
 *
 * Ensures   a process that is killed, and a full disk, leave the old file whole under its name.
 * Threads   main thread only.
 * Fails     -errno. HS_INFRA_REWRITE_E_BACKUP: there is a file with the name of the backup;
 *           HS_INFRA_REWRITE_E_LINK: the file system gives a file no second name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HS_INFRA_REWRITE_BACKUP   ".BACKUP"
#define HS_INFRA_REWRITE_E_BACKUP 1
#define HS_INFRA_REWRITE_E_LINK   2

struct hs_infra_pcs;

struct hs_infra_rewrite {
    const char *path; /* of the file; symbolic links are followed */
    const struct hs_infra_pcs *pcs;
    const char *const *names; /* by index of pcs->pcs; NULL: stays */
    bool is_compressed, has_backup;
};

/* 0 if a backup could be made now: an error that is better known before names are looked up. */
int hs_infra_rewrite_check(const char *path);
/* Rewrites the file. */
int hs_infra_rewrite(const struct hs_infra_rewrite *rewrite);
