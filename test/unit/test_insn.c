/*
 * Instructions: their lengths, their targets, which ones name memory; and that no byte behind the
 * last one is read.
 *
 * test/e2e/test_insn_objdump.py compares whole libraries with objdump.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/insn.h"
#include "rt/base.h"

struct example {
    const char *text;
    const char *code;
    uint8_t cap_bytes;
    uint8_t length_bytes; /* 0: not known */
    uint8_t kind;
    uint8_t memory_off;
    int32_t target_off;
};

#define CODE(bytes) (bytes), sizeof(bytes) - 1

static const struct example examples[] = {
    { "endbr64", CODE("\xf3\x0f\x1e\xfa"), 4, HS_INSN_PLAIN, 0, 0 },
    { "push %r15", CODE("\x41\x57"), 2, HS_INSN_PLAIN, 0, 0 },
    { "mov 0x10(%rip),%rax", CODE("\x48\x8b\x05\x10\0\0\0"), 7, HS_INSN_PLAIN, 3, 0 },
    { "cmpq $1,0x10(%rip)", CODE("\x48\x83\x3d\x10\0\0\0\x01"), 8, HS_INSN_PLAIN, 3, 0 },
    { "cmpl $1,0x10(%rip)", CODE("\x81\x3d\x10\0\0\0\1\0\0\0"), 10, HS_INSN_PLAIN, 2, 0 },
    { "mov %fs:(%rax),%r8", CODE("\x64\x4c\x8b\x00"), 4, HS_INSN_PLAIN, 0, 0 },
    { "mov %fs:0x28,%rax", CODE("\x64\x48\x8b\x04\x25\x28\0\0\0"), 9, HS_INSN_PLAIN, 0, 0 },
    { "movabs $1,%rcx", CODE("\x48\xb9\1\0\0\0\0\0\0\0"), 10, HS_INSN_PLAIN, 0, 0 },
    { "mov $1,%cx", CODE("\x66\xb9\1\0"), 4, HS_INSN_PLAIN, 0, 0 },
    { "cmp $0x1000,%ax", CODE("\x66\x3d\0\x10"), 4, HS_INSN_PLAIN, 0, 0 },
    { "test $1,%al: f6 with a byte", CODE("\xf6\xc0\x01"), 3, HS_INSN_PLAIN, 0, 0 },
    { "neg %al: f6 without", CODE("\xf6\xd8"), 2, HS_INSN_PLAIN, 0, 0 },
    { "testl $1,(%rdi)", CODE("\xf7\x07\1\0\0\0"), 6, HS_INSN_PLAIN, 0, 0 },
    { "lea 8(%rsp,%rax,4),%rcx", CODE("\x48\x8d\x4c\x84\x08"), 5, HS_INSN_PLAIN, 0, 0 },
    { "mov 0(,%rax,8),%rcx", CODE("\x48\x8b\x0c\xc5\0\0\0\0"), 8, HS_INSN_PLAIN, 0, 0 },
    { "ja +0x10", CODE("\x77\x10"), 2, HS_INSN_BRANCH, 0, 0x10 },
    { "je -2", CODE("\x74\xfe"), 2, HS_INSN_BRANCH, 0, -2 },
    { "ja +0x93", CODE("\x0f\x87\x93\0\0\0"), 6, HS_INSN_BRANCH, 0, 0x93 },
    { "jmp -5", CODE("\xe9\xfb\xff\xff\xff"), 5, HS_INSN_JUMP, 0, -5 },
    { "jmp +1", CODE("\xeb\x01"), 2, HS_INSN_JUMP, 0, 1 },
    { "jrcxz +1", CODE("\xe3\x01"), 2, HS_INSN_BRANCH_ODD, 0, 1 },
    { "call +8", CODE("\xe8\x08\0\0\0"), 5, HS_INSN_CALL, 0, 8 },
    { "data16 data16 rex.W call", CODE("\x66\x66\x48\xe8\x08\0\0\0"), 8, HS_INSN_CALL, 0, 8 },
    { "call of half a target", CODE("\x66\xe8\x08\0\0\0"), 0, 0, 0, 0 },
    { "call *%rax", CODE("\xff\xd0"), 2, HS_INSN_CALL_INDIRECT, 0, 0 },
    { "call *8(%rip)", CODE("\xff\x15\x08\0\0\0"), 6, HS_INSN_CALL_INDIRECT, 2, 0 },
    { "bnd jmp *8(%rip)", CODE("\xf2\xff\x25\x08\0\0\0"), 7, HS_INSN_JUMP_INDIRECT, 3, 0 },
    { "push (%rax)", CODE("\xff\x30"), 2, HS_INSN_PLAIN, 0, 0 },
    { "ret", CODE("\xc3"), 1, HS_INSN_END, 0, 0 },
    { "repz ret", CODE("\xf3\xc3"), 2, HS_INSN_END, 0, 0 },
    { "ud2", CODE("\x0f\x0b"), 2, HS_INSN_END, 0, 0 },
    { "xbegin +4", CODE("\xc7\xf8\x04\0\0\0"), 6, HS_INSN_BRANCH_ODD, 0, 4 },
    { "vzeroupper", CODE("\xc5\xf8\x77"), 3, HS_INSN_PLAIN, 0, 0 },
    { "vmovdqu (%rdi),%ymm0", CODE("\xc5\xfe\x6f\x07"), 4, HS_INSN_PLAIN, 0, 0 },
    { "vpalignr $1,...", CODE("\xc4\xe3\x71\x0f\xc2\x01"), 6, HS_INSN_PLAIN, 0, 0 },
    { "vmovdqu64 (%rdi),%zmm16", CODE("\x62\xe1\xfe\x48\x6f\x07"), 6, HS_INSN_PLAIN, 0, 0 },
    { "pshufb 8(%rip),%xmm0", CODE("\x66\x0f\x38\x00\x05\x08\0\0\0"), 9, HS_INSN_PLAIN, 5, 0 },
    { "palignr $4,8(%rip),%xmm0", CODE("\x66\x0f\x3a\x0f\x05\x08\0\0\0\x04"), 10, HS_INSN_PLAIN, 5,
      0 },
    { "xgetbv", CODE("\x0f\x01\xd0"), 3, HS_INSN_PLAIN, 0, 0 },
    { "enter", CODE("\xc8\x10\0\0"), 4, HS_INSN_PLAIN, 0, 0 },
    { "movabs 0x8,%al", CODE("\xa0\x08\0\0\0\0\0\0\0"), 9, HS_INSN_PLAIN, 0, 0 },
    { "push %es: not in 64 bits", CODE("\x06"), 0, 0, 0, 0 },
    { "a prefix behind REX", CODE("\x48\x66\x90"), 0, 0, 0, 0 },
    { "relative to eip", CODE("\x67\x8b\x05\x10\0\0\0"), 0, 0, 0, 0 },
    { "nothing but prefixes",
      CODE("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90"), 0, 0, 0, 0 },
};

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(examples); i++) {
        const struct example *e = &examples[i];
        struct hs_insn insn = { 0 };
        bool is_known = hs_insn_decode((const uint8_t *)e->code, e->cap_bytes, &insn);
        if (is_known != (e->length_bytes > 0) || insn.length_bytes != e->length_bytes ||
            insn.kind != e->kind || insn.memory_off != e->memory_off ||
            insn.target_off != e->target_off) {
            fail_msg("%s: known %d, %u bytes, kind %u, memory at %u, target %d", e->text, is_known,
                     insn.length_bytes, insn.kind, insn.memory_off, insn.target_off);
        }
    }
}

/* Cut at any place, each instruction is unknown: bytes behind the end do not count. */
static void test_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(examples); i++) {
        for (uint8_t n = 0; n < examples[i].length_bytes; n++) {
            struct hs_insn insn;
            assert_false(hs_insn_decode((const uint8_t *)examples[i].code, n, &insn));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_examples),
                                        cmocka_unit_test(test_cut) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
