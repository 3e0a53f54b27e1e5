/* Which rules fit into 32 bits and which do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfi_builder.h"
#include "unwind/rule_make.h"

#define CODE UINT64_C(0x401000)
#define ENC  (HS_EH_PE_PCREL | HS_EH_PE_SDATA4)

static struct cfi_builder b;

static void begin(const char *letters)
{
    memset(&b, 0, sizeof(b));
    b.va = 0x500000;
    uint32_t cie_at = open_cie(&b, letters, ENC);
    put_initial(&b);
    close_entry(&b);
    open_fde(&b, cie_at, ENC, CODE, 0x100);
}

static uint32_t rule_at(uint64_t pc, bool is_exact)
{
    struct cfi_builder done = b;
    close_entry(&done);
    put_end(&done);
    struct hs_unwind_module module = { .eh_frame = span_of(&done) };
    return hs_rule_make(&module, pc, is_exact);
}

/* A function whose CFA is reg + off, with rbp saved at CFA - bp_bytes if that is not 0. */
static uint32_t plain(unsigned reg, uint64_t off, uint64_t bp_bytes, bool is_exact)
{
    begin("zR");
    put_u8(&b, CFA_DEF);
    put_uleb(&b, reg);
    put_uleb(&b, off);
    if (bp_bytes) {
        put_u8(&b, CFA_OFFSET_EXTENDED_SF);
        put_uleb(&b, 6);
        put_sleb(&b, (int64_t)bp_bytes / 8);
    }
    return rule_at(CODE + 1, is_exact);
}

static void assert_rule(uint32_t rule, enum hs_rule_kind kind, uint64_t off, uint64_t bp_bytes)
{
    assert_int_equal(hs_rule_kind(rule), kind);
    assert_int_equal(hs_rule_cfa_off(rule), off);
    assert_int_equal(hs_rule_bp_bytes(rule), bp_bytes);
}

static void assert_kind(uint32_t rule, enum hs_rule_kind kind)
{
    assert_int_equal(hs_rule_kind(rule), kind);
}

static void test_pack(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < HS_RULE_KIND_N; kind++) {
        for (uint64_t off = 0; off <= HS_RULE_OFF_MAX_BYTES; off += 8 * 1237) {
            for (uint64_t bp = 0; bp <= HS_RULE_BP_MAX_BYTES; bp += 8) {
                assert_rule(hs_rule_pack((enum hs_rule_kind)kind, off, bp), (enum hs_rule_kind)kind,
                            off, bp);
            }
        }
    }
    assert_rule(hs_rule_pack(HS_RULE_SP, HS_RULE_OFF_MAX_BYTES, HS_RULE_BP_MAX_BYTES), HS_RULE_SP,
                HS_RULE_OFF_MAX_BYTES, HS_RULE_BP_MAX_BYTES);
}

static void test_plain(void **state)
{
    (void)state;
    assert_rule(plain(7, 8, 0, false), HS_RULE_SP, 8, 8);
    assert_rule(plain(7, 48, 16, false), HS_RULE_SP, 48, 16);
    assert_rule(plain(6, 16, 16, false), HS_RULE_BP, 16, 16);
    assert_rule(plain(6, 0, 0, false), HS_RULE_BP, 0, 8);
    assert_rule(plain(7, 280 * 1024, 56, false), HS_RULE_SP, 280 * 1024, 56);
    assert_rule(plain(7, HS_RULE_OFF_MAX_BYTES, HS_RULE_BP_MAX_BYTES, false), HS_RULE_SP,
                HS_RULE_OFF_MAX_BYTES, HS_RULE_BP_MAX_BYTES);
}

static void test_what_does_not_fit(void **state)
{
    (void)state;
    assert_kind(plain(7, HS_RULE_OFF_MAX_BYTES + 8, 0, false), HS_RULE_GENERAL);
    assert_kind(plain(7, 12, 0, false), HS_RULE_GENERAL);
    assert_kind(plain(7, 0, 0, false), HS_RULE_GENERAL);  /* the frame would not advance */
    assert_kind(plain(3, 16, 0, false), HS_RULE_GENERAL); /* rbx */
    assert_kind(plain(10, 0, 0, false), HS_RULE_GENERAL); /* r10 */
    assert_kind(plain(7, 4096, HS_RULE_BP_MAX_BYTES + 8, false), HS_RULE_GENERAL);
    assert_kind(plain(6, 16, 8, false), HS_RULE_GENERAL); /* in the return address's slot */
}

/*
 * A slot below the stack pointer has been popped; only an interrupted frame may still find its
 * value there.
 */
static void test_popped(void **state)
{
    (void)state;
    assert_rule(plain(7, 8, 16, false), HS_RULE_SP, 8, 8);
    assert_kind(plain(7, 8, 16, true), HS_RULE_GENERAL);
}

static void put_op(unsigned op, unsigned operand)
{
    put_u8(&b, op);
    put_uleb(&b, operand);
}

static void test_other_rules(void **state)
{
    (void)state;
    begin("zR");
    put_op(CFA_UNDEFINED, 16);
    assert_kind(rule_at(CODE + 1, false), HS_RULE_END);
    begin("zR");
    put_op(CFA_OFFSET | 16, 2); /* the return address is elsewhere */
    assert_kind(rule_at(CODE + 1, false), HS_RULE_GENERAL);
    begin("zR");
    put_op(CFA_OFFSET | 7, 2); /* rsp is not the CFA */
    assert_kind(rule_at(CODE + 1, false), HS_RULE_GENERAL);
    begin("zR");
    put_op(CFA_UNDEFINED, 6);
    assert_kind(rule_at(CODE + 1, false), HS_RULE_GENERAL);
    begin("zRS");
    assert_kind(rule_at(CODE + 1, false), HS_RULE_GENERAL);
    begin("zR");
    put_u8(&b, 0x3f);
    assert_kind(rule_at(CODE + 1, false), HS_RULE_BAD);
}

static void put_block(const uint8_t *bytes, uint8_t size_bytes)
{
    put_uleb(&b, size_bytes);
    put(&b, bytes, size_bytes);
}

static void test_plt(void **state)
{
    (void)state;
    static const uint8_t plt[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
    begin("zR");
    put_u8(&b, CFA_DEF_EXPRESSION);
    put_block(plt, sizeof(plt));
    for (unsigned i = 0; i < 32; i++) {
        assert_rule(rule_at(CODE + i, true), HS_RULE_SP, i % 16 >= 11 ? 16 : 8, 8);
    }
    for (unsigned cut = 1; cut < sizeof(plt); cut++) {
        begin("zR");
        put_u8(&b, CFA_DEF_EXPRESSION);
        put_block(plt, (uint8_t)(sizeof(plt) - cut));
        assert_kind(rule_at(CODE, true), HS_RULE_GENERAL);
    }
}

static uint32_t drap(unsigned cfa_off_leb, uint8_t deref, uint8_t bp_off_leb)
{
    const uint8_t cfa[] = { 0x76, (uint8_t)cfa_off_leb, deref }, bp[] = { 0x76, bp_off_leb };
    begin("zR");
    put_u8(&b, CFA_DEF_EXPRESSION);
    put_block(cfa, sizeof(cfa));
    put_op(CFA_EXPRESSION, 6);
    put_block(bp, sizeof(bp));
    return rule_at(CODE + 1, false);
}

static void test_drap(void **state)
{
    (void)state;
    assert_rule(drap(0x78, 0x06, 0), HS_RULE_DRAP, 8, 8);
    assert_rule(drap(0x48, 0x06, 0), HS_RULE_DRAP, 56, 8);
    assert_kind(drap(0x08, 0x06, 0), HS_RULE_GENERAL); /* above rbp */
    assert_kind(drap(0x79, 0x06, 0), HS_RULE_GENERAL); /* not aligned */
    assert_kind(drap(0x78, 0x96, 0), HS_RULE_GENERAL); /* not dereferenced */
    assert_kind(drap(0x78, 0x06, 8), HS_RULE_GENERAL); /* rbp is elsewhere */
}

static void test_no_information(void **state)
{
    (void)state;
    begin("zR");
    assert_rule(hs_rule_make(NULL, CODE, false), HS_RULE_FP, 16, 16);
    assert_rule(rule_at(CODE + 0x101, false), HS_RULE_FP, 16, 16);
    /* A return address may be directly behind its function, if the call does not return. */
    assert_kind(rule_at(CODE + 0x100, false), HS_RULE_SP);
    assert_kind(rule_at(CODE + 0x100, true), HS_RULE_FP);
    /* Made by hand: no call leads there. */
    assert_rule(rule_at(CODE, false), HS_RULE_END, 8, 0);
    assert_true(hs_rule_is_made_by_hand(rule_at(CODE, false)));
    assert_kind(rule_at(CODE, true), HS_RULE_SP);
}

/* Two functions without a gap: is the start of the second one a return address? */
static uint32_t rule_between(const char *letters, const uint8_t *code, uint64_t size_bytes)
{
    begin("zR");
    close_entry(&b);
    uint32_t cie_at = open_cie(&b, letters, ENC);
    put_initial(&b);
    close_entry(&b);
    open_fde(&b, cie_at, ENC, CODE + 0x100, 0x20);
    close_entry(&b);
    put_end(&b);
    const struct hs_unwind_module module = { .eh_frame = span_of(&b),
                                             .text = { code, CODE + 0x100 - 8, size_bytes } };
    return hs_rule_make(&module, CODE + 0x100, false);
}

static void test_start_of_a_function(void **state)
{
    (void)state;
    static const uint8_t calls[][8] = {
        { 0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4 },             /* direct call */
        { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, /* call *%rax */
        { 0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd3 }, /* call *%r11 */
        { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x08 }, /* call *8(%rax) */
        { 0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08 }, /* call *8(%rsp) */
        { 0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4 },             /* call *there(%rip) */
        { 0x90, 0xff, 0x94, 0x24, 1, 2, 3, 4 },             /* call *there(%rsp) */
    };
    static const uint8_t other[] = { 0x90, 0x90, 0x0f, 0x1f, 0x40, 0x00, 0x5b, 0xc3 };
    static const uint8_t jump[] = { 0x90, 0x90, 0xff, 0x25, 1, 2, 3, 4 };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        assert_kind(rule_between("zR", calls[i], 8), HS_RULE_SP); /* the call did not return */
    }
    assert_true(hs_rule_is_made_by_hand(rule_between("zR", other, 8)));
    assert_true(hs_rule_is_made_by_hand(rule_between("zR", jump, 8)));
    assert_kind(rule_between("zR", other, 7), HS_RULE_SP);  /* the bytes before it cannot be read */
    assert_kind(rule_between("zRS", other, 8), HS_RULE_SP); /* the kernel returns there */
    static const uint8_t trampoline[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x5b, 0xc3, 0x48,
                                          0xc7, 0xc0, 0x0f, 0,    0,    0,    0x0f, 0x05 };
    assert_kind(rule_between("zR", trampoline, 8), HS_RULE_END);
    assert_kind(rule_between("zR", trampoline, sizeof(trampoline)), HS_RULE_SP);
}

static void test_trampoline(void **state)
{
    (void)state;
    static const uint8_t with_rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    static const uint8_t with_eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    struct hs_unwind_module module = { .text = { with_rax, CODE, sizeof(with_rax) } };
    assert_kind(hs_rule_make(&module, CODE, false), HS_RULE_SIGRETURN);
    assert_kind(hs_rule_make(&module, CODE + 1, false), HS_RULE_FP);
    module.text.size_bytes--;
    assert_kind(hs_rule_make(&module, CODE, false), HS_RULE_FP);
    module.text = (struct hs_span){ with_eax, CODE, sizeof(with_eax) };
    assert_kind(hs_rule_make(&module, CODE, false), HS_RULE_SIGRETURN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_popped),
        cmocka_unit_test(test_other_rules),
        cmocka_unit_test(test_plt),
        cmocka_unit_test(test_drap),
        cmocka_unit_test(test_no_information),
        cmocka_unit_test(test_start_of_a_function),
        cmocka_unit_test(test_trampoline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
