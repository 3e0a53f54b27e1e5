/*
 * The memory of this process. See script_memory.h.
 */
#include "client/script/script_memory.h"

/* A text of no bytes is somewhere, too. */
static const void *look(struct hs_script_memory *memory, uint64_t va, uint32_t bytes)
{
    return hs_readable_pages_at(memory->pages, va, bytes ? bytes : 1);
}

void hs_script_memory_init(struct hs_script_memory *memory, struct hs_readable_pages *pages)
{
    *memory = (struct hs_script_memory){ .look = look, .pages = pages };
}

void hs_script_reads_begin(struct hs_script_reads *reads)
{
    reads->is_broken = false;
    reads->count = 0;
}

/* The place of a word in the list. NULL: there is no room for a new one. */
static struct hs_script_read *read_of(struct hs_script_reads *reads, uint64_t va)
{
    uint32_t i = 0;
    while (i < reads->count && reads->list[i].va != va) {
        i++;
    }
    if (i == reads->count && i < HS_SCRIPT_READS_MAX) {
        reads->list[reads->count++] = (struct hs_script_read){ .va = va };
    }
    return i < HS_SCRIPT_READS_MAX ? &reads->list[i] : NULL;
}

void hs_script_note(struct hs_script_memory *memory, uint64_t va, uint32_t bytes)
{
    uint64_t end_va = va + bytes;
    for (uint64_t word_va = va & ~UINT64_C(7); word_va < end_va; word_va += 8) {
        /* The rest of a word lies in the same page as its bytes that were read. */
        const void *at = hs_script_peek(memory, word_va, 8);
        struct hs_script_read *read = at ? read_of(memory->reads, word_va) : NULL;
        uint64_t mask = UINT64_MAX;
        if (!read) {
            memory->reads->is_broken = true;
            return;
        }
        if (word_va < va) {
            mask &= UINT64_MAX << (va - word_va) * 8;
        }
        if (end_va - word_va < 8) {
            mask &= UINT64_MAX >> (8 - (end_va - word_va)) * 8;
        }
        memcpy(&read->value, at, sizeof(read->value));
        read->mask |= mask;
    }
}
