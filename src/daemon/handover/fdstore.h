/*
 * The fdstore: descriptors that outlive the daemon, each under a name.
 *
 * Another process holds them, so that kill -9 of the daemon loses nothing: systemd, if the daemon's
 * unit says so (FileDescriptorStoreMax=), or a process of our own (fd_holder.h). Both use the
 * messages of sd_notify(3):
 *
 *     FDSTORE=1 FDNAME=name FDPOLL=0        with one or two descriptors
 *     FDSTOREREMOVE=1 FDNAME=name
 *
 * The holder may be slow or stuck. If a message cannot be sent within a second, the daemon stops
 * using the store, and logs that its recordings are lost if it is killed from then on.
 *
 * Threads   one.
 * Fails     no function returns an error; see above.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* systemd's limit. */
#define HS_FDSTORE_NAME_MAX 255
#define HS_FDSTORE_FDS_MAX  2
/* The longest message. */
#define HS_FDSTORE_TEXT_MAX (HS_FDSTORE_NAME_MAX + 64)

struct hs_fdstore {
    int sock;          /* to the holder; -1: there is none */
    bool is_fd_holder; /* the holder is ours, not systemd */
};

#define HS_FDSTORE_NONE ((struct hs_fdstore){ .sock = -1 })

/* One name in the store, with its descriptors. */
struct hs_fdstore_item {
    char name[HS_FDSTORE_NAME_MAX + 1];
    int fds[HS_FDSTORE_FDS_MAX]; /* -1: none */
    size_t fd_count;
};

struct hs_fdstore_items {
    struct hs_fdstore_item *items;
    size_t count, capacity;
};

/* Adds descriptors to the item of this name, which is made if it does not exist. Takes the
 * descriptors over: those for which there is no room or no memory are closed. */
void hs_fdstore_items_add(struct hs_fdstore_items *items, const char *name, const int *fds,
                          size_t fd_count);
/* The item of this name, or NULL. The pointer is valid until items are added or removed. */
struct hs_fdstore_item *hs_fdstore_items_find(struct hs_fdstore_items *items, const char *name);
/* Closes the descriptors of this name, and removes its item. */
void hs_fdstore_items_remove(struct hs_fdstore_items *items, const char *name);
/* Takes a descriptor out of its item; the caller then owns it. -1: there is none. */
int hs_fdstore_item_take(struct hs_fdstore_item *item, size_t idx);
/* Closes all descriptors, and frees the list. */
void hs_fdstore_items_deinit(struct hs_fdstore_items *items);

/* Takes over a socket to a holder; -1: there is no holder. */
struct hs_fdstore hs_fdstore_open(int sock, bool is_fd_holder);

/* Gives the holder copies of descriptors under a name. */
void hs_fdstore_put(struct hs_fdstore *store, const char *name, const int *fds, size_t fd_count);
/* Has the holder close the descriptors of a name. */
void hs_fdstore_remove(struct hs_fdstore *store, const char *name);

/* The daemon ends regularly: an fd holder ends, too, as nothing must be held. Waits until it has, a
 * second at most: a daemon that starts meanwhile would take it for one whose daemon is alive.
 * Closes the socket; from then on only this process has the descriptors. */
void hs_fdstore_close(struct hs_fdstore *store);

/* The kinds of messages. */
enum hs_fdstore_verb {
    HS_FDSTORE_PUT,
    HS_FDSTORE_REMOVE,
    HS_FDSTORE_BYE, /* hs_fdstore_close() */
    HS_FDSTORE_UNKNOWN,
};

/* The kind of a message, and the name in it. `ret_name` has room for HS_FDSTORE_NAME_MAX + 1
 * bytes. */
enum hs_fdstore_verb hs_fdstore_parse(const char *text, char *ret_name);
