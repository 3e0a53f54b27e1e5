/*
 * The store: snapshots with names that a daemon keeps in files, beyond its own life and that of
 * the processes.
 *
 *     /var/lib/heapscope/snapshots/     the store of the machine's daemon; root's, 0755
 *         1000/                         of one user, who owns it; 0700
 *             .last                     the number that was given last; locked while files change
 *             7,1732543200123,4711,server,after load.pftrace
 *
 * The name of a file says all that a list shows: number, milliseconds since 1970, pid, process,
 * name of the snapshot. So a list opens no file. A file gets its name when it is complete.
 *
 * HEAPSCOPE_STATE names another folder for the store, or is "off": then there is none. Otherwise
 * the store of a user's daemon is $XDG_STATE_HOME/heapscope, or ~/.local/state/heapscope, unless
 * that folder or home is another user's.
 *
 * Each user's folder has limits of its own. The oldest snapshots are removed first. A snapshot
 * that is larger than the limit by itself is not stored.
 *
 * Ensures   a number is used once, also after a snapshot has been removed.
 * Trust     the user of a folder may put anything into it: links are not followed, and only regular
 *           files with a valid name count.
 * Threads   any process with the rights; files change under a lock.
 * Fails     -errno.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/snapshot.h"

#define HS_ENV_STATE           "HEAPSCOPE_STATE"
#define HS_STORE_SYSTEM_FOLDER "/var/lib/heapscope/snapshots"
#define HS_STORE_PROCESS_MAX   63
#define HS_STORE_COUNT_DEFAULT 100U
/* Two daemons may compute times of one instant that differ by so much. */
#define HS_STORE_SAME_MS       2U
#define HS_STORE_BYTES_DEFAULT (UINT64_C(256) << 20)

struct hs_store_limits {
    uint64_t count_max; /* 0: nothing is stored */
    uint64_t bytes_max;
};

/* A stored snapshot. */
struct hs_stored {
    uint64_t id;
    uint64_t time_ms; /* since 1970 */
    uint32_t pid;
    char process[HS_STORE_PROCESS_MAX + 1]; /* cut where the file's name would be too long */
    char name[HS_SNAP_NAME_MAX + 1];
    uint64_t bytes;
    /* Not in the name of the file: another daemon may have stored it before it was killed. */
    bool may_be_stored;
};

struct hs_stored_list {
    struct hs_stored *items; /* oldest first */
    size_t count, capacity;
};

/* Finds the store, which may not exist yet. 0; -ENOENT: there is none; -EINVAL: HEAPSCOPE_STATE is
 * not an absolute path. */
int hs_store_find(bool is_system, char *ret_path, size_t path_bytes);

/* Opens the folder of a user. Returns a descriptor or -errno. */
int hs_store_open(const char *root, uid_t uid);
/* The same, and makes the folder if it does not exist. */
int hs_store_make(const char *root, bool is_system, uid_t uid, gid_t gid);

/* Lists what is stored in the folder of a user. 0 or -errno. */
int hs_store_list(int folder_fd, struct hs_stored_list *ret_list);
/* Frees the list. */
void hs_stored_list_deinit(struct hs_stored_list *list);

/* Stores a snapshot, and removes older ones as the limits demand. Sets `id` and `bytes`. 0 or
 * -errno; -EFBIG: it is larger than the limit; -EEXIST: it may be stored, and is: one of the same
 * process and name, whose time is at most HS_STORE_SAME_MS away. */
int hs_store_put(int folder_fd, struct hs_stored *stored, const void *data, size_t bytes,
                 const struct hs_store_limits *limits);
/* Replaces the file of a stored snapshot, if it still exists. Returns as hs_store_put() does. */
int hs_store_replace(int folder_fd, struct hs_stored *stored, const void *data, size_t bytes,
                     const struct hs_store_limits *limits);
/* Removes a stored snapshot. 0 or -errno. */
int hs_store_remove(int folder_fd, const struct hs_stored *stored);
/* Opens its file for reading. Returns a descriptor or -errno. */
int hs_store_read(int folder_fd, const struct hs_stored *stored);

/* The name of its file. False: it has none (no name, or no number). */
bool hs_stored_write_name(const struct hs_stored *stored, char ret_name[NAME_MAX + 1]);
/* The opposite; `bytes` becomes 0. False: not such a name. */
bool hs_stored_parse_name(const char *text, struct hs_stored *ret_stored);
