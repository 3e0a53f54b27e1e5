/*
 * Interning of scopes. See scopes.h.
 */
#include "client/tables/scopes.h"

#include "client/tables/index.h"
#include "client/tables/region.h"
#include "rt/bits.h"
#include "rt/text.h"

/* The index begins with one page. */
#define FIRST_LINES 64U

static struct hs_index scope_index;

bool hs_scopes_init(void)
{
    return hs_index_init(&scope_index, FIRST_LINES);
}

void hs_scopes_clear(void)
{
    hs_index_clear(&scope_index);
}

struct match_scope {
    const struct hs_scope_text *name;
    uint64_t hash;
    uint32_t parent;
};

static struct hs_name_v2 *scope_at(uint64_t id)
{
    return hs_region_at(HS_SECTION_SCOPES, id);
}

static inline bool is_scope(void *ctx, uint32_t id)
{
    const struct match_scope *match = ctx;
    const struct hs_name_v2 *scope = scope_at(id);
    /* ORDER scope: the text and the fields of a scope that has a hash. */
    if (!scope || hs_load_acquire(&scope->hash) != match->hash || scope->parent != match->parent) {
        return false;
    }
    /* The last byte's view covers the first's: views start at element 0. */
    uint64_t end = (uint64_t)scope->name_off + match->name->bytes;
    const char *text = hs_region_at(HS_SECTION_BYTES, end)
                           ? hs_region_at(HS_SECTION_BYTES, scope->name_off)
                           : NULL;
    return text && hs_text_is_same(text, match->name->text);
}

static uint64_t hash_of(uint32_t parent, const struct hs_scope_text *name)
{
    uint64_t hash = hs_mix64(hs_hash_step(name->hash, parent));
    return hash ? hash : 1;
}

/* The id of a scope; 0: it is new. */
static uint32_t find(const struct match_scope *match)
{
    uint64_t found;
    return hs_index_find(&scope_index, (uint32_t)(match->hash >> 32), is_scope, (void *)match,
                         &found)
               ? (uint32_t)found - 1
               : 0;
}

static HS_COLD uint32_t append(const struct match_scope *match, uint32_t name_off)
{
    uint64_t id = name_off == 0 ? UINT64_MAX : hs_region_take(HS_SECTION_SCOPES, 1);
    struct hs_name_v2 *scope = id == UINT64_MAX ? NULL : scope_at(id);
    if (!scope) {
        return HS_SCOPE_OTHER;
    }
    scope->name_off = name_off;
    scope->parent = match->parent;
    /* ORDER scope: text and fields before the hash that says it is whole. */
    hs_store_release(&scope->hash, match->hash);
    /* Without room in the index the scope is stored again next time. */
    hs_index_insert(&scope_index, (uint32_t)(match->hash >> 32), (uint32_t)id);
    return (uint32_t)id;
}

/* The scope of this name in no other scope. */
static uint32_t intern_outermost(const struct hs_scope_text *name)
{
    const struct match_scope match = { name, hash_of(0, name), 0 };
    uint32_t id = find(&match);
    return id != 0 ? id : append(&match, hs_region_put_bytes(name->text, name->bytes));
}

static HS_COLD uint32_t add(const struct match_scope *match)
{
    uint32_t outermost = intern_outermost(match->name);
    const struct hs_name_v2 *scope = outermost == HS_SCOPE_OTHER ? NULL : scope_at(outermost);
    return scope ? append(match, scope->name_off) : HS_SCOPE_OTHER;
}

uint32_t hs_scope_intern(uint32_t parent, const struct hs_scope_text *name)
{
    if (parent == 0) {
        return intern_outermost(name);
    }
    const struct match_scope match = { name, hash_of(parent, name), parent };
    uint32_t id = find(&match);
    return id != 0 ? id : add(&match);
}
