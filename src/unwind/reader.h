/*
 * Reads stack words for a walk: only inside the window. Each word that is read is noted in the
 * walk, for replay.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "rt/base.h"
#include "rt/check.h"
#include "unwind/walk.h"

/* Through which a walk reads. */
struct hs_stack_reader {
    struct hs_stack_window *window;
    struct hs_walk *walk; /* receives the words; NULL: they are not noted */
    uint64_t base_va;     /* the walk's start sp */
    uint64_t top_va;      /* the end of the highest word read */
};

/* Is the word at va readable, after extending the window if necessary? */
static inline bool hs_stack_window_has(struct hs_stack_window *w, uint64_t va)
{
    for (int is_extended = 0; is_extended < 2; is_extended++) {
        if (hs_likely(va >= w->lo_va && w->hi_va >= 8 && va <= w->hi_va - 8)) {
            return true;
        }
        if (is_extended || !w->extend || va > UINT64_MAX - 8 || !w->extend(w, va)) {
            break;
        }
    }
    return false;
}

/* Loads a word of the stack. Under AddressSanitizer a stack has red zones; what is read there is
 * only compared. */
__attribute__((no_sanitize("address"))) static inline uint64_t hs_stack_load(uint64_t va,
                                                                             uint64_t shift)
{
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)(va + shift), 8); /* may be unaligned: hostile */
    return word;
}

/* Notes a word for replay. A word whose distance above the start does not fit makes the walk not
 * replayable. */
static inline void hs_walk_note_word(struct hs_walk *walk, uint64_t base_va, uint64_t va,
                                     uint64_t word)
{
    if (va - base_va > UINT32_MAX || walk->word_count >= HS_WALK_WORDS_MAX) {
        walk->is_replayable = false;
        return;
    }
    walk->word_va_low[walk->word_count] = (uint32_t)va;
    walk->word[walk->word_count++] = word;
}

/* Notes what a frame of a virtual machine depends on. A walk that has no room for it is not
 * replayable. */
static inline void hs_stack_note(const struct hs_stack_reader *r, const struct hs_vm_note *note)
{
    struct hs_walk *walk = r->walk;
    if (walk && walk->note_count < HS_VM_NOTES_MAX) {
        walk->note[walk->note_count++] = *note;
    } else if (walk) {
        walk->is_replayable = false;
    }
}

/* Reads the word at va. False: it is not readable. */
static inline bool hs_stack_read(struct hs_stack_reader *r, uint64_t va, uint64_t *ret_word)
{
    if (!hs_stack_window_has(r->window, va)) {
        return false;
    }
    HS_ASSERT(va >= r->window->lo_va &&
              va - r->window->lo_va + 8 <= r->window->hi_va - r->window->lo_va);
    uint64_t word = hs_stack_load(va, r->window->shift);
    r->top_va = va + 8 > r->top_va ? va + 8 : r->top_va;
    if (r->walk) {
        hs_walk_note_word(r->walk, r->base_va, va, word);
    }
    *ret_word = word;
    return true;
}

/* Reads a word below others that the walk reads, on which its result does not depend as it is. */
static inline bool hs_stack_peek(const struct hs_stack_reader *r, uint64_t va, uint64_t *ret_word)
{
    struct hs_stack_reader peeking = { .window = r->window };
    return hs_stack_read(&peeking, va, ret_word);
}
