/*
 * Walks through frames of virtual machines, and their replay: the stack that is found is always the
 * one that a walk would find, whatever the machine has done to its code and its functions.
 *
 * The machine of this test has pieces of code, whose frames have a fixed size or a method in their
 * words, and a heap, in which functions are moved and replaced.
 */
#include "unwind/reader.h"
#include "unwind/vm_replay.h"
#include "unwind_world.h"

#define VM           UINT64_C(0x700000)
#define PIECE_BYTES  256U
#define PIECES       4U
#define FIXED_BYTES  32U
#define HEAP_OBJECTS 8U
#define METHODS      4U
#define FIRST_ID     1000U
#define WORDS        64U

static uint64_t piece[PIECES];      /* which code lies there */
static uint32_t heap[HEAP_OBJECTS]; /* which function an object belongs to; UINT32_MAX: to none */
static uint64_t method[METHODS];    /* the content of a method */
static struct hs_vm_replay *replay;
static uint32_t check_count;
static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hs_mix64(random_state) % below);
}

/* --- the machine ------------------------------------------------------------------------------ */

static uint64_t vm_pc(uint32_t i)
{
    return VM + PIECE_BYTES * i + 16;
}

/* The last piece runs methods, the others are compiled code. */
static bool is_interpreter(uint64_t pc)
{
    return (pc - VM) / PIECE_BYTES == PIECES - 1;
}

static bool resolve_vm(void *ctx, uint64_t pc, bool is_exact, struct hs_resolved *ret_resolved)
{
    if (pc - VM < (uint64_t)PIECE_BYTES * PIECES) {
        *ret_resolved = (struct hs_resolved){ .is_vm = true };
        return true;
    }
    bool is_code = resolve(ctx, pc, is_exact, ret_resolved);
    if (is_code && pc - JIT < 4096) {
        ret_resolved->user = JIT_FRAME + (uint32_t)(pc - JIT) / 128;
    }
    return is_code;
}

static uint32_t id_of(uint64_t kind, uint64_t what)
{
    return FIRST_ID + (uint32_t)(kind * 1000 + what);
}

static bool describe_interpreted(struct hs_vm_frame *frame)
{
    uint64_t bp, which;
    if (!hs_vm_frame_bp(frame, &bp) || bp - 8 < frame->sp || bp < 8 ||
        !hs_stack_read(frame->reader, bp - 8, &which) || which >= METHODS) {
        return false;
    }
    frame->caller = HS_VM_INTERPRETED;
    frame->caller_sp = bp + 16;
    frame->ids[frame->id_count++] = id_of(2, method[which]);
    hs_stack_note(frame->reader, &(struct hs_vm_note){ .kind = HS_VM_NOTE_METHOD,
                                                       .method_va = which,
                                                       .expected = method[which] });
    return true;
}

static bool describe(void *ctx, struct hs_vm_frame *frame)
{
    (void)ctx;
    uint64_t code = piece[(frame->pc - VM) / PIECE_BYTES];
    hs_stack_note(frame->reader, &(struct hs_vm_note){
                                     .kind = HS_VM_NOTE_CODE, .at = frame->pc, .expected = code });
    frame->is_replayable = true;
    if (is_interpreter(frame->pc)) {
        return describe_interpreted(frame);
    }
    frame->caller = HS_VM_FIXED;
    frame->frame_bytes = FIXED_BYTES;
    frame->ids[frame->id_count++] = id_of(1, code);
    return true;
}

static bool name_function(struct hs_stack_reader *reader, uint64_t sp, uint64_t bp,
                          bool *ret_is_lasting, uint32_t *ret_user)
{
    uint64_t object;
    (void)ret_is_lasting;
    if (bp - 8 < sp || !hs_stack_peek(reader, bp - 8, &object) || object >= HEAP_OBJECTS) {
        return bp - 8 >= sp && hs_stack_read(reader, bp - 8, &object) && false;
    }
    uint32_t user = heap[object] == UINT32_MAX ? UINT32_MAX : id_of(3, heap[object]);
    hs_stack_note(reader, &(struct hs_vm_note){ .kind = HS_VM_NOTE_FUNCTION,
                                                .at = bp - reader->base_va,
                                                .user = user });
    *ret_user = user != UINT32_MAX ? user : *ret_user;
    return user != UINT32_MAX;
}

static bool check(void *ctx, const struct hs_vm_note *note, uint64_t sp, uint32_t *ret_user)
{
    assert_ptr_equal(ctx, replay);
    check_count++;
    if (note->kind == HS_VM_NOTE_CODE) {
        return piece[(note->at - VM) / PIECE_BYTES] == note->expected;
    }
    if (note->kind == HS_VM_NOTE_METHOD) {
        return method[note->method_va] == note->expected;
    }
    uint64_t object = stack[(sp + note->at - 8 - STACK_VA) / 8];
    if (object >= HEAP_OBJECTS) {
        return false;
    }
    *ret_user = heap[object] == UINT32_MAX ? UINT32_MAX : id_of(3, heap[object]);
    return true;
}

/* --- walking and finding ---------------------------------------------------------------------- */

static int set_up(void **state)
{
    setup(state);
    replay = aligned_alloc(64, sizeof(*replay));
    memset(replay, 0, sizeof(*replay));
    hs_vm_replay_init(replay);
    for (uint32_t i = 0; i < PIECES; i++) {
        piece[i] = i;
    }
    for (uint32_t i = 0; i < HEAP_OBJECTS; i++) {
        heap[i] = i;
    }
    for (uint32_t i = 0; i < METHODS; i++) {
        method[i] = i;
    }
    random_state = 1;
    return 0;
}

static int tear_down(void **state)
{
    HS_ASSERT(hs_vm_replay_is_valid(replay));
    free(replay);
    return teardown(state);
}

static void walk_vm(void)
{
    struct hs_unwinder unwinder = {
        .cache = &cache, .resolve = resolve_vm, .vm_frame = describe, .name_frame = name_function
    };
    struct hs_stack_window window = whole_stack();
    hs_unwind_walk(&unwinder, &start, false, &window, &walk);
}

/* A number that different frames do not share. */
static uint32_t stack_id(void)
{
    uint64_t hash = walk.guessed_frame;
    for (uint32_t i = 0; i < walk.frame_count; i++) {
        hash = hs_hash_step(hash, walk.frames[i] + 1);
    }
    return (uint32_t)(hs_mix64(hash) >> 40);
}

/* Is the stack found? If it is, it is the walked one. Otherwise it is stored. */
static bool find_at(uint64_t generation)
{
    struct hs_stack_window window = whole_stack();
    uint32_t found;
    bool is_found = hs_vm_replay_find(replay, &start, &window, generation, check, replay, &found);
    walk_vm();
    if (is_found) {
        assert_int_equal(found, stack_id());
        assert_true(walk.is_replayable && walk.note_count > 0);
    } else {
        hs_vm_replay_store(replay, &start, &walk, generation, stack_id());
    }
    return is_found;
}

static bool find(void)
{
    return find_at(1);
}

/* --- compiled code ---------------------------------------------------------------------------- */

/* SP16, two compiled frames, TOP. */
static void make_compiled(void)
{
    start.pc = ra(SP16);
    stack[1] = vm_pc(0);
    stack[2 + 3] = vm_pc(1);
    stack[6 + 3] = ra(TOP);
}

static void test_compiled(void **state)
{
    (void)state;
    make_compiled();
    assert_false(find());
    assert_int_equal(walk.end, HS_UNWIND_END);
    assert_int_equal(walk.frame_count, 4);
    assert_int_equal(walk.frames[1], id_of(1, 0));
    assert_true(find());
    stack[2 + 2] = 99; /* rbp in compiled code is data */
    start.bp = 98;
    assert_true(find());
    assert_false(walk.has_used_bp);
    assert_int_equal(walk.word_count, 3);
    stack[2 + 3] = vm_pc(2);
    assert_false(find());
    assert_true(find());
    stack[2 + 3] = vm_pc(1);
    assert_true(find());
    assert_false(find_at(2));
    start.pc = ra(SP48_BX);
    assert_false(find());
}

/* Other code in the place of code that has been freed. */
static void test_code_replaced(void **state)
{
    (void)state;
    make_compiled();
    assert_false(find());
    piece[1] = 77;
    assert_false(find());
    assert_int_equal(walk.frames[2], id_of(1, 77));
    assert_true(find());
    piece[0] = 78;
    assert_false(find());
    assert_true(find());
    piece[0] = 0;
    piece[1] = 1;
    assert_false(find());
    assert_true(find());
}

/* Notes are checked from the innermost frame outwards, up to the first that is wrong: what the
 * outer ones lead to is only there if the inner ones are right. */
static void test_order_of_checks(void **state)
{
    (void)state;
    make_compiled();
    assert_false(find());
    check_count = 0;
    assert_true(find());
    assert_int_equal(check_count, 2);
    piece[0] = 77;
    check_count = 0;
    assert_false(find());
    assert_int_equal(check_count, 1);
}

/* --- interpreted methods ---------------------------------------------------------------------- */

static void test_method_replaced(void **state)
{
    (void)state;
    start.pc = vm_pc(PIECES - 1);
    start.bp = va(4);
    stack[3] = 2;
    stack[4] = va(9);
    stack[5] = vm_pc(0);
    stack[6 + 3] = ra(TOP);
    assert_false(find());
    assert_int_equal(walk.frame_count, 3);
    assert_int_equal(walk.frames[0], id_of(2, 2));
    assert_true(walk.has_used_bp);
    assert_true(find());
    method[2] = 55;
    assert_false(find());
    assert_int_equal(walk.frames[0], id_of(2, 55));
    assert_true(find());
    stack[3] = 1;
    assert_false(find());
    start.bp = va(5);
    stack[4] = 1;
    stack[6] = vm_pc(0);
    assert_false(find());
}

/* --- functions -------------------------------------------------------------------------------- */

/* Two frames with functions, TOP. */
static void make_functions(uint64_t inner, uint64_t outer)
{
    start.pc = JIT + 16;
    start.bp = va(2);
    stack[1] = inner;
    stack[2] = va(6);
    stack[3] = JIT + 100;
    stack[5] = outer;
    stack[6] = va(9);
    stack[7] = ra(TOP);
}

/* The same code runs many functions: the interpreter's. */
static void test_other_function(void **state)
{
    (void)state;
    make_functions(0, 1);
    assert_false(find());
    assert_int_equal(walk.frames[0], id_of(3, 0));
    assert_int_equal(walk.frames[1], id_of(3, 1));
    assert_true(find());
    make_functions(2, 1);
    assert_false(find());
    make_functions(1, 2);
    assert_false(find());
    for (uint32_t i = 0; i < 3; i++) {
        make_functions(0, 1);
        assert_true(find());
        make_functions(2, 1);
        assert_true(find());
        make_functions(1, 2);
        assert_true(find());
    }
    assert_int_equal(replay->path_count, 1);
    make_functions(HEAP_OBJECTS, 1); /* is no object, and so the frame is no function's */
    assert_false(find());
    assert_int_equal(walk.frames[0], JIT_FRAME);
    assert_true(find());
    make_functions(1, HEAP_OBJECTS + 1);
    assert_false(find());
}

/* The collector moves an object, and puts another in its place. */
static void test_moved_function(void **state)
{
    (void)state;
    make_functions(0, 1);
    assert_false(find());
    heap[4] = 0;
    make_functions(4, 1);
    assert_true(find());
    heap[4] = 5;
    assert_false(find());
    assert_int_equal(walk.frames[0], id_of(3, 5));
    assert_true(find());
    heap[4] = UINT32_MAX; /* a function that has no name */
    assert_false(find());
    assert_int_equal(walk.frames[0], JIT_FRAME);
    assert_int_equal(walk.guessed_frame, JIT_FRAME + 1);
    assert_true(find());
    heap[4] = 0;
    assert_true(find());
    assert_int_equal(replay->path_count, 1);
}

/* --- room ------------------------------------------------------------------------------------- */

static void test_not_kept(void **state)
{
    (void)state;
    start.pc = ra(SP16);
    stack[1] = ra(TOP);
    assert_false(find()); /* no frame of a virtual machine */
    assert_false(find());
    /* More notes than a walk has room for. */
    uint32_t frames = HS_VM_NOTES_MAX + 1;
    start.pc = vm_pc(0);
    for (uint32_t i = 0; i < frames; i++) {
        stack[4 * i + 3] = vm_pc(i % 2);
    }
    stack[4 * frames - 1] = ra(TOP);
    assert_false(find());
    assert_false(walk.is_replayable);
    assert_int_equal(walk.note_count, HS_VM_NOTES_MAX);
    assert_false(find());
    assert_int_equal(replay->path_count, 0);
}

/* Path number i: its innermost frame is no function's. */
static void make_path(uint32_t i, uint64_t outer)
{
    make_functions(HEAP_OBJECTS, outer);
    start.sp = STACK_VA + 8 * (i % 2);
    start.pc = JIT + 16 + i / 2;
}

/* When there are too many paths, all are forgotten, and none is taken for another. */
static void test_full(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HS_VM_REPLAY_PATHS * 3 / 2; i++) {
        for (uint32_t outer = 0; outer < 3; outer++) {
            make_path(i, outer);
            assert_false(find());
            assert_true(find());
        }
    }
    assert_int_equal(replay->era, 1);
    for (uint32_t i = HS_VM_REPLAY_PATHS; i > 0; i--) {
        make_path(i - 1, 0);
        assert_false(find());
    }
    hs_vm_replay_forget(replay);
    assert_false(find());
    assert_true(find());
}

/* --- whatever happens ------------------------------------------------------------------------- */

static uint64_t any_word(uint32_t at)
{
    static const enum function kinds[] = { SP16, SP48_BP, BP16, TOP };
    switch (draw(6)) {
    case 0:
        return ra(kinds[draw(HS_COUNT_OF(kinds))]);
    case 1:
        return JIT + 16 + draw(3);
    case 2:
        return draw(HEAP_OBJECTS + 2);
    case 3:
        return va(at + draw(12));
    default:
        return vm_pc(draw(PIECES));
    }
}

static void change_machine(void)
{
    switch (draw(4)) {
    case 0:
        piece[draw(PIECES)] = draw(6);
        break;
    case 1:
        method[draw(METHODS)] = draw(6);
        break;
    default:
        heap[draw(HEAP_OBJECTS)] = draw(4) ? draw(6) : UINT32_MAX;
    }
}

/* A word, the machine, or nothing changes: what is found is what a walk finds. */
static void test_any_change(void **state)
{
    (void)state;
    uint32_t found = 0, rounds = 0;
    for (uint32_t world = 0; world < 400; world++) {
        for (uint32_t i = 0; i < WORDS; i++) {
            stack[i] = any_word(i);
        }
        start = (struct hs_regs){ .pc = any_word(0), .sp = STACK_VA, .bp = va(draw(12)) };
        HS_ASSERT(hs_vm_replay_is_valid(replay));
        for (uint32_t i = 0; i < 400; i++, rounds++) {
            uint32_t at = draw(WORDS);
            uint64_t old = stack[at];
            if (draw(2)) {
                change_machine();
            } else {
                stack[at] = any_word(at);
            }
            found += find_at(1 + world % 2);
            stack[at] = draw(3) ? old : stack[at];
        }
    }
    assert_true(found > rounds / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_compiled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_code_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order_of_checks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_method_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_function, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved_function, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_any_change, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
