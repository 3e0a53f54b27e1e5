/*
 * Setting slots, and setting them back. See patch.h.
 */
#include "client/patch/patch.h"

#include <link.h>
#include <sys/mman.h>

#include "client/host/fork_hold.h"
#include "client/host/linkmap.h"
#include "client/host/sandbox.h"
#include "client/patch/hook_table.h"
#include "client/patch/loader_lock.h"
#include "client/patch/object_slots.h"
#include "client/patch/operators.h"
#include "rt/atomic.h"
#include "rt/check.h"
#include "rt/sys.h"

#define HOOKS_MAX   64U
#define OBJECTS_MAX 4096U

struct known_object {
    uint64_t bias_va;
    const void *dynamic;
};

/* The objects whose slots were set. */
static struct {
    struct known_object objects[OBJECTS_MAX];
    uint32_t object_count;
    uint64_t unload_count; /* the loader's count of unloaded objects, when the objects were noted */
    bool is_applied;
} patched;

uint32_t hs_patch_is_due;
/* The process whose thread is at work, one at a time; after a fork the pid differs, so a child does
 * not wait for a thread that it has not inherited. */
static uint32_t busy_pid;

/* The values that a slot of each hook may hold. */
struct meaning {
    uint64_t real_va; /* the definition that the program uses; 0: there is none */
    /* The executable's own entry for it, which all objects use as its address; 0: none. */
    uint64_t entry_va;
    /* the operator of a C++ runtime that was loaded late; an object that defines the operator
     * itself uses its own */
    bool is_late;
};

static struct meaning meanings[HOOKS_MAX];

/* The object whose slots are being visited. */
struct work {
    struct hs_object object;
    const struct hs_object_slot *slots;
    uint32_t slot_count;
    bool is_open;    /* the part that the loader made read-only is writable now */
    bool is_foreign; /* it was bound to another allocator */
    struct hs_patch_counts *counts;
};

typedef void visit_fn(struct work *work, const struct hs_object_slot *slot);

static void visit_all(struct work *work, visit_fn *visit)
{
    for (uint32_t i = 0; i < work->slot_count; i++) {
        visit(work, &work->slots[i]);
    }
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Relocations of code (DT_TEXTREL) are left alone. */
static bool is_in_data(const struct hs_object *object, uint64_t va)
{
    uint32_t i = 0;
    while (i < object->data_count &&
           (va < object->data[i].start_va || va + sizeof(va) > object->data[i].end_va)) {
        i++;
    }
    return i < object->data_count && va % sizeof(va) == 0;
}

/* The loader makes relocated memory read-only, unless the program has made it writable again. */
static bool open_slot(struct work *work, const uint64_t *slot)
{
    const struct hs_object *object = &work->object;
    uint64_t va = (uint64_t)slot;
    if (!is_in_data(object, va)) {
        return false;
    }
    if (va < object->relro_va || va >= object->relro_end_va || work->is_open ||
        hs_sys_is_writable(va)) {
        return true;
    }
    work->is_open =
        hs_sys_mprotect((void *)object->relro_va, object->relro_end_va - object->relro_va,
                        PROT_READ | PROT_WRITE) == 0;
    return work->is_open;
}

static void close_slots(const struct work *work)
{
    const struct hs_object *object = &work->object;
    if (work->is_open) {
        hs_sys_mprotect((void *)object->relro_va, object->relro_end_va - object->relro_va,
                        PROT_READ);
    }
}

/* --- meanings --------------------------------------------------------------------------------- */

static void find_meanings(void)
{
    const struct link_map *self = hs_linkmap_self();
    for (uint32_t i = 0; i < hs_hook_count; i++) {
        const char *name = hs_hooks[i].name;
        meanings[i].real_va = (uint64_t)hs_linkmap_search(NULL, self, name, NULL);
        meanings[i].is_late = meanings[i].real_va == 0 && name[0] == '_';
        if (meanings[i].is_late) {
            meanings[i].real_va = (uint64_t)hs_operator_of_runtime(name);
        }
    }
}

/* Notes the function's address as other objects see it, if the executable has an entry of its own
 * for the function. */
static void note_entry(struct work *work, const struct hs_object_slot *slot)
{
    if (slot->symbol->st_shndx == SHN_UNDEF && slot->symbol->st_value != 0) {
        meanings[slot->hook].entry_va = work->object.bias_va + slot->symbol->st_value;
    }
}

static bool is_real(uint32_t hook, uint64_t value)
{
    const struct meaning *meaning = &meanings[hook];
    return value != 0 && (value == meaning->real_va || value == meaning->entry_va);
}

/* Not bound yet: the slot leads into the object itself, but not to a definition there, and from
 * there to the loader. */
static bool is_unbound(const struct work *work, const struct hs_object_slot *slot, uint64_t value)
{
    const struct hs_object *object = &work->object;
    return slot->is_of_call && value >= object->start_va && value < object->end_va &&
           (slot->symbol->st_shndx == SHN_UNDEF ||
            value != object->bias_va + slot->symbol->st_value);
}

/* A slot that is bound to another allocator: then slots that are not bound yet would be, too. */
static void note_foreign(struct work *work, const struct hs_object_slot *slot)
{
    uint64_t value = hs_load_relaxed(slot->at);
    if (value != (uint64_t)hs_hooks[slot->hook].va && !is_real(slot->hook, value) &&
        !is_unbound(work, slot, value) && meanings[slot->hook].real_va != 0) {
        work->is_foreign = true;
    }
}

/* --- redirecting and releasing ---------------------------------------------------------------- */

static void lead_to_us(struct work *work, const struct hs_object_slot *slot)
{
    uint64_t value = hs_load_relaxed(slot->at), hook_va = (uint64_t)hs_hooks[slot->hook].va;
    if (value == hook_va) {
        return;
    }
    bool is_ours_to_change =
        is_real(slot->hook, value) ||
        (!work->is_foreign && meanings[slot->hook].real_va != 0 && is_unbound(work, slot, value) &&
         !(meanings[slot->hook].is_late && slot->symbol->st_shndx != SHN_UNDEF));
    if (!is_ours_to_change || !open_slot(work, slot->at)) {
        work->counts->left += value != 0;
        return;
    }
    HS_ASSERT((uint64_t)slot->at >= work->object.start_va &&
              (uint64_t)slot->at < work->object.end_va); /* it is of an object that is loaded */
    hs_store_relaxed(slot->at, hook_va);
    work->counts->changed++;
}

/* The value that the loader would have stored. The old value of a slot is not kept: another object
 * may be at the same place by then. That one may have been bound at once where the first was not,
 * and an unbound value of one object leads nowhere in the other. A call slot never gets the
 * executable's entry, which may call through this very slot. */
static uint64_t real_of(const struct hs_object_slot *slot)
{
    const struct meaning *meaning = &meanings[slot->hook];
    return slot->is_of_call || meaning->entry_va == 0 ? meaning->real_va : meaning->entry_va;
}

static void lead_back(struct work *work, const struct hs_object_slot *slot)
{
    if (hs_load_relaxed(slot->at) == (uint64_t)hs_hooks[slot->hook].va && real_of(slot) != 0 &&
        open_slot(work, slot->at)) {
        hs_store_relaxed(slot->at, real_of(slot));
        work->counts->changed++;
    }
}

/* --- all objects ------------------------------------------------------------------------------ */

/* True: the object was noted before. */
static bool note_object(const struct dl_phdr_info *info, const struct hs_object *object)
{
    if (info->dlpi_subs != patched.unload_count) {
        /* Another object may be where one was. */
        patched.unload_count = info->dlpi_subs;
        patched.object_count = 0;
    }
    for (uint32_t i = 0; i < patched.object_count; i++) {
        if (patched.objects[i].bias_va == object->bias_va &&
            patched.objects[i].dynamic == object->dynamic) {
            return true;
        }
    }
    if (patched.object_count < OBJECTS_MAX) {
        patched.objects[patched.object_count++] =
            (struct known_object){ object->bias_va, object->dynamic };
    }
    return false;
}

static int on_apply(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct work work = { .counts = ctx };
    (void)bytes;
    if (!hs_object_look(info, &work.object) || note_object(info, &work.object)) {
        return 0;
    }
    work.slots = hs_object_slots(&work.object, &work.slot_count);
    if (hs_linkmap_first() && hs_linkmap_first()->l_ld == work.object.dynamic) {
        visit_all(&work, note_entry); /* the executable comes first */
    }
    visit_all(&work, note_foreign);
    visit_all(&work, lead_to_us);
    close_slots(&work);
    return 0;
}

static int on_undo(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    struct work work = { .counts = ctx };
    (void)bytes;
    if (hs_object_look(info, &work.object)) {
        work.slots = hs_object_slots(&work.object, &work.slot_count);
        visit_all(&work, lead_back);
        close_slots(&work);
    }
    return 0;
}

static bool enter(void)
{
    uint32_t pid = hs_sys_getpid(), found = hs_load_relaxed(&busy_pid);
    return found != pid && hs_cas_relaxed(&busy_pid, &found, pid);
}

static void leave(void)
{
    hs_store_relaxed(&busy_pid, 0);
}

bool hs_patch_apply(struct hs_patch_counts *ret_counts)
{
    *ret_counts = (struct hs_patch_counts){ 0, 0 };
    if (hs_hook_count > HOOKS_MAX || !enter()) {
        return false;
    }
    bool is_ours = hs_fork_hold_begin();
    if (is_ours) {
        find_meanings();
        hs_store_relaxed(&hs_patch_is_due, 0);
        dl_iterate_phdr(on_apply, ret_counts);
        patched.is_applied = true;
        hs_fork_hold_end();
    }
    leave();
    return is_ours;
}

bool hs_patch_undo(struct hs_patch_counts *ret_counts)
{
    *ret_counts = (struct hs_patch_counts){ 0, 0 };
    if (!enter()) {
        return false;
    }
    bool is_ours = hs_fork_hold_begin();
    if (is_ours) {
        dl_iterate_phdr(on_undo, ret_counts);
        patched.object_count = 0;
        patched.is_applied = false;
        hs_fork_hold_end();
    }
    leave();
    return is_ours;
}

static void apply_locked(void *ctx)
{
    struct hs_patch_counts unused;
    hs_patch_also_fn *const *also = ctx;
    if (patched.is_applied) {
        hs_patch_apply(&unused);
        (*also)();
    }
}

void hs_patch_new(hs_patch_also_fn *also)
{
    /* Under a seccomp filter the recording process does it, on a thread that may. */
    if (patched.is_applied && !hs_sandbox_is_tight()) {
        /* A signal handler that forks would wait for the thread that it has interrupted. */
        uint64_t old_mask = hs_sys_block_signals();
        hs_loader_lock_call(apply_locked, &also);
        hs_sys_restore_signals(old_mask);
    }
}
