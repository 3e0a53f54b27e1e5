/*
 * Interning of the names of frames. See code_names.h.
 */
#include "client/tables/code_names.h"

#include "client/tables/index.h"
#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "rt/bits.h"

/* Each index begins with one page. */
#define FIRST_LINES 64U

static struct hs_index text_index; /* finds an offset in BYTES */
static struct hs_index name_index;

bool hs_code_names_init(void)
{
    return hs_index_init(&text_index, FIRST_LINES) && hs_index_init(&name_index, FIRST_LINES);
}

void hs_code_names_clear(void)
{
    hs_index_clear(&text_index);
    hs_index_clear(&name_index);
}

/* --- texts ------------------------------------------------------------------------------------ */

struct match_text {
    const char *text;
    uint32_t bytes;
};

static inline bool is_text(void *ctx, uint32_t off)
{
    const struct match_text *match = ctx;
    /* The last byte's view covers the first's: views start at element 0. */
    const char *last = hs_region_at(HS_SECTION_BYTES, (uint64_t)off + match->bytes);
    const char *text = last ? hs_region_at(HS_SECTION_BYTES, off) : NULL;
    uint32_t i = 0;
    while (text && i < match->bytes && text[i] == match->text[i]) {
        i++;
    }
    return text && i == match->bytes && text[i] == '\0';
}

static uint32_t hash_text(const char *text, uint32_t bytes)
{
    uint64_t hash = bytes;
    for (uint32_t i = 0; i < bytes; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    }
    return (uint32_t)(hs_mix64(hash) >> 32);
}

uint32_t hs_code_text_intern(const char *text, uint32_t bytes)
{
    const struct match_text match = { text, bytes };
    uint32_t hash = hash_text(text, bytes);
    uint64_t found;
    if (bytes == 0) {
        return 0;
    }
    if (hs_index_find(&text_index, hash, is_text, (void *)(uintptr_t)&match, &found)) {
        return (uint32_t)found - 1;
    }
    uint32_t off = hs_region_put_bytes(text, bytes);
    if (off != 0) {
        /* Without room in the index the text is stored again next time. */
        hs_index_insert(&text_index, hash, off);
    }
    return off;
}

/* --- names ------------------------------------------------------------------------------------ */

static uint64_t hash_name(const struct hs_code_name_v2 *name)
{
    uint64_t hash = (uint64_t)name->function_off << 32 | name->file_off;
    hash = hs_hash_step(hash, (uint64_t)name->line << 32 | name->first_line);
    hash = hs_mix64(hs_hash_step(hash, name->language));
    return hash ? hash : 1;
}

static inline bool is_name(void *ctx, uint32_t id)
{
    const struct hs_code_name_v2 *want = ctx;
    const struct hs_code_name_v2 *name = hs_region_at(HS_SECTION_CODE_NAMES, id);
    /* ORDER code-name: the fields of a name that has a hash. */
    return name && hs_load_acquire(&name->hash) == want->hash &&
           name->function_off == want->function_off && name->file_off == want->file_off &&
           name->line == want->line && name->first_line == want->first_line &&
           name->language == want->language;
}

static HS_COLD uint64_t append(const struct hs_code_name_v2 *want)
{
    uint64_t id = hs_region_take(HS_SECTION_CODE_NAMES, 1);
    struct hs_code_name_v2 *name =
        id == UINT64_MAX ? NULL : hs_region_at(HS_SECTION_CODE_NAMES, id);
    if (!name) {
        return UINT64_MAX;
    }
    name->function_off = want->function_off;
    name->file_off = want->file_off;
    name->line = want->line;
    name->first_line = want->first_line;
    name->language = want->language;
    /* ORDER code-name: the fields before the hash that says that they are whole. */
    hs_store_release(&name->hash, want->hash);
    hs_index_insert(&name_index, (uint32_t)(want->hash >> 32), (uint32_t)id);
    return id;
}

uint32_t hs_code_frame_intern(const struct hs_code_name_v2 *name)
{
    struct hs_code_name_v2 want = *name;
    uint64_t found, id;
    want.hash = hash_name(name);
    if (hs_index_find(&name_index, (uint32_t)(want.hash >> 32), is_name, &want, &found)) {
        id = (uint32_t)found - 1;
    } else {
        id = append(&want);
    }
    return id == UINT64_MAX ? HS_ID_NONE : hs_frame_intern(id, HS_MODULE_ID_MARKER, HS_FRAME_NAMED);
}

/* --- interpreters ----------------------------------------------------------------------------- */

void hs_code_names_note_state(uint32_t language, uint32_t state)
{
    hs_store_relaxed(&hs_region.script_states[language], (uint8_t)state);
    if (hs_region.header) {
        hs_store_relaxed(&hs_region.header->script_states[language], (uint8_t)state);
    }
}
