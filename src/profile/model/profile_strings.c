/*
 * Strings of a finished profile by their texts. See profile_strings.h.
 */
#include "profile/model/profile_strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static struct hs_intern_key key_of(const char *text)
{
    return hs_intern_mix(hs_intern_hash(text, strlen(text)), 0);
}

/*
 * A text that occurs twice keeps its first id; the second one gets a key of its own, so that ids
 * stay parallel to the array.
 */
int hs_profile_strings_init(struct hs_profile_strings *strings, struct hs_profile *profile)
{
    int err = 0;
    *strings = (struct hs_profile_strings){ .p = profile, .capacity = profile->string_count };
    for (uint32_t i = 0; i < profile->string_count && err == 0; i++) {
        uint32_t id;
        bool is_new;
        struct hs_intern_key key = key_of(profile->strings[i]);
        err = hs_intern_put(&strings->ids, key, &id, &is_new);
        if (err == 0 && !is_new) {
            err = hs_intern_put(&strings->ids, hs_intern_mix(key, i), &id, &is_new);
        }
    }
    return err;
}

void hs_profile_strings_deinit(struct hs_profile_strings *strings)
{
    hs_intern_deinit(&strings->ids);
}

int hs_profile_strings_put(struct hs_profile_strings *strings, const char *text, uint32_t *ret_id)
{
    struct hs_profile *p = strings->p;
    struct hs_intern_key key = key_of(text);
    if (hs_intern_find(&strings->ids, key, ret_id)) {
        return 0;
    }
    int err = hs_array_reserve(&p->strings, &strings->capacity, (size_t)p->string_count + 1,
                               sizeof(*p->strings));
    char *copy = err == 0 ? strdup(text) : NULL;
    if (!copy) {
        return -ENOMEM;
    }
    bool is_new;
    err = hs_intern_put(&strings->ids, key, ret_id, &is_new);
    if (err != 0) {
        free(copy);
        return err;
    }
    p->strings[p->string_count++] = copy;
    return 0;
}
