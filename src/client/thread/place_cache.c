/*
 * Frames of interpreters by their places. See place_cache.h.
 */
#include "client/thread/place_cache.h"

#include "client/tables/code_names.h"
#include "client/tables/stacks.h"
#include "rt/bits.h"

/* The kind of an entry for the name of a file. */
#define KIND_FILE 1U

/* Two entries share a line of the table. */
#define WAYS 2U

static void forget_all(struct hs_place_cache *cache)
{
    for (uint32_t i = 0; i < HS_PLACE_ENTRIES; i++) {
        cache->entries[i].kind = 0;
    }
    cache->word_count = 0;
}

void hs_place_cache_begin(struct hs_place_cache *cache, struct hs_readable_pages *pages,
                          uint32_t region_number)
{
    if (hs_unlikely(cache->region_number != region_number)) {
        forget_all(cache);
        cache->region_number = region_number;
    }
    cache->pages = pages;
    cache->sample++;
}

/* --- what is known ---------------------------------------------------------------------------- */

/* Asks whether the words can still be read, if the answers of old were forgotten. */
static HS_COLD bool are_readable(struct hs_place_cache *cache, struct hs_place_entry *entry)
{
    const struct hs_script_read *words = &cache->words[entry->word_idx];
    for (uint32_t i = 0; i < entry->word_count; i++) {
        if (!hs_readable_pages_at(cache->pages, words[i].va, sizeof(words[i].value))) {
            return false;
        }
    }
    entry->era = cache->pages->era;
    return true;
}

/* Are the words of an entry those that its description was read from? */
__attribute__((no_sanitize("address"))) static bool are_same(struct hs_place_cache *cache,
                                                             struct hs_place_entry *entry)
{
    const struct hs_script_read *words = &cache->words[entry->word_idx];
    uint64_t differing = 0;
    if (hs_unlikely(entry->era != cache->pages->era) && !are_readable(cache, entry)) {
        return false;
    }
    for (uint32_t i = 0; i < entry->word_count; i++) {
        const volatile uint64_t *word = (const volatile uint64_t *)(uintptr_t)words[i].va;
        differing |= (*word ^ words[i].value) & words[i].mask;
    }
    if (hs_likely(differing == 0)) {
        entry->sample = cache->sample;
    }
    return differing == 0;
}

static inline bool is_valid(struct hs_place_cache *cache, struct hs_place_entry *entry)
{
    return entry->sample == cache->sample || are_same(cache, entry);
}

/* Is the description that the entry was made with still right? */
static inline bool is_right(struct hs_place_cache *cache, struct hs_place_entry *entry)
{
    struct hs_place_entry *file = &cache->entries[entry->file_idx];
    return is_valid(cache, entry) &&
           (entry->file_serial == 0 || (file->serial == entry->file_serial &&
                                        file->kind == KIND_FILE && is_valid(cache, file)));
}

static inline struct hs_place_entry *line_of(struct hs_place_cache *cache, uint64_t code_va,
                                             uint64_t at_va, uint32_t kind)
{
    uint64_t hash = hs_hash_step(hs_hash_step(code_va, at_va), kind);
    return &cache->entries[(hash >> 32) % (HS_PLACE_ENTRIES / WAYS) * WAYS];
}

static inline bool is_of(const struct hs_place_entry *entry, uint64_t code_va, uint64_t at_va,
                         uint32_t kind)
{
    return entry->code_va == code_va && entry->at_va == at_va && entry->kind == kind;
}

/* The entry of a key. NULL: there is none. */
static inline struct hs_place_entry *find(struct hs_place_cache *cache, uint64_t code_va,
                                          uint64_t at_va, uint32_t kind)
{
    struct hs_place_entry *line = line_of(cache, code_va, at_va, kind);
    unsigned way = 0;
    while (way < WAYS && !is_of(&line[way], code_va, at_va, kind)) {
        way++;
    }
    return way < WAYS ? &line[way] : NULL;
}

/* --- what is new ------------------------------------------------------------------------------ */

/* The entry that a key gets: its own, or the one in its line that was used less lately. */
static struct hs_place_entry *choose(struct hs_place_cache *cache, uint64_t code_va, uint64_t at_va,
                                     uint32_t kind)
{
    struct hs_place_entry *line = line_of(cache, code_va, at_va, kind);
    struct hs_place_entry *own = find(cache, code_va, at_va, kind);
    bool is_first = line[0].kind == 0 || (line[1].kind != 0 && cache->sample - line[0].sample >
                                                                   cache->sample - line[1].sample);
    return own ? own : is_first ? &line[0] : &line[1];
}

/* Enters what was described from the words in `reads`. NULL: it is not to be kept. */
static struct hs_place_entry *enter(struct hs_place_cache *cache,
                                    const struct hs_script_reads *reads,
                                    const struct hs_place_entry *what)
{
    if (reads->is_broken) {
        return NULL;
    }
    if (HS_PLACE_WORDS - cache->word_count < reads->count) {
        forget_all(cache);
    }
    struct hs_place_entry *entry = choose(cache, what->code_va, what->at_va, what->kind);
    entry->kind = 0;
    hs_signal_fence();
    *entry = *what;
    entry->kind = 0;
    entry->era = cache->pages->era;
    entry->sample = cache->sample;
    entry->word_idx = cache->word_count;
    entry->word_count = reads->count;
    entry->serial = ++cache->serial;
    memcpy(&cache->words[cache->word_count], reads->list, reads->count * sizeof(cache->words[0]));
    cache->word_count += reads->count;
    hs_signal_fence();
    entry->kind = what->kind;
    return entry;
}

static uint32_t intern_text(struct hs_script_text text, uint32_t limit_bytes)
{
    text = hs_script_clip(text, limit_bytes - 1);
    return text.text ? hs_code_text_intern(text.text, text.bytes) : 0;
}

/* The entry of a file's name, which was just read; NULL: there is none. *ret_off: of the text in
 * BYTES. */
static struct hs_place_entry *find_file(struct hs_place_cache *cache,
                                        const struct hs_script_text *file, uint32_t *ret_off)
{
    struct hs_place_entry *entry = file->va != 0 ? find(cache, file->va, 0, KIND_FILE) : NULL;
    if (entry && is_valid(cache, entry)) {
        *ret_off = entry->id;
        return entry;
    }
    *ret_off = intern_text(*file, HS_CODE_FILE_BYTES);
    const struct hs_place_entry what = { .code_va = file->va, .kind = KIND_FILE, .id = *ret_off };
    return file->va != 0 ? enter(cache, &cache->file_reads, &what) : NULL;
}

static HS_COLD uint32_t describe(struct hs_place_cache *cache, const struct hs_place_reader *reader,
                                 const struct hs_script_place *place, uint32_t kind)
{
    struct hs_script_frame *frame = &cache->frame;
    struct hs_script_memory memory;
    hs_script_memory_init(&memory, cache->pages);
    memory.reads = &cache->reads;
    memory.others = &cache->file_reads;
    hs_script_reads_begin(&cache->reads);
    hs_script_reads_begin(&cache->file_reads);
    *frame = (struct hs_script_frame){ .line = 0 };
    if (!reader->describe(reader->roots, &memory, place, frame)) {
        return HS_PLACE_WRONG;
    }
    struct hs_place_entry what = {
        .code_va = place->code_va, .at_va = place->at_va, .kind = kind, .id = HS_PLACE_NOTHING
    };
    if (frame->function.text) {
        struct hs_code_name_v2 name = {
            .function_off = intern_text(frame->function, HS_CODE_FUNCTION_BYTES),
            .line = frame->line,
            .first_line = frame->first_line,
            .language = reader->language,
        };
        const struct hs_place_entry *file = find_file(cache, &frame->file, &name.file_off);
        what.id = hs_code_frame_intern(&name);
        what.file_idx = file ? (uint32_t)(file - cache->entries) : 0;
        what.file_serial = file ? file->serial : 0;
        cache->reads.is_broken |= what.id == HS_ID_NONE || (!file && frame->file.va != 0);
    }
    enter(cache, &cache->reads, &what);
    return what.id;
}

uint32_t hs_place_cache_find(struct hs_place_cache *cache, const struct hs_place_reader *reader,
                             const struct hs_script_place *place)
{
    /* No kind of a place is 0 or KIND_FILE. */
    uint32_t kind = (reader->language + 1) << 8 | (place->kind & 0xff);
    struct hs_place_entry *entry = find(cache, place->code_va, place->at_va, kind);
    return hs_likely(entry && is_right(cache, entry)) ? entry->id
                                                      : describe(cache, reader, place, kind);
}
