/*
 * The store: descriptors that outlive the daemon, each under a name.
 *
 * Somebody else holds them, so that kill -9 of the daemon loses nothing: systemd, where its unit says so
 * (FileDescriptorStoreMax=), or a process of our own (keeper.h). Both speak sd_notify's language:
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
#define HS_STORE_NAME_MAX 255
#define HS_STORE_FDS_MAX  2

struct hs_store {
    int sock; /* -1: nobody holds anything */
    bool is_keeper;
};

#define HS_STORE_NONE ((struct hs_store){ .sock = -1 })

/* What a daemon before us left there. */
struct hs_store_item {
    char name[HS_STORE_NAME_MAX + 1];
    int fds[HS_STORE_FDS_MAX]; /* -1: none */
    size_t fd_count;
};

struct hs_store_items {
    struct hs_store_item *items;
    size_t count, capacity;
};

/* Under the name's item, which is made if need be; a descriptor too many, or without memory, is closed. */
void hs_store_items_add(struct hs_store_items *items, const char *name, const int *fds,
                        size_t fd_count);
struct hs_store_item *hs_store_items_find(struct hs_store_items *items, const char *name);
void hs_store_items_remove(struct hs_store_items *items, const char *name);
/* Takes a descriptor out of its item: it is the caller's then. -1: there is none. */
int hs_store_item_take(struct hs_store_item *item, size_t idx);
void hs_store_items_deinit(struct hs_store_items *items);

/* Whoever is at the other end keeps what we have; -1: nobody is. */
struct hs_store hs_store_open(int sock, bool is_keeper);

/* systemd's, if there is one that keeps anything for us; else NONE. */
struct hs_store hs_store_of_supervisor(void);

void hs_store_put(struct hs_store *store, const char *name, const int *fds, size_t fd_count);
void hs_store_remove(struct hs_store *store, const char *name);

/* All is done in order: nothing is to be kept. */
void hs_store_close(struct hs_store *store);

enum hs_store_verb {
    HS_STORE_PUT,
    HS_STORE_REMOVE,
    HS_STORE_BYE,
    HS_STORE_UNKNOWN,
};

/* What a message of the above says; the name has room for HS_STORE_NAME_MAX + 1. */
enum hs_store_verb hs_store_parse(const char *text, char *ret_name);
