/*
 * Finds the entry of an address: by the search table, by a scan, in .debug_frame, and in each
 * pointer encoding.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cfi_builder.h"
#include "unwind/cfi.h"

#define CODE  UINT64_C(0x401000)
#define ENC   (HS_EH_PE_PCREL | HS_EH_PE_SDATA4)
#define COUNT 5U

static struct cfi_builder frame, hdr;

/* Functions of 16 bytes, 32 apart. */
static uint64_t function_va(uint32_t i)
{
    return CODE + 32 * i;
}

static void build_functions(void)
{
    uint32_t fde_at[COUNT];
    memset(&frame, 0, sizeof(frame));
    memset(&hdr, 0, sizeof(hdr));
    frame.va = 0x501000;
    hdr.va = 0x500000;
    uint32_t cie_at = put_cie(&frame);
    for (uint32_t i = 0; i < COUNT; i++) {
        fde_at[i] = open_fde(&frame, cie_at, ENC, function_va(i), 16);
        put_u8(&frame, CFA_DEF_OFFSET);
        put_uleb(&frame, 8 * (i + 1));
        close_entry(&frame);
    }
    put_end(&frame);
    put_u8(&hdr, 1);
    put_u8(&hdr, ENC);
    put_u8(&hdr, HS_EH_PE_UDATA4);
    put_u8(&hdr, HS_EH_PE_DATAREL | HS_EH_PE_SDATA4);
    put_pointer(&hdr, ENC, frame.va);
    put_uint(&hdr, COUNT, 4);
    for (uint32_t i = 0; i < COUNT; i++) {
        put_uint(&hdr, function_va(i) - hdr.va, 4);
        put_uint(&hdr, frame.va + fde_at[i] - hdr.va, 4);
    }
}

/* The CFA offset for va; negative: the error. */
static int cfa_off_at(const struct hs_unwind_module *module, uint64_t va)
{
    struct hs_cfi_fde fde;
    struct hs_cfi_row row;
    int err = hs_eh_find(module, va, &fde);
    err = err ? err : hs_cfi_row_at(&fde, va, &row);
    return err ? err : row.cfa_value;
}

static void assert_finds_all(const struct hs_unwind_module *module)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(cfa_off_at(module, function_va(i)), 8 * (i + 1));
        assert_int_equal(cfa_off_at(module, function_va(i) + 15), 8 * (i + 1));
        assert_int_equal(cfa_off_at(module, function_va(i) + 16), -ENOENT);
    }
    assert_int_equal(cfa_off_at(module, CODE - 1), -ENOENT);
    assert_int_equal(cfa_off_at(module, 0), -ENOENT);
    assert_int_equal(cfa_off_at(module, UINT64_MAX), -ENOENT);
}

static void test_table(void **state)
{
    (void)state;
    build_functions();
    struct hs_unwind_module module = { .eh_hdr = span_of(&hdr), .eh_frame = span_of(&frame) };
    assert_finds_all(&module);
}

static void test_no_table(void **state)
{
    (void)state;
    build_functions();
    hdr.bytes[2] = HS_EH_PE_OMIT;
    hdr.bytes[3] = HS_EH_PE_OMIT;
    struct hs_unwind_module module = { .eh_hdr = span_of(&hdr), .eh_frame = span_of(&frame) };
    assert_finds_all(&module);
    /* The span may begin before the section, because a whole segment is given. */
    struct cfi_builder segment = { .va = frame.va - 64, .size_bytes = 64 };
    memset(segment.bytes, 0xff, 64);
    put(&segment, frame.bytes, frame.size_bytes);
    module.eh_frame = span_of(&segment);
    assert_finds_all(&module);
    module.eh_hdr = (struct hs_span){ 0 };
    module.eh_frame_va = frame.va;
    assert_finds_all(&module);
}

static void test_no_hdr(void **state)
{
    (void)state;
    build_functions();
    struct hs_unwind_module module = { .eh_frame = span_of(&frame) };
    assert_finds_all(&module);
    assert_int_equal(cfa_off_at(&(struct hs_unwind_module){ 0 }, CODE), -ENOENT);
}

static void test_bad_table(void **state)
{
    (void)state;
    build_functions();
    struct cfi_builder good = hdr;
    struct hs_unwind_module module = { .eh_hdr = span_of(&hdr), .eh_frame = span_of(&frame) };
    hdr.bytes[0] = 2; /* version */
    assert_int_equal(cfa_off_at(&module, CODE), -EBADMSG);
    hdr = good;
    memset(hdr.bytes + 8, 0xff, 4); /* count */
    assert_int_equal(cfa_off_at(&module, CODE), -EBADMSG);
    hdr = good;
    memset(hdr.bytes + 16, 0x7f, 4); /* the first entry's offset, far outside */
    assert_int_equal(cfa_off_at(&module, CODE), -EBADMSG);
    hdr = good;
    memset(hdr.bytes + 8, 0, 4); /* an empty table */
    assert_int_equal(cfa_off_at(&module, CODE), -ENOENT);
    for (uint32_t size_bytes = 1; size_bytes < good.size_bytes; size_bytes++) {
        module.eh_hdr.size_bytes = size_bytes;
        hdr = good;
        assert_int_equal(cfa_off_at(&module, CODE), -EBADMSG);
    }
}

static void assert_encoding(uint8_t encoding, uint64_t code_va, uint64_t frame_va)
{
    struct cfi_builder b = { .va = frame_va };
    uint32_t cie_at = open_cie(&b, "zR", encoding);
    put_initial(&b);
    close_entry(&b);
    open_fde(&b, cie_at, encoding, code_va, 100);
    close_entry(&b);
    put_end(&b);
    struct hs_unwind_module module = { .eh_frame = span_of(&b) };
    assert_int_equal(cfa_off_at(&module, code_va), 8);
    assert_int_equal(cfa_off_at(&module, code_va + 99), 8);
    assert_int_equal(cfa_off_at(&module, code_va + 100), -ENOENT);
    assert_int_equal(cfa_off_at(&module, code_va - 1), -ENOENT);
}

static void test_encodings(void **state)
{
    (void)state;
    static const uint8_t formats[] = { HS_EH_PE_ABSPTR,  HS_EH_PE_UDATA4, HS_EH_PE_UDATA8,
                                       HS_EH_PE_SDATA4,  HS_EH_PE_SDATA8, HS_EH_PE_ULEB128,
                                       HS_EH_PE_SLEB128, HS_EH_PE_ALIGNED };
    for (size_t i = 0; i < sizeof(formats); i++) {
        assert_encoding(formats[i], 0x401000, 0x500000);
    }
    static const uint8_t relative[] = { HS_EH_PE_SDATA4, HS_EH_PE_SDATA8, HS_EH_PE_SLEB128,
                                        HS_EH_PE_ABSPTR };
    for (size_t i = 0; i < sizeof(relative); i++) {
        assert_encoding(HS_EH_PE_PCREL | relative[i], UINT64_C(0x7f0000401000),
                        UINT64_C(0x7f0000500000));
    }
    assert_encoding(HS_EH_PE_UDATA2, 0x4010, 0x8000);
    assert_encoding(HS_EH_PE_SDATA2, 0x4010, 0x8000);
    assert_encoding(HS_EH_PE_PCREL | HS_EH_PE_SDATA2, 0x401000, 0x402000);
}

/* Absolute addresses in a file that was not relocated. */
static void test_bias(void **state)
{
    (void)state;
    struct cfi_builder b = { .va = 0x7f0000001000 };
    uint32_t cie_at = open_cie(&b, "zR", HS_EH_PE_ABSPTR);
    put_initial(&b);
    close_entry(&b);
    open_fde(&b, cie_at, HS_EH_PE_ABSPTR, CODE, 100);
    close_entry(&b);
    struct hs_unwind_module module = { .eh_frame = span_of(&b), .eh_bias = 0x7f0000000000 };
    assert_int_equal(cfa_off_at(&module, CODE), -ENOENT);
    assert_int_equal(cfa_off_at(&module, 0x7f0000000000 + CODE), 8);
}

static void test_augmentations(void **state)
{
    (void)state;
    static const char *const letters[] = { "", "zR", "zRS", "zRB", "zLR", "zRSL", "zR?" };
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
        struct cfi_builder b = { .va = 0x500000 };
        struct hs_cfi_fde fde;
        uint8_t encoding = letters[i][0] ? ENC : HS_EH_PE_ABSPTR;
        uint32_t cie_at = open_cie(&b, letters[i], encoding);
        put_initial(&b);
        close_entry(&b);
        open_fde(&b, cie_at, encoding, CODE, 100);
        if (!letters[i][0]) {
            b.size_bytes--; /* without 'z' there is no augmentation data and no length of it */
        }
        put_u8(&b, CFA_DEF_OFFSET);
        put_uleb(&b, 72);
        close_entry(&b);
        put_end(&b);
        struct hs_unwind_module module = { .eh_frame = span_of(&b) };
        assert_int_equal(cfa_off_at(&module, CODE), 72);
        assert_int_equal(hs_eh_find(&module, CODE, &fde), 0);
        assert_int_equal(fde.cie.is_signal, strchr(letters[i], 'S') != NULL);
    }
}

/* A personality routine has a pointer in one of the formats, which the parser must skip. */
static void test_personality(void **state)
{
    (void)state;
    static const uint8_t encodings[] = {
        HS_EH_PE_ABSPTR,
        HS_EH_PE_UDATA4,
        HS_EH_PE_ALIGNED,
        HS_EH_PE_INDIRECT | HS_EH_PE_PCREL | HS_EH_PE_SDATA4,
        HS_EH_PE_PCREL | HS_EH_PE_SLEB128,
        HS_EH_PE_DATAREL | HS_EH_PE_SDATA2,
    };
    for (size_t i = 0; i < sizeof(encodings); i++) {
        struct cfi_builder blob = { .va = 0 }, b = { .va = 0x500000 };
        open_entry(&b);
        put_uint(&b, 0, 4);
        put_u8(&b, 1);
        put(&b, "zPR", 4);
        put_uleb(&b, 1);
        put_sleb(&b, -8);
        put_u8(&b, 16);
        blob.va = here_va(&b) + 1; /* behind the length, which takes one byte */
        put_u8(&blob, encodings[i]);
        put_pointer(&blob, encodings[i] & 0x7f, 0x1234);
        put_u8(&blob, ENC);
        put_uleb(&b, blob.size_bytes);
        put(&b, blob.bytes, blob.size_bytes);
        put_initial(&b);
        close_entry(&b);
        open_fde(&b, 0, ENC, CODE, 100);
        close_entry(&b);
        struct hs_unwind_module module = { .eh_frame = span_of(&b) };
        assert_int_equal(cfa_off_at(&module, CODE), 8);
    }
}

static void test_foreign_cies(void **state)
{
    (void)state;
    /* The scan skips entries that are not supported, and a lookup of them fails. */
    static const struct {
        uint8_t version, ra_reg;
        const char *letters;
    } foreign[] = { { 2, 16, "" }, { 1, 8, "" }, { 1, 16, "eh" } };
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        struct cfi_builder b = { .va = 0x500000 };
        open_entry(&b);
        put_uint(&b, 0, 4);
        put_u8(&b, foreign[i].version);
        put(&b, foreign[i].letters, strlen(foreign[i].letters) + 1);
        put_uleb(&b, 1);
        put_sleb(&b, -8);
        put_u8(&b, foreign[i].ra_reg);
        close_entry(&b);
        open_fde(&b, 0, HS_EH_PE_ABSPTR, CODE, 16);
        close_entry(&b);
        open_fde(&b, put_cie(&b), ENC, CODE + 16, 16);
        close_entry(&b);
        put_end(&b);
        struct hs_unwind_module module = { .eh_frame = span_of(&b) };
        assert_int_equal(cfa_off_at(&module, CODE), -ENOENT);
        assert_int_equal(cfa_off_at(&module, CODE + 16), 8);
    }
}

/* .debug_frame: 32 and 64 bit, CIE versions 3 and 4, link-time addresses. */
static void build_debug(struct cfi_builder *b, bool is_64, uint8_t version)
{
    uint32_t at;
    for (int is_fde = 0; is_fde < 2; is_fde++) {
        if (is_64) {
            put_uint(b, 0xffffffff, 4);
        }
        at = b->size_bytes;
        put_uint(b, 0, is_64 ? 8 : 4);
        uint32_t body_at = b->size_bytes;
        put_uint(b, is_fde ? 0 : UINT64_MAX, is_64 ? 8 : 4);
        if (is_fde) {
            put_uint(b, CODE, 8);
            put_uint(b, 100, 8);
            put_u8(b, CFA_DEF_OFFSET);
            put_uleb(b, 88);
        } else {
            put_u8(b, version);
            put_u8(b, 0);
            if (version == 4) {
                put_u8(b, 8);
                put_u8(b, 0);
            }
            put_uleb(b, 1);
            put_sleb(b, -8);
            put_uleb(b, 16);
            put_initial(b);
        }
        uint64_t length = b->size_bytes - body_at;
        memcpy(b->bytes + at, &length, is_64 ? 8 : 4);
    }
}

static void test_debug_frame(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct cfi_builder b = { .va = 0 };
        build_debug(&b, i & 1, i & 2 ? 4 : 3);
        struct hs_unwind_module module = { .debug_frame = span_of(&b), .bias = 0x10000 };
        assert_int_equal(cfa_off_at(&module, CODE + 0x10000), 88);
        assert_int_equal(cfa_off_at(&module, CODE), -ENOENT);
        /*
         * .eh_frame comes first; .debug_frame is searched for addresses that .eh_frame does not
         * cover.
         */
        build_functions();
        module.eh_frame = span_of(&frame);
        module.bias = 0;
        assert_int_equal(cfa_off_at(&module, CODE), 8);
        assert_int_equal(cfa_off_at(&module, CODE + 20), 88);
    }
}

static void test_circular(void **state)
{
    (void)state;
    /* An FDE that is its own CIE, and one whose CIE is an FDE. */
    struct cfi_builder b = { .va = 0x500000 };
    open_entry(&b);
    put_uint(&b, 4, 4);
    put_uint(&b, 0, 8);
    close_entry(&b);
    open_fde(&b, 0, HS_EH_PE_ABSPTR, CODE, 100);
    close_entry(&b);
    struct hs_unwind_module module = { .eh_frame = span_of(&b) };
    assert_int_equal(cfa_off_at(&module, CODE), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),         cmocka_unit_test(test_no_table),
        cmocka_unit_test(test_no_hdr),        cmocka_unit_test(test_bad_table),
        cmocka_unit_test(test_encodings),     cmocka_unit_test(test_bias),
        cmocka_unit_test(test_augmentations), cmocka_unit_test(test_personality),
        cmocka_unit_test(test_foreign_cies),  cmocka_unit_test(test_debug_frame),
        cmocka_unit_test(test_circular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
