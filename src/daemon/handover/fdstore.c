/*
 * The list of named descriptors, and the messages to the process that holds them: see fdstore.h.
 */
#include "daemon/handover/fdstore.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/daemon_log.h"
#include "util/array.h"
#include "util/fd_message.h"

#define HS_STORE_TIMEOUT_S 1

/* --- items ------------------------------------------------------------------------------------ */

struct hs_fdstore_item *hs_fdstore_items_find(struct hs_fdstore_items *items, const char *name)
{
    for (size_t i = items->count; i > 0; i--) { /* the newest items are searched for most often */
        if (strcmp(items->items[i - 1].name, name) == 0) {
            return &items->items[i - 1];
        }
    }
    return NULL;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static struct hs_fdstore_item *make(struct hs_fdstore_items *items, const char *name)
{
    if (strlen(name) > HS_FDSTORE_NAME_MAX ||
        hs_array_reserve(&items->items, &items->capacity, items->count + 1,
                         sizeof(items->items[0])) < 0) {
        return NULL;
    }
    struct hs_fdstore_item *item = &items->items[items->count++];
    *item = (struct hs_fdstore_item){ .fds = { -1, -1 } };
    memcpy(item->name, name, strlen(name));
    return item;
}

void hs_fdstore_items_add(struct hs_fdstore_items *items, const char *name, const int *fds,
                          size_t fd_count)
{
    struct hs_fdstore_item *item = hs_fdstore_items_find(items, name);
    item = item ? item : make(items, name);
    size_t taken = 0;
    while (item && taken < fd_count && item->fd_count < HS_FDSTORE_FDS_MAX) {
        item->fds[item->fd_count++] = fds[taken++];
    }
    close_all(fds + taken, fd_count - taken);
}

void hs_fdstore_items_remove(struct hs_fdstore_items *items, const char *name)
{
    struct hs_fdstore_item *item = hs_fdstore_items_find(items, name);
    if (item) {
        close_all(item->fds, item->fd_count);
        *item = items->items[--items->count];
    }
}

int hs_fdstore_item_take(struct hs_fdstore_item *item, size_t idx)
{
    if (idx >= item->fd_count) {
        return -1;
    }
    int fd = item->fds[idx];
    item->fds[idx] = -1;
    return fd;
}

void hs_fdstore_items_deinit(struct hs_fdstore_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        close_all(items->items[i].fds, items->items[i].fd_count);
    }
    free(items->items);
    *items = (struct hs_fdstore_items){ 0 };
}

/* --- messages --------------------------------------------------------------------------------- */

struct hs_fdstore hs_fdstore_open(int sock, bool is_fd_holder)
{
    const struct timeval timeout = { .tv_sec = HS_STORE_TIMEOUT_S };
    if (sock >= 0) {
        setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    }
    return (struct hs_fdstore){ .sock = sock, .is_fd_holder = is_fd_holder };
}

static void send_text(struct hs_fdstore *store, const char *text, const int *fds, size_t fd_count)
{
    if (store->sock < 0) {
        return;
    }
    int r = hs_fd_message_send(store->sock, text, strlen(text), fds, fd_count, 0);
    if (r < 0) {
        hs_daemon_log("the process that holds our descriptors does not answer any more (%s): if "
                      "this daemon is killed, its recordings are lost",
                      strerror(-r));
        close(store->sock);
        store->sock = -1;
    }
}

void hs_fdstore_put(struct hs_fdstore *store, const char *name, const int *fds, size_t fd_count)
{
    char text[HS_FDSTORE_TEXT_MAX];
    snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s\nFDPOLL=0", name);
    send_text(store, text, fds, fd_count);
}

void hs_fdstore_remove(struct hs_fdstore *store, const char *name)
{
    char text[HS_FDSTORE_TEXT_MAX];
    snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=%s", name);
    send_text(store, text, NULL, 0);
}

void hs_fdstore_close(struct hs_fdstore *store)
{
    if (store->is_fd_holder) {
        send_text(store, "BYE=1", NULL, 0);
    }
    if (store->is_fd_holder && store->sock >= 0) {
        const struct timeval timeout = { .tv_sec = HS_STORE_TIMEOUT_S };
        char none;
        setsockopt(store->sock, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        recv(store->sock, &none, sizeof(none), 0); /* returns when it has ended: it sends nothing */
    }
    if (store->sock >= 0) {
        close(store->sock);
        store->sock = -1;
    }
}

enum hs_fdstore_verb hs_fdstore_parse(const char *text, char *ret_name)
{
    static const char *const begin[] = { "FDSTORE=1\nFDNAME=", "FDSTOREREMOVE=1\nFDNAME=" };
    for (int verb = HS_FDSTORE_PUT; verb <= HS_FDSTORE_REMOVE; verb++) {
        size_t bytes = strlen(begin[verb]);
        if (strncmp(text, begin[verb], bytes) == 0) {
            size_t name_bytes = strcspn(text + bytes, "\n");
            if (name_bytes == 0 || name_bytes > HS_FDSTORE_NAME_MAX) {
                return HS_FDSTORE_UNKNOWN;
            }
            memcpy(ret_name, text + bytes, name_bytes);
            ret_name[name_bytes] = '\0';
            return (enum hs_fdstore_verb)verb;
        }
    }
    return strcmp(text, "BYE=1") == 0 ? HS_FDSTORE_BYE : HS_FDSTORE_UNKNOWN;
}
