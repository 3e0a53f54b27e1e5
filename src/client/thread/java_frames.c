/*
 * From HotSpot's structures to the frames of a walk. See java_frames.h.
 */
#include "client/thread/java_frames.h"

#include "client/host/linkmap.h"
#include "client/host/readable_pages.h"
#include "client/tables/code_names.h"
#include "client/tables/jvm_module.h"
#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "client/thread/java_cache.h"
#include "client/thread/thread.h"
#include "hotspot/debug_scopes.h"
#include "hotspot/interpreted_frame.h"
#include "hotspot/java_method.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "unwind/reader.h"

/* A method that calls itself, or two that call each other, have few different frames. */
#define NOTES_COMPARED 4U

/* What is known of the JVM. Written by one thread; others see it when code_low_va is not 0. */
static struct {
    struct hs_hotspot_layout layout;
    struct hs_code_heaps heaps;
    bool has_layout;
    enum hs_java_refusal refusal;
} jvm;
static uint64_t code_low_va; /* 0: not known */
static uint64_t code_bytes;
static bool is_looking; /* a thread is reading the structures */

/* --- the JVM ---------------------------------------------------------------------------------- */

static uint64_t find_symbol(void *ctx, const char *name)
{
    return (uint64_t)(uintptr_t)hs_linkmap_symbol(ctx, name);
}

/* Says in the region whether the JVM is read. */
static void tell(void)
{
    struct hs_java_v2 *java = &hs_region.header->java;
    /* The fields are small and independent: a reader that sees some of them sees no nonsense. */
    java->refusal = (uint32_t)jvm.refusal;
    java->vm_major = jvm.layout.vm_major;
    java->is_known = 1;
}

/* Reads what the JVM exports. Called by one thread at a time. */
static void look(void)
{
    const struct hs_hotspot_memory memory = { .read = hs_readable_pages_copy,
                                              .ctx = &hs_tls.self->pages };
    hs_readable_pages_begin(&hs_tls.self->pages);
    if (!jvm.has_layout) {
        const struct link_map *map = hs_jvm_module_find();
        if (!map) {
            return;
        }
        jvm.refusal =
            hs_hotspot_layout_read(&memory, find_symbol, (void *)(uintptr_t)map, &jvm.layout);
        jvm.has_layout = true;
        tell();
    }
    if (jvm.refusal == HS_JAVA_READ && hs_code_heaps_read(&jvm.layout, &memory, &jvm.heaps)) {
        hs_java_cache_make();
        code_bytes = jvm.heaps.high_va - jvm.heaps.low_va;
        /* ORDER java: all that is known of the JVM, before its code is known. */
        hs_store_release(&code_low_va, jvm.heaps.low_va);
    }
}

void hs_java_frames_begin(void)
{
    is_looking = false;
    hs_java_cache_clear();
    if (jvm.has_layout) {
        tell();
    }
}

bool hs_java_frames_has(uint64_t pc, bool *ret_is_new)
{
    /* ORDER java: with its code, all that is known of the JVM. */
    uint64_t low_va = hs_load_acquire(&code_low_va);
    bool is_taken = false;
    if (hs_load_relaxed(&hs_control_page.control.flags) & HS_CONTROL_NATIVE_ONLY) {
        return false;
    }
    if (low_va == 0 && hs_jvm_module_is_seen() && hs_load_relaxed(&jvm.refusal) == HS_JAVA_READ) {
        uint64_t old_mask = hs_sys_block_signals();
        /* ORDER java-look: what the last thread that looked has left. */
        if (hs_cas_acq_rel(&is_looking, &is_taken, true)) {
            if (hs_load_relaxed(&code_low_va) == 0) {
                look();
                *ret_is_new = hs_load_relaxed(&code_low_va) != 0;
            }
            /* ORDER java-look: what this thread has found, for the next one. */
            hs_store_release(&is_looking, false);
        }
        hs_sys_restore_signals(old_mask);
        low_va = hs_load_acquire(&code_low_va);
    }
    return low_va != 0 && pc - low_va < code_bytes;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* What is read with, and what is written: one frame of a walk. */
struct describer {
    struct hs_hotspot_memory memory; /* that asks the kernel */
    struct hs_java_walk *walk;
    struct hs_vm_frame *frame;
    bool is_lasting; /* what is found out holds for this pc as long as its code is there */
};

/* Adds a name to the frame. Of a longer chain of inlined methods, the outermost one takes the last
 * place. */
static bool add_name(struct describer *d, const struct hs_code_name_v2 *name)
{
    struct hs_vm_frame *frame = d->frame;
    uint32_t id = name->function_off ? hs_code_frame_intern(name) : HS_ID_NONE;
    if (frame->id_count == HS_VM_IDS_MAX) {
        frame->id_count--;
    }
    frame->ids[frame->id_count++] = id;
    return id != HS_ID_NONE;
}

/* Adds a method. `bci`: its place in its bytecodes, or HS_BCI_ENTRY. */
static bool add_method(struct describer *d, const struct hs_java_method *method, int32_t bci)
{
    char text[HS_CODE_FUNCTION_BYTES];
    struct hs_code_name_v2 name = { .language = HS_LANGUAGE_JAVA };
    size_t bytes = hs_java_method_function(&jvm.layout, &d->memory, method, text, sizeof(text));
    name.function_off = hs_code_text_intern(text, (uint32_t)bytes);
    bytes = hs_java_method_source(&jvm.layout, &d->memory, method, text, sizeof(text));
    name.file_off = hs_code_text_intern(text, (uint32_t)bytes);
    if (bci >= 0 && !method->is_native) {
        name.line = hs_java_method_line(&jvm.layout, &d->memory, method, (uint32_t)bci);
    }
    return add_name(d, &name);
}

/* Adds the name of a piece of the JVM's own code, in brackets. */
static bool add_stub(struct describer *d, const char *name)
{
    char text[HS_BLOB_NAME_BYTES + 2];
    uint32_t bytes = 0;
    text[bytes++] = '[';
    for (uint32_t i = 0; name[i] && i < HS_BLOB_NAME_BYTES; i++) {
        text[bytes++] = (unsigned char)name[i] < ' ' ? '?' : name[i];
    }
    text[bytes++] = ']';
    const struct hs_code_name_v2 stub = { .function_off = hs_code_text_intern(text, bytes),
                                          .language = HS_LANGUAGE_JAVA };
    return add_name(d, &stub);
}

/* The pc that debug information is about. Where HotSpot has decided that a frame must go on in the
 * interpreter, the return address leads to a handler, and the true one lies in the frame. */
static uint64_t described_pc(struct describer *d, const struct hs_code_blob *blob)
{
    uint64_t pc = d->frame->pc, orig_pc;
    bool is_deoptimized = pc == blob->deopt_va[0] || pc == blob->deopt_va[1];
    return is_deoptimized && blob->orig_pc_off < blob->start_va &&
                   hs_stack_read(d->frame->reader, d->frame->sp + blob->orig_pc_off, &orig_pc)
               ? orig_pc
               : pc;
}

static bool describe_compiled(struct describer *d, const struct hs_code_blob *blob)
{
    struct hs_vm_frame *frame = d->frame;
    struct hs_debug_scopes scopes;
    struct hs_java_method method;
    uint64_t method_va;
    int32_t bci;
    bool has_scopes =
        hs_debug_scopes_begin(&jvm.layout, &d->memory, blob, described_pc(d, blob), &scopes);
    /* An interrupted frame is whole where the JVM itself may look at it. */
    frame->caller = frame->is_exact && !has_scopes ? HS_VM_GUESS : HS_VM_FIXED;
    frame->frame_bytes = blob->frame_bytes;
    while (has_scopes && hs_debug_scopes_next(&scopes, &method_va, &bci)) {
        if (!hs_java_method_read(&jvm.layout, &d->memory, method_va, &method) ||
            !add_method(d, &method, bci)) {
            return frame->id_count > 0 ? false : add_stub(d, blob->name);
        }
    }
    if (frame->id_count > 0) {
        return true;
    }
    return hs_java_method_read(&jvm.layout, &d->memory, blob->method_va, &method)
               ? add_method(d, &method, HS_BCI_ENTRY)
               : add_stub(d, blob->name);
}

/* The words of an interpreted method's frame. */
struct interpreted {
    uint64_t method_va;
    uint64_t bcp;
    struct hs_java_method method;
    int32_t bci;
};

static bool read_words(struct hs_vm_frame *frame, struct interpreted *ret)
{
    uint64_t bp;
    return hs_vm_frame_bp(frame, &bp) && bp % 8 == 0 && bp >= HS_INTERPRETED_BCP_BYTES &&
           bp - HS_INTERPRETED_BCP_BYTES >= frame->sp &&
           hs_stack_read(frame->reader, bp - HS_INTERPRETED_METHOD_BYTES, &ret->method_va) &&
           hs_stack_read(frame->reader, bp - HS_INTERPRETED_BCP_BYTES, &ret->bcp) &&
           hs_stack_read(frame->reader, bp - HS_INTERPRETED_SENDER_SP_BYTES, &frame->caller_sp);
}

/* Is there such a method, at such a place? */
static bool read_method(const struct hs_hotspot_memory *memory, struct interpreted *in)
{
    if (!hs_java_method_read(&jvm.layout, memory, in->method_va, &in->method)) {
        return false;
    }
    uint64_t bci = in->bcp - in->method.code_va;
    bool has_bci = bci < in->method.code_bytes && !in->method.is_native;
    in->bci = has_bci ? (int32_t)bci : HS_BCI_ENTRY;
    /* A native method has no bytecodes, and the word may have any value. */
    return has_bci || (in->method.is_native && in->method.code_bytes == 0);
}

/* Reads the process's own memory without asking: of a method that was asked for before. */
__attribute__((no_sanitize("address"))) static bool read_known(void *ctx, uint64_t va,
                                                               void *ret_bytes, size_t byte_count)
{
    (void)ctx;
    __builtin_memcpy(ret_bytes, (const void *)(uintptr_t)va, byte_count);
    return true;
}

/* Is the interpreted method still the one that had this content? */
static bool is_same_method(struct interpreted *in, uint64_t hash)
{
    const struct hs_hotspot_memory memory = { .read = read_known };
    return read_method(&memory, in) &&
           hs_java_method_hash(&jvm.layout, &memory, &in->method) == hash;
}

/* Adds a note, which is checked before the walk is used again. A frame that has the same code as
 * one just before (recursion) needs no check of its own. */
static void add_note(struct hs_vm_frame *frame, const struct hs_vm_note *note)
{
    const struct hs_walk *walk = frame->reader->walk;
    for (uint32_t i = walk->note_count; i > 0 && walk->note_count - i < NOTES_COMPARED; i--) {
        const struct hs_vm_note *other = &walk->note[i - 1];
        if (other->kind == note->kind && other->at == note->at &&
            other->method_va == note->method_va && other->expected == note->expected) {
            return;
        }
    }
    hs_stack_note(frame->reader, note);
}

/* Notes an interpreted method. It is read without asking at a replay, so the walk may not have
 * guessed before, as in find_known. */
static void note_method(const struct describer *d, const struct interpreted *in, uint64_t hash)
{
    struct hs_vm_frame *frame = d->frame;
    frame->is_replayable =
        hash != 0 && frame->reader->walk->guessed_frame == 0 && !d->walk->is_careful;
    add_note(frame, &(struct hs_vm_note){ .kind = HS_VM_NOTE_METHOD,
                                          .at = in->bcp,
                                          .method_va = in->method_va,
                                          .expected = hash });
}

/* Finds the method in the table. The frame's words lead to a method that has been there. It still
 * is there if this is a frame: which it is, unless the walk had to guess, or the JVM is just about
 * to make it. That it is the same method, its content says. */
static bool find_known(struct describer *d, struct interpreted *in)
{
    struct hs_java_entry entry;
    if (d->frame->is_exact || d->frame->reader->walk->guessed_frame != 0 || d->walk->is_careful ||
        !hs_java_cache_find(in->bcp, in->method_va, &entry) || entry.id_count != 1 ||
        !is_same_method(in, entry.method)) {
        return false;
    }
    note_method(d, in, entry.method);
    d->frame->ids[d->frame->id_count++] = entry.ids[0];
    return true;
}

static bool describe_interpreted(struct describer *d)
{
    struct hs_vm_frame *frame = d->frame;
    struct interpreted in;
    frame->caller = HS_VM_INTERPRETED;
    bool has_words = read_words(frame, &in);
    if (has_words && find_known(d, &in)) {
        return true;
    }
    if (!has_words || !read_method(&d->memory, &in)) {
        frame->caller = HS_VM_GUESS;
        return add_stub(d, "Interpreter");
    }
    if (!add_method(d, &in.method, in.bci)) {
        return false;
    }
    struct hs_java_entry entry = {
        .pc = in.bcp, .code = in.method_va, .id_count = 1, .ids = { frame->ids[0] }
    };
    entry.method = hs_java_method_hash(&jvm.layout, &d->memory, &in.method);
    note_method(d, &in, entry.method);
    if (entry.method != 0) {
        hs_java_cache_insert(&entry);
    }
    return true;
}

/* The walk that goes on: its first frame of Java begins it. */
static struct hs_java_walk *walk_of(struct hs_thread *thread)
{
    struct hs_java_walk *walk = &thread->java_walk;
    uint64_t number = thread->block->walk_count + 1;
    if (walk->number != number) {
        *walk = (struct hs_java_walk){ .number = number };
        hs_readable_pages_begin(&thread->pages);
    }
    return walk;
}

/* The words of frames that are being made may lead anywhere: the kernel is asked again. */
static void be_careful(struct hs_java_walk *walk)
{
    walk->is_careful = true;
    hs_readable_pages_forget(&hs_tls.self->pages);
}

/* Describes the code at a pc, of which nothing is known yet. */
static bool describe_code(struct describer *d, struct hs_java_entry *entry)
{
    struct hs_vm_frame *frame = d->frame;
    struct hs_code_blob blob;
    if (!hs_code_blob_find(&jvm.layout, &d->memory, &jvm.heaps, frame->pc, &blob)) {
        return false;
    }
    if (blob.kind == HS_BLOB_COMPILED) {
        d->is_lasting = frame->pc != blob.deopt_va[0] && frame->pc != blob.deopt_va[1];
        return describe_compiled(d, &blob);
    }
    d->is_lasting = true;
    if (blob.kind == HS_BLOB_INTERPRETER) {
        entry->step = HS_JAVA_STEP_INTERPRETED;
        return describe_interpreted(d);
    }
    if (hs_text_is_same(blob.name, "DeoptimizationBlob") ||
        hs_text_is_same(blob.name, "UncommonTrapBlob")) {
        entry->step = HS_JAVA_STEP_MAKES_FRAMES;
        be_careful(d->walk);
    }
    frame->caller = frame->pc == jvm.heaps.call_stub_ret        ? HS_VM_FRAME_POINTER
                    : blob.frame_bytes != 0 && !frame->is_exact ? HS_VM_FIXED
                                                                : HS_VM_GUESS;
    frame->frame_bytes = blob.frame_bytes;
    return add_stub(d, blob.name);
}

/* Keeps what was found out for the next walk. */
static void keep(const struct describer *d, struct hs_java_entry *entry)
{
    const struct hs_vm_frame *frame = d->frame;
    entry->caller = (uint8_t)frame->caller;
    entry->frame_bytes = frame->frame_bytes;
    if (entry->step != HS_JAVA_STEP_INTERPRETED) {
        if (frame->id_count > HS_JAVA_CACHE_IDS) {
            return;
        }
        entry->id_count = (uint16_t)frame->id_count;
        for (uint32_t i = 0; i < frame->id_count; i++) {
            entry->ids[i] = frame->ids[i];
        }
    }
    hs_java_cache_insert(entry);
}

static void use(const struct hs_java_entry *entry, struct hs_vm_frame *frame)
{
    frame->caller = (enum hs_vm_caller)entry->caller;
    frame->frame_bytes = entry->frame_bytes;
    frame->id_count = entry->id_count;
    for (uint32_t i = 0; i < entry->id_count; i++) {
        frame->ids[i] = entry->ids[i];
    }
}

bool hs_java_frames_describe(void *ctx, struct hs_vm_frame *frame)
{
    struct describer d = { .frame = frame, .walk = walk_of(hs_tls.self) };
    struct hs_java_entry entry;
    uint64_t code;
    (void)ctx;
    d.memory =
        (struct hs_hotspot_memory){ .read = hs_readable_pages_copy, .ctx = &hs_tls.self->pages };
    frame->id_count = 0;
    if (!hs_java_cache_identify(&jvm.layout, &jvm.heaps, frame->pc, &code)) {
        return false;
    }
    const struct hs_vm_note same_code = { .kind = HS_VM_NOTE_CODE,
                                          .at = frame->pc,
                                          .expected = code };
    if (!frame->is_exact && hs_java_cache_find(frame->pc, code, &entry)) {
        add_note(frame, &same_code);
        if (entry.step == HS_JAVA_STEP_INTERPRETED) {
            return describe_interpreted(&d);
        }
        if (entry.step == HS_JAVA_STEP_MAKES_FRAMES) {
            be_careful(d.walk);
        }
        frame->is_replayable = entry.step != HS_JAVA_STEP_MAKES_FRAMES;
        use(&entry, frame);
        return true;
    }
    add_note(frame, &same_code);
    entry = (struct hs_java_entry){ .pc = frame->pc, .code = code };
    if (!describe_code(&d, &entry)) {
        return false;
    }
    if (d.is_lasting && !frame->is_exact) {
        keep(&d, &entry);
        frame->is_replayable |= entry.step == HS_JAVA_STEP_CALLER;
    }
    return true;
}

bool hs_java_frames_is_same(const struct hs_vm_note *note)
{
    struct interpreted in = { .method_va = note->method_va, .bcp = note->at };
    uint64_t code;
    return note->kind == HS_VM_NOTE_METHOD
               ? is_same_method(&in, note->expected)
               : hs_java_cache_identify(&jvm.layout, &jvm.heaps, note->at, &code) &&
                     code == note->expected;
}
