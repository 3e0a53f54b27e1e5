/*
 * Interning of the names of scopes and types. See scopes.h.
 */
#include "client/tables/scopes.h"

#include "client/tables/index.h"
#include "client/tables/region.h"
#include "rt/bits.h"
#include "rt/text.h"

/* Each index begins with one page. */
#define FIRST_LINES 64U

/* A section of names, and where they are found again. */
struct name_table {
    struct hs_index index;
    enum hs_section_id section;
};

static struct name_table scope_table = { .section = HS_SECTION_SCOPES };
static struct name_table type_table = { .section = HS_SECTION_TYPES };

_Static_assert(HS_SCOPE_OTHER == HS_TYPE_OTHER, "both tables are full in the same way");

bool hs_scopes_init(void)
{
    return hs_index_init(&scope_table.index, FIRST_LINES) &&
           hs_index_init(&type_table.index, FIRST_LINES);
}

void hs_scopes_clear(void)
{
    hs_index_clear(&scope_table.index);
    hs_index_clear(&type_table.index);
}

struct match_name {
    struct name_table *table;
    const struct hs_scope_text *name;
    uint64_t hash;
    uint32_t parent;
};

static struct hs_name_v2 *entry_at(const struct name_table *table, uint64_t id)
{
    return hs_region_at(table->section, id);
}

static inline bool is_name(void *ctx, uint32_t id)
{
    const struct match_name *match = ctx;
    const struct hs_name_v2 *entry = entry_at(match->table, id);
    /* ORDER scope: the text and the fields of a name that has a hash. */
    if (!entry || hs_load_acquire(&entry->hash) != match->hash || entry->parent != match->parent) {
        return false;
    }
    /* The last byte's view covers the first's: views start at element 0. */
    uint64_t end = (uint64_t)entry->name_off + match->name->bytes;
    const char *text = hs_region_at(HS_SECTION_BYTES, end)
                           ? hs_region_at(HS_SECTION_BYTES, entry->name_off)
                           : NULL;
    return text && hs_text_is_same(text, match->name->text);
}

static uint64_t hash_of(uint32_t parent, const struct hs_scope_text *name)
{
    uint64_t hash = hs_mix64(hs_hash_step(name->hash, parent));
    return hash ? hash : 1;
}

/* The id of a name; 0: it is new. */
static uint32_t find(const struct match_name *match)
{
    uint64_t found;
    return hs_index_find(&match->table->index, (uint32_t)(match->hash >> 32), is_name,
                         (void *)match, &found)
               ? (uint32_t)found - 1
               : 0;
}

static HS_COLD uint32_t append(const struct match_name *match, uint32_t name_off)
{
    uint64_t id = name_off == 0 ? UINT64_MAX : hs_region_take(match->table->section, 1);
    struct hs_name_v2 *entry = id == UINT64_MAX ? NULL : entry_at(match->table, id);
    if (!entry) {
        return HS_SCOPE_OTHER;
    }
    entry->name_off = name_off;
    entry->parent = match->parent;
    /* ORDER scope: text and fields before the hash that says it is whole. */
    hs_store_release(&entry->hash, match->hash);
    /* Without room in the index the name is stored again next time. */
    hs_index_insert(&match->table->index, (uint32_t)(match->hash >> 32), (uint32_t)id);
    return (uint32_t)id;
}

/* Is there no room for one more name? Then its text is not stored either. */
static bool is_full(const struct name_table *table)
{
    return hs_load_relaxed(&hs_region.header->sections[table->section].count) >=
           hs_region.layout[table->section].max_count;
}

/* The name in no scope. */
static uint32_t intern_outermost(struct name_table *table, const struct hs_scope_text *name)
{
    const struct match_name match = { table, name, hash_of(0, name), 0 };
    uint32_t id = find(&match);
    return id != 0          ? id
           : is_full(table) ? HS_SCOPE_OTHER
                            : append(&match, hs_region_put_bytes(name->text, name->bytes));
}

static HS_COLD uint32_t add(const struct match_name *match)
{
    uint32_t outermost = intern_outermost(match->table, match->name);
    const struct hs_name_v2 *scope =
        outermost == HS_SCOPE_OTHER ? NULL : entry_at(match->table, outermost);
    return scope ? append(match, scope->name_off) : HS_SCOPE_OTHER;
}

uint32_t hs_scope_intern(uint32_t parent, const struct hs_scope_text *name)
{
    if (parent == 0) {
        return intern_outermost(&scope_table, name);
    }
    const struct match_name match = { &scope_table, name, hash_of(parent, name), parent };
    uint32_t id = find(&match);
    return id != 0 ? id : add(&match);
}

/* --- types --- */

/* The first bytes of a text that is too long: whole characters of UTF-8. */
static uint32_t cut(const char *text, uint32_t bytes)
{
    uint32_t end = bytes;
    while (end > 0 && ((unsigned char)text[end] & 0xc0U) == 0x80U) {
        end--;
    }
    return end > 0 ? end : bytes; /* no UTF-8 at all */
}

static uint64_t hash_text(const char *text, uint32_t bytes)
{
    uint64_t hash = bytes, word;
    uint32_t i = 0;
    for (; i + sizeof(word) <= bytes; i += (uint32_t)sizeof(word)) {
        __builtin_memcpy(&word, text + i, sizeof(word));
        hash = hs_hash_step(hash, word);
    }
    for (word = 0; i < bytes; i++) {
        word = word << 8 | (unsigned char)text[i];
    }
    return hs_hash_step(hash, word);
}

uint32_t hs_type_intern(const char *name)
{
    char text[HS_SCOPE_NAME_BYTES];
    uint32_t bytes = 0;
    while (bytes < sizeof(text) - 1 && name[bytes] != '\0') {
        text[bytes] = name[bytes];
        bytes++;
    }
    if (bytes == 0) {
        return 0;
    }
    bytes = name[bytes] == '\0' ? bytes : cut(name, bytes);
    text[bytes] = '\0';
    const struct hs_scope_text wanted = { text, bytes, hash_text(text, bytes) };
    return intern_outermost(&type_table, &wanted);
}
