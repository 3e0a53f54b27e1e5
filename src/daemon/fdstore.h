/*
 * The store: descriptors that outlive the daemon, each under a name.
 *
 * Somebody else holds them, so that kill -9 of the daemon loses nothing: systemd, where its unit says so
 * (FileDescriptorStoreMax=), or a process of our own (fd_holder.h). Both speak sd_notify's language:
 *
 *     FDSTORE=1 FDNAME=name FDPOLL=0        with one or two descriptors
 *     FDSTOREREMOVE=1 FDNAME=name
 *
 * Who holds them cannot be trusted to be quick: a message that does not get through within a second ends it, and
 * the log says that the daemon's end would be its sessions' from then on.
 *
 * Threads   one.
 * Fails     never loudly; see above.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* systemd's limit. */
#define HS_FDSTORE_NAME_MAX 255
#define HS_FDSTORE_FDS_MAX  2

struct hs_fdstore {
    int sock; /* -1: nobody holds anything */
    bool is_fd_holder;
};

#define HS_FDSTORE_NONE ((struct hs_fdstore){ .sock = -1 })

/* What a daemon before us left there. */
struct hs_fdstore_item {
    char name[HS_FDSTORE_NAME_MAX + 1];
    int fds[HS_FDSTORE_FDS_MAX]; /* -1: none */
    size_t fd_count;
};

struct hs_fdstore_items {
    struct hs_fdstore_item *items;
    size_t count, capacity;
};

/* Under the name's item, which is made if need be; a descriptor too many, or without memory, is closed. */
void hs_fdstore_items_add(struct hs_fdstore_items *items, const char *name, const int *fds,
                          size_t fd_count);
struct hs_fdstore_item *hs_fdstore_items_find(struct hs_fdstore_items *items, const char *name);
void hs_fdstore_items_remove(struct hs_fdstore_items *items, const char *name);
/* Takes a descriptor out of its item: it is the caller's then. -1: there is none. */
int hs_fdstore_item_take(struct hs_fdstore_item *item, size_t idx);
void hs_fdstore_items_deinit(struct hs_fdstore_items *items);

/* Whoever is at the other end keeps what we have; -1: nobody is. */
struct hs_fdstore hs_fdstore_open(int sock, bool is_fd_holder);

/* systemd's, if there is one that keeps anything for us; else NONE. */
struct hs_fdstore hs_fdstore_of_supervisor(void);

void hs_fdstore_put(struct hs_fdstore *store, const char *name, const int *fds, size_t fd_count);
void hs_fdstore_remove(struct hs_fdstore *store, const char *name);

/* All is done in recording job: nothing is to be kept. */
void hs_fdstore_close(struct hs_fdstore *store);

enum hs_fdstore_verb {
    HS_FDSTORE_PUT,
    HS_FDSTORE_REMOVE,
    HS_FDSTORE_BYE,
    HS_FDSTORE_UNKNOWN,
};

/* What a message of the above says; the name has room for HS_FDSTORE_NAME_MAX + 1. */
enum hs_fdstore_verb hs_fdstore_parse(const char *text, char *ret_name);
