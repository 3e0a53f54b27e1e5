/*
 * The replay table for walks with notes. See vm_replay.h.
 */
#include "unwind/vm_replay.h"

#include <string.h>

#include "rt/base.h"
#include "rt/bits.h"

/* Paths of an earlier era are found no more, because their words have another generation. */
static uint64_t generation_of(const struct hs_vm_replay *replay, uint64_t generation)
{
    return generation ^ hs_mix64(replay->era + 1);
}

void hs_vm_replay_init(struct hs_vm_replay *replay)
{
    hs_replay_init(&replay->words, replay->memory, HS_VM_REPLAY_SLOTS, HS_VM_REPLAY_ARENA_BYTES);
}

static void begin_era(struct hs_vm_replay *replay)
{
    replay->era++;
    replay->path_count = 0;
    replay->note_count = 0;
    replay->last.has_path = false;
}

void hs_vm_replay_forget(struct hs_vm_replay *replay)
{
    begin_era(replay);
    memset(replay->memory, 0, HS_REPLAY_BYTES(HS_VM_REPLAY_SLOTS, 0));
    memset(replay->stacks, 0, sizeof(replay->stacks));
    hs_vm_replay_init(replay);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* A path has a number that no path of another era has. */
static uint64_t key_of_path(const struct hs_vm_replay *replay, uint32_t path_idx)
{
    return hs_mix64(replay->era * HS_VM_REPLAY_PATHS + path_idx + 1);
}

/* Ids are small numbers: they are spread over the word, so that no two lists that differ in two
 * places have the same key by more than chance. */
static uint64_t add_user(uint64_t key, uint32_t user)
{
    return hs_hash_step(key, ((uint64_t)user + 1) * UINT64_C(0xbf58476d1ce4e5b9));
}

static uint64_t finish_key(uint64_t key)
{
    return hs_mix64(key) | 1;
}

static struct hs_vm_stack *stack_of(struct hs_vm_replay *replay, uint64_t key)
{
    return &replay->stacks[(key >> 1) % HS_VM_REPLAY_STACKS];
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Checks the notes of a path. True: *ret_key is that of the path with the functions of now. */
static bool check_path(const struct hs_vm_replay *replay, uint32_t path_idx, uint64_t sp,
                       hs_vm_check_fn check, void *check_ctx, uint64_t *ret_key)
{
    const struct hs_vm_path *path = &replay->paths[path_idx];
    uint64_t key = key_of_path(replay, path_idx);
    HS_ASSERT(path->first_note + path->note_count <= replay->note_count);
    for (uint32_t i = 0; i < path->note_count; i++) {
        const struct hs_vm_note *note = &replay->notes[path->first_note + i];
        uint32_t user = 0;
        if (!check(check_ctx, note, sp, &user)) {
            return false;
        }
        key = note->kind == HS_VM_NOTE_FUNCTION ? add_user(key, user) : key;
    }
    *ret_key = finish_key(key);
    return true;
}

bool hs_vm_replay_find(struct hs_vm_replay *replay, const struct hs_regs *start,
                       struct hs_stack_window *window, uint64_t generation, hs_vm_check_fn check,
                       void *check_ctx, uint32_t *ret_user)
{
    uint32_t path_idx;
    replay->last.has_path = false;
    if (!hs_replay_find(&replay->words, start, window, generation_of(replay, generation),
                        &path_idx)) {
        return false;
    }
    HS_ASSERT(path_idx < replay->path_count);
    if (!check_path(replay, path_idx, start->sp, check, check_ctx, &replay->last.key)) {
        return false;
    }
    const struct hs_vm_stack *stack = stack_of(replay, replay->last.key);
    replay->last.has_path = stack->key != replay->last.key;
    *ret_user = stack->user;
    return stack->key == replay->last.key;
}

/* --- storing ---------------------------------------------------------------------------------- */

/* Makes a path of the walk's notes. */
static uint32_t add_path(struct hs_vm_replay *replay, const struct hs_walk *walk)
{
    if (replay->path_count == HS_VM_REPLAY_PATHS ||
        walk->note_count > HS_VM_REPLAY_NOTES - replay->note_count) {
        begin_era(replay);
    }
    uint32_t path_idx = replay->path_count++;
    replay->paths[path_idx] =
        (struct hs_vm_path){ .first_note = replay->note_count, .note_count = walk->note_count };
    memcpy(&replay->notes[replay->note_count], walk->note,
           walk->note_count * sizeof(walk->note[0]));
    replay->note_count += walk->note_count;
    return path_idx;
}

static uint64_t key_of_walk(const struct hs_vm_replay *replay, uint32_t path_idx,
                            const struct hs_walk *walk)
{
    uint64_t key = key_of_path(replay, path_idx);
    for (uint32_t i = 0; i < walk->note_count; i++) {
        const struct hs_vm_note *note = &walk->note[i];
        key = note->kind == HS_VM_NOTE_FUNCTION ? add_user(key, note->user) : key;
    }
    return finish_key(key);
}

void hs_vm_replay_store(struct hs_vm_replay *replay, const struct hs_regs *start,
                        const struct hs_walk *walk, uint64_t generation, uint32_t user)
{
    if (!walk->is_replayable || walk->note_count == 0) {
        return;
    }
    uint64_t key = replay->last.key;
    if (!replay->last.has_path) {
        uint32_t path_idx = add_path(replay, walk);
        key = key_of_walk(replay, path_idx, walk);
        hs_replay_store(&replay->words, start, walk, generation_of(replay, generation), path_idx);
    }
    *stack_of(replay, key) = (struct hs_vm_stack){ .key = key, .user = user };
    replay->last.has_path = false;
}

#if HS_HAS_CHECKS

bool hs_vm_replay_is_valid(const struct hs_vm_replay *replay)
{
    bool is_valid = hs_replay_is_valid(&replay->words) &&
                    replay->path_count <= HS_VM_REPLAY_PATHS &&
                    replay->note_count <= HS_VM_REPLAY_NOTES;
    uint32_t note = 0;
    for (uint32_t i = 0; is_valid && i < replay->path_count; i++) {
        is_valid = replay->paths[i].first_note == note && replay->paths[i].note_count > 0;
        note += replay->paths[i].note_count;
    }
    return is_valid && note == replay->note_count;
}

#endif
