/*
 * The table of HotSpot's code. See java_cache.h.
 */
#include "client/thread/java_cache.h"

#include <string.h>
#include <sys/mman.h>

#include "client/host/pages.h"
#include "rt/atomic.h"
#include "rt/bits.h"
#include "rt/sys.h"

/* 512 KiB of address space, of which only what is used takes memory. */
#define ENTRY_COUNT 4096U
#define TABLE_BYTES (ENTRY_COUNT * sizeof(struct hs_java_entry))
/* Words of an entry that count, without those of unused ids. */
#define WORDS_MAX  (sizeof(struct hs_java_entry) / 8)
#define HEAD_WORDS 5U /* before the ids */
/* No block has more steps back to its start: as in code_blob.c. */
#define STEPS_MAX 4096U

static struct hs_java_entry *table; /* NULL: there was no memory */

void hs_java_cache_make(void)
{
    if (!table) {
        table = hs_pages_map_sparse(TABLE_BYTES);
    }
}

void hs_java_cache_clear(void)
{
    if (table) {
        hs_sys_madvise(table, TABLE_BYTES, MADV_DONTNEED);
    }
}

/* --- headers ---------------------------------------------------------------------------------- */

/* Under AddressSanitizer these bytes are no object of the program's. */
__attribute__((no_sanitize("address"))) static uint64_t load(uint64_t va, unsigned byte_count)
{
    uint64_t value = 0;
    const uint8_t *from = (const uint8_t *)(uintptr_t)va;
    if (byte_count == 8) {
        return hs_load_relaxed((const uint64_t *)(const void *)from);
    }
    for (unsigned i = 0; i < byte_count; i++) {
        value |= (uint64_t)from[i] << (8 * i);
    }
    return value;
}

/* Where the blob around `pc` begins. 0: there is none. */
static uint64_t find_start(const struct hs_hotspot_layout *layout, const struct hs_code_heap *heap,
                           uint64_t high_va, uint64_t pc)
{
    const uint64_t *at = layout->at;
    uint64_t segment = (pc - heap->low_va) >> heap->log2_segment_bytes, back = 1;
    for (uint32_t i = 0; i < STEPS_MAX && back != 0; i++) {
        back = load(heap->segmap_va + segment, 1);
        if (back == 255 || back > segment) {
            return 0;
        }
        segment -= back;
    }
    uint64_t block_va = heap->low_va + (segment << heap->log2_segment_bytes);
    uint64_t start_va = block_va + layout->size_bytes[HS_HOTSPOT_SIZE_BLOCK];
    bool has_header = back == 0 && start_va < high_va &&
                      high_va - start_va >= layout->size_bytes[HS_HOTSPOT_SIZE_NMETHOD];
    return has_header && load(block_va + at[HS_HOTSPOT_BLOCK_USED], 1) == 1 ? start_va : 0;
}

bool hs_java_cache_identify(const struct hs_hotspot_layout *layout,
                            const struct hs_code_heaps *heaps, uint64_t pc, uint64_t *ret_code)
{
    const uint64_t *at = layout->at;
    const uint64_t high_off = at[HS_HOTSPOT_HEAP_MEMORY] + at[HS_HOTSPOT_SPACE_HIGH];
    for (uint32_t i = 0; i < heaps->count; i++) {
        const struct hs_code_heap *heap = &heaps->heaps[i];
        uint64_t high_va = load(heap->heap_va + high_off, 8);
        if (pc < heap->low_va || pc >= high_va) {
            continue;
        }
        uint64_t start_va = find_start(layout, heap, high_va, pc);
        if (start_va == 0) {
            return false;
        }
        uint64_t size_bytes = load(start_va + at[HS_HOTSPOT_BLOB_SIZE], 4);
        uint64_t hash = hs_hash_step(start_va, load(start_va + at[HS_HOTSPOT_BLOB_NAME], 8));
        hash = hs_hash_step(hash, load(start_va + at[HS_HOTSPOT_COMPILED_METHOD], 8));
        hash = hs_hash_step(hash, size_bytes << 32 |
                                      load(start_va + at[HS_HOTSPOT_NMETHOD_COMPILE_ID], 4));
        *ret_code = hs_mix64(hash);
        return pc - start_va < size_bytes;
    }
    return false;
}

/* --- entries ---------------------------------------------------------------------------------- */

static size_t used_words(const struct hs_java_entry *entry)
{
    size_t words = HEAD_WORDS + ((size_t)entry->id_count + 1) / 2;
    return words < WORDS_MAX ? words : WORDS_MAX;
}

static uint64_t check_of(const struct hs_java_entry *entry)
{
    uint64_t words[WORDS_MAX], hash = 1;
    size_t count = used_words(entry);
    memcpy(words, entry, count * 8);
    for (size_t i = 1; i < count; i++) {
        hash = hs_hash_step(hash, words[i]);
    }
    return hs_mix64(hash);
}

static struct hs_java_entry *place_of(uint64_t pc, uint64_t code)
{
    return &table[hs_mix64(pc ^ code) % ENTRY_COUNT];
}

bool hs_java_cache_find(uint64_t pc, uint64_t code, struct hs_java_entry *ret_entry)
{
    const struct hs_java_entry *place = table ? place_of(pc, code) : NULL;
    if (!place || hs_load_relaxed(&place->pc) != pc || hs_load_relaxed(&place->code) != code) {
        return false;
    }
    const uint64_t *from = (const uint64_t *)(const void *)place;
    uint64_t words[WORDS_MAX];
    for (size_t i = 0; i < HEAD_WORDS; i++) {
        words[i] = hs_load_relaxed(&from[i]);
    }
    memcpy(ret_entry, words, HEAD_WORDS * sizeof(words[0]));
    size_t count = used_words(ret_entry);
    for (size_t i = HEAD_WORDS; i < count; i++) {
        words[i] = hs_load_relaxed(&from[i]);
    }
    memcpy(ret_entry, words, count * sizeof(words[0]));
    return ret_entry->id_count <= HS_JAVA_CACHE_IDS && ret_entry->check == check_of(ret_entry) &&
           ret_entry->pc == pc && ret_entry->code == code;
}

void hs_java_cache_insert(struct hs_java_entry *entry)
{
    if (!table || entry->id_count > HS_JAVA_CACHE_IDS) {
        return;
    }
    uint64_t words[WORDS_MAX];
    entry->check = check_of(entry);
    uint64_t *to = (uint64_t *)(void *)place_of(entry->pc, entry->code);
    size_t count = used_words(entry);
    memcpy(words, entry, count * 8);
    for (size_t i = 0; i < count; i++) {
        hs_store_relaxed(&to[i], words[i]);
    }
}
