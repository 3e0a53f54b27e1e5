/*
 * The table of names. See scope_names.h.
 *
 * A bucket is a list that only grows at its front. A thread that has written a name, and finds that
 * another one has changed the front since, looks for the name again in what is new. So a name may
 * be written twice, and only one of them is ever found.
 */
#include "api/scope_names.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "api/heap_table.h"
#include "rt/bits.h"
#include "rt/check.h"
#include "rt/rand.h"
#include "rt/sys.h"
#include "rt/text.h"

/* A name that is looked for. */
struct wanted {
    const char *text;
    uint32_t bytes;
    uint64_t hash;
};

static uint64_t hash_of(const char *text, uint32_t bytes)
{
    uint64_t hash = bytes, word;
    for (uint32_t i = 0; i < bytes; i += 8) {
        word = 0;
        memcpy(&word, text + i, bytes - i < 8 ? bytes - i : 8);
        hash = hs_hash_step(hash, word);
    }
    hash = hs_mix64(hash);
    return hash ? hash : 1;
}

static void write_name(struct hs_api_scope_names_v1 *names, uint32_t id, uint32_t off,
                       const struct wanted *wanted)
{
    struct hs_api_scope_name_v1 *name = &names->names[id];
    memcpy(names->text + off, wanted->text, wanted->bytes);
    name->text_off = off;
    name->bytes = wanted->bytes;
    /* ORDER scope-name: the text before the hash that says it is whole. */
    hs_store_release(&name->hash, wanted->hash);
}

/* Maps the table, with the name that stands for all others. NULL: no memory. */
static HS_COLD struct hs_api_scope_names_v1 *make_table(void)
{
    struct wanted other = { HS_API_SCOPE_OTHER_NAME, sizeof(HS_API_SCOPE_OTHER_NAME) - 1, 0 };
    long va = hs_sys_mmap(NULL, sizeof(struct hs_api_scope_names_v1), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (va < 0 && va > -4096) {
        return NULL;
    }
    struct hs_api_scope_names_v1 *names = (void *)va;
    struct hs_api_scope_names_v1 *first = NULL;
    other.hash = hash_of(other.text, other.bytes);
    write_name(names, HS_API_SCOPE_OTHER, 0, &other);
    names->count = HS_API_SCOPE_OTHER + 1;
    names->text_bytes = other.bytes + 1;
    names->buckets[other.hash % HS_API_SCOPE_BUCKETS] = HS_API_SCOPE_OTHER;
    /* ORDER scope-names: the table's first name before the table; another thread's table. */
    if (!hs_cas_acq_rel(&hs_heap_table.scope_names, &first, names)) {
        hs_sys_munmap(names, sizeof(*names));
        return first;
    }
    return names;
}

static bool is_text_of(const char *text, const struct wanted *wanted)
{
    uint32_t i = 0;
    while (i < wanted->bytes && text[i] == wanted->text[i]) {
        i++;
    }
    return i == wanted->bytes;
}

/* Looks in a bucket from one name up to another. 0: it is not there. */
static uint32_t search(const struct hs_api_scope_names_v1 *names, uint32_t from, uint32_t end,
                       const struct wanted *wanted)
{
    for (uint32_t id = from; id != end; id = names->names[id].next) {
        const struct hs_api_scope_name_v1 *name = &names->names[id];
        if (name->hash == wanted->hash && name->bytes == wanted->bytes &&
            is_text_of(names->text + name->text_off, wanted)) {
            return id;
        }
    }
    return 0;
}

/* Takes `count` of what `used` counts, of `max`. UINT32_MAX: there are not so many left. */
static uint32_t take(uint32_t *used, uint32_t count, uint32_t max)
{
    uint32_t first = hs_load_relaxed(used);
    do {
        if (count > max - first) {
            return UINT32_MAX;
        }
    } while (!hs_cas_relaxed(used, &first, first + count));
    return first;
}

static HS_COLD uint32_t add(struct hs_api_scope_names_v1 *names, uint32_t *bucket, uint32_t front,
                            const struct wanted *wanted)
{
    uint32_t off = take(&names->text_bytes, wanted->bytes + 1, HS_API_SCOPE_TEXT_BYTES);
    uint32_t id = off == UINT32_MAX ? UINT32_MAX : take(&names->count, 1, HS_API_SCOPE_NAMES);
    if (id == UINT32_MAX) {
        hs_add_relaxed(&names->lost_count, 1);
        return HS_API_SCOPE_OTHER;
    }
    write_name(names, id, off, wanted);
    for (;;) {
        uint32_t seen = front;
        names->names[id].next = front;
        /* ORDER scope-name: the name before it can be found; the names that others have added. */
        if (hs_cas_acq_rel(bucket, &front, id)) {
            return id;
        }
        uint32_t found = search(names, front, seen, wanted);
        if (found != 0) {
            return found;
        }
    }
}

static uint32_t find(const char *text, uint32_t bytes)
{
    /* ORDER scope-names: the table's first name. */
    struct hs_api_scope_names_v1 *names = hs_load_acquire(&hs_heap_table.scope_names);
    names = names ? names : make_table();
    if (!names) {
        return HS_API_SCOPE_OTHER;
    }
    const struct wanted wanted = { text, bytes, hash_of(text, bytes) };
    uint32_t *bucket = &names->buckets[wanted.hash % HS_API_SCOPE_BUCKETS];
    /* ORDER scope-name: the names that the bucket leads to. */
    uint32_t front = hs_load_acquire(bucket);
    uint32_t id = search(names, front, 0, &wanted);
    return id != 0 ? id : add(names, bucket, front, &wanted);
}

/* How many bytes of a text count if there is room for `max`: whole characters of UTF-8. */
static uint32_t fit(const char *text, uint32_t max)
{
    uint32_t bytes = 0;
    while (bytes < max && text[bytes] != '\0') {
        bytes++;
    }
    if (bytes == max && text[bytes] != '\0') {
        uint32_t cut = bytes;
        while (cut > 0 && ((unsigned char)text[cut] & 0xc0U) == 0x80U) {
            cut--;
        }
        bytes = cut > 0 ? cut : bytes; /* no UTF-8 at all */
    }
    return bytes;
}

uint32_t hs_scope_names_find(const char *name)
{
    uint32_t bytes = name ? fit(name, HS_API_SCOPE_NAME_BYTES - 1) : 0;
    return bytes > 0 ? find(name, bytes) : 0;
}

uint32_t hs_scope_names_find_label(const char *key, const char *value)
{
    char text[HS_API_SCOPE_NAME_BYTES];
    /* A key that fills the room leaves one byte for the '='. */
    uint32_t bytes = key ? fit(key, HS_API_SCOPE_NAME_BYTES - 2) : 0;
    if (bytes == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        text[i] = key[i] == '=' ? '_' : key[i];
    }
    text[bytes++] = '=';
    uint32_t value_bytes = value ? fit(value, HS_API_SCOPE_NAME_BYTES - 1 - bytes) : 0;
    memcpy(text + bytes, value ? value : "", value_bytes);
    return find(text, bytes + value_bytes);
}

bool hs_scope_names_is(uint32_t id, const char *name)
{
    const struct hs_api_scope_names_v1 *names = hs_load_relaxed(&hs_heap_table.scope_names);
    HS_ASSERT(names && id < hs_load_relaxed(&names->count));
    /* The text of a name that was cut is shorter than the program's. */
    return hs_text_is_same(names->text + names->names[id].text_off, name);
}

bool hs_scope_names_is_label(uint32_t id, const char *key, const char *value)
{
    const struct hs_api_scope_names_v1 *names = hs_load_relaxed(&hs_heap_table.scope_names);
    HS_ASSERT(names && id < hs_load_relaxed(&names->count));
    const char *text = names->text + names->names[id].text_off;
    for (; *key != '\0'; key++, text++) {
        if (*text != *key) {
            return false; /* also of a key in which a '=' was replaced */
        }
    }
    return *text == '=' && hs_text_is_same(text + 1, value);
}
