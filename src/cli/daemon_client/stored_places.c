/*
 * Finds stored snapshots: see stored_places.h.
 */
#include "cli/daemon_client/stored_places.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/array.h"
#include "util/parse.h"

static int add(struct hs_stored_places *places, const char *root, bool is_system, uid_t uid,
               const struct hs_stored *stored)
{
    char user[16] = "";
    int r = hs_array_reserve(&places->items, &places->capacity, places->count + 1,
                             sizeof(places->items[0]));
    if (r < 0) {
        return r;
    }
    struct hs_stored_place *place = &places->items[places->count++];
    *place = (struct hs_stored_place){ .stored = *stored, .uid = uid };
    snprintf(place->root, sizeof(place->root), "%s", root);
    if (uid != geteuid()) {
        snprintf(user, sizeof(user), "%u:", (unsigned)uid);
    }
    snprintf(place->id, sizeof(place->id), "%s%s%llu", is_system ? "system:" : "", user,
             (unsigned long long)stored->id);
    return 0;
}

static int add_user(struct hs_stored_places *places, const char *root, bool is_system, uid_t uid)
{
    struct hs_stored_list list = { 0 };
    int folder_fd = hs_store_open(root, uid);
    if (folder_fd < 0) {
        return folder_fd == -ENOENT || folder_fd == -EPERM ? 0 : folder_fd;
    }
    int r = hs_store_list(folder_fd, &list);
    for (size_t i = 0; i < list.count && r == 0; i++) {
        r = add(places, root, is_system, uid, &list.items[i]);
    }
    hs_stored_list_deinit(&list);
    close(folder_fd);
    return r;
}

/* For root: the folders of all users. */
static int add_all_users(struct hs_stored_places *places, const char *root, bool is_system)
{
    DIR *folder = opendir(root);
    const struct dirent *entry;
    int r = 0;
    if (!folder) {
        return errno == ENOENT ? 0 : -errno;
    }
    while (r == 0 && (entry = readdir(folder)) != NULL) {
        uint64_t uid;
        if (hs_parse_number(entry->d_name, &uid) == 0 && uid <= UINT32_MAX) {
            r = add_user(places, root, is_system, (uid_t)uid);
        }
    }
    closedir(folder);
    return r;
}

static int add_store(struct hs_stored_places *places, const char *root, bool is_system)
{
    return geteuid() == 0 ? add_all_users(places, root, is_system)
                          : add_user(places, root, is_system, geteuid());
}

static int by_time(const void *a, const void *b)
{
    const struct hs_stored_place *x = a, *y = b;
    if (x->stored.time_ms != y->stored.time_ms) {
        return x->stored.time_ms < y->stored.time_ms ? -1 : 1;
    }
    return strcmp(x->id, y->id);
}

int hs_stored_places_find(struct hs_stored_places *ret_places)
{
    struct hs_stored_places places = { 0 };
    char own[PATH_MAX], system[PATH_MAX];
    int own_result = hs_store_find(false, own, sizeof(own));
    int system_result = hs_store_find(true, system, sizeof(system));
    int r = own_result == -EINVAL ? -EINVAL : 0;
    if (r == 0 && own_result == 0) {
        r = add_store(&places, own, false);
    }
    if (r == 0 && system_result == 0 && (own_result < 0 || strcmp(own, system) != 0)) {
        r = add_store(&places, system, true);
    }
    if (r < 0) {
        hs_stored_places_deinit(&places);
        return r;
    }
    if (places.count > 0) {
        qsort(places.items, places.count, sizeof(places.items[0]), by_time);
    }
    *ret_places = places;
    return 0;
}

void hs_stored_places_deinit(struct hs_stored_places *places)
{
    free(places->items);
    *places = (struct hs_stored_places){ 0 };
}

const struct hs_stored_place *hs_stored_places_get(const struct hs_stored_places *places,
                                                   const char *id)
{
    for (size_t i = 0; i < places->count; i++) {
        if (strcmp(places->items[i].id, id) == 0) {
            return &places->items[i];
        }
    }
    return NULL;
}
