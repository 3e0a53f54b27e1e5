/*
 * debug_image.c: which sections are unpacked, that they equal the original, and which files are
 * left to libdw.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>

#include "packed_elf.h"
#include "symbol/debug_image.h"

static uint8_t info[5000], lines[3000];

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(info); i++) {
        info[i] = (uint8_t)(i * i / 7);
    }
    memset(lines, 'x', sizeof(lines));
    return 0;
}

static int make(struct packed_elf *elf, struct hs_debug_image *ret_image)
{
    struct hs_elf_file file;
    packed_elf_end(elf);
    assert_int_equal(hs_elf_file_open_image(elf->bytes, elf->count, "test", &file), 0);
    int err = hs_debug_image_make(&file, ret_image);
    hs_elf_file_close(&file);
    return err;
}

/* The bytes of a section; NULL: the file has no such section. */
static const void *section_of(const struct hs_debug_image *image, const char *name,
                              GElf_Shdr *ret_shdr)
{
    const struct hs_elf_file file = { .elf = image->elf, .fd = -1 };
    Elf_Scn *scn = hs_elf_file_section(&file, name);
    Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
    if (!data || !gelf_getshdr(scn, ret_shdr)) {
        return NULL;
    }
    assert_int_equal(data->d_size, ret_shdr->sh_size);
    return data->d_buf;
}

static void assert_section(const struct hs_debug_image *image, const char *name, const void *bytes,
                           size_t count)
{
    GElf_Shdr shdr;
    const void *got = section_of(image, name, &shdr);
    assert_non_null(got);
    assert_int_equal(shdr.sh_size, count);
    assert_int_equal(shdr.sh_flags & SHF_COMPRESSED, 0);
    assert_memory_equal(got, bytes, count);
}

static void wanted_sections_only(void **state)
{
    (void)state;
    struct packed_elf elf;
    struct hs_debug_image image;
    GElf_Shdr shdr;
    packed_elf_begin(&elf);
    packed_elf_add(&elf, ".text", "code", 4);
    packed_elf_pack(&elf, ".debug_loclists", lines, sizeof(lines), sizeof(lines));
    packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizeof(info));
    packed_elf_add(&elf, ".debug_abbrev", "abbreviations", 13);
    packed_elf_pack(&elf, ".debug_line", lines, sizeof(lines), sizeof(lines));
    packed_elf_add(&elf, ".debug_str", "", 0);
    packed_elf_add(&elf, ".debug_ranges", "gone", 4)->sh_type = SHT_NOBITS;
    packed_elf_pack(&elf, ".debug_rnglists", "r", 1, 1);
    assert_int_equal(make(&elf, &image), 0);
    assert_section(&image, ".debug_info", info, sizeof(info));
    assert_section(&image, ".debug_line", lines, sizeof(lines));
    assert_section(&image, ".debug_abbrev", "abbreviations", 13);
    assert_section(&image, ".debug_rnglists", "r", 1);
    const char *absent[] = { ".text", ".debug_loclists", ".debug_ranges", ".debug_str" };
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        assert_null(section_of(&image, absent[i], &shdr));
    }
    hs_debug_image_close(&image);
    hs_debug_image_close(&image);
}

static void nothing_packed(void **state)
{
    (void)state;
    struct packed_elf elf;
    struct hs_debug_image image;
    packed_elf_begin(&elf);
    packed_elf_add(&elf, ".debug_info", info, sizeof(info));
    packed_elf_pack(&elf, ".debug_loclists", lines, sizeof(lines), sizeof(lines));
    assert_int_equal(make(&elf, &image), -ENOENT);
}

/* libdw handles these files itself. */
static void unusual_files(void **state)
{
    (void)state;
    static const char *const names[] = { ".zdebug_line", ".debug_info.dwo", ".debug_addr",
                                         ".gnu.debuglto_.debug_info" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct packed_elf elf;
        struct hs_debug_image image;
        packed_elf_begin(&elf);
        packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizeof(info));
        packed_elf_add(&elf, names[i], "some", 4);
        assert_int_equal(make(&elf, &image), -ENOTSUP);
    }
    struct packed_elf elf;
    struct hs_debug_image image;
    packed_elf_begin(&elf);
    packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizeof(info))->ch_type = 2; /* zstd */
    assert_int_equal(make(&elf, &image), -ENOTSUP);
    packed_elf_begin(&elf);
    packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizeof(info));
    elf.shdrs[1].sh_type = SHT_HASH;
    assert_int_equal(make(&elf, &image), -ENOTSUP);
    packed_elf_begin(&elf);
    for (int i = 0; i < 20; i++) {
        packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizeof(info));
    }
    assert_int_equal(make(&elf, &image), 0);
    hs_debug_image_close(&image);
}

static void wrong_sizes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {
        0, 1, sizeof(info) - 1, sizeof(info) + 1, UINT64_C(1) << 28, UINT64_C(1) << 40, UINT64_MAX,
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct packed_elf elf;
        struct hs_debug_image image;
        packed_elf_begin(&elf);
        packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizes[i]);
        assert_int_equal(make(&elf, &image), -ENOTSUP);
    }
}

/*
 * Other programs may be unable to read zstd, so such files are unpacked whatever else they contain.
 */
static void zstd(void **state)
{
    (void)state;
    struct packed_elf elf;
    struct hs_debug_image image;
    packed_elf_begin(&elf);
    packed_elf_add(&elf, ".debug_info", info, 9);
    packed_elf_pack_zstd(&elf, ".debug_line", lines, sizeof(lines), sizeof(lines));
    packed_elf_pack_zstd(&elf, ".debug_str", info, sizeof(info), sizeof(info));
    packed_elf_pack(&elf, ".debug_abbrev", info, sizeof(info), sizeof(info));
    packed_elf_pack_zstd(&elf, ".debug_addr", "r", 1, 1);
    assert_int_equal(make(&elf, &image), 0);
    assert_section(&image, ".debug_info", info, 9);
    assert_section(&image, ".debug_line", lines, sizeof(lines));
    assert_section(&image, ".debug_str", info, sizeof(info));
    assert_section(&image, ".debug_abbrev", info, sizeof(info));
    assert_section(&image, ".debug_addr", "r", 1);
    hs_debug_image_close(&image);

    static const uint64_t sizes[] = {
        0, 1, sizeof(info) - 1, sizeof(info) + 1, UINT64_C(1) << 28, UINT64_C(1) << 40, UINT64_MAX,
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        packed_elf_begin(&elf);
        packed_elf_pack_zstd(&elf, ".debug_info", info, sizeof(info), sizes[i]);
        assert_int_equal(make(&elf, &image), -ENOTSUP);
    }
    for (size_t at = 0; at < 300; at += 7) {
        packed_elf_begin(&elf);
        uint8_t *head =
            (uint8_t *)packed_elf_pack_zstd(&elf, ".debug_info", info, sizeof(info), sizeof(info));
        head[sizeof(Elf64_Chdr) + at] ^= 0x5a;
        int err = make(&elf, &image);
        assert_true(err == 0 || err == -ENOTSUP);
        if (err == 0) { /* zstd has no checksum here: the result is other bytes of the same
                         * number */
            hs_debug_image_close(&image);
        }
    }
}

static void said_to_be_unreadable(void **state)
{
    (void)state;
    for (unsigned is_broken = 0; is_broken < 2; is_broken++) {
        struct packed_elf elf;
        struct hs_elf_file file;
        packed_elf_begin(&elf);
        packed_elf_pack_zstd(&elf, ".debug_info", info, sizeof(info), sizeof(info) + is_broken);
        packed_elf_end(&elf);
        assert_int_equal(hs_elf_file_open_image(elf.bytes, elf.count, "test", &file), 0);
        assert_true(hs_debug_image_is_unreadable(&file) == (is_broken != 0));
        hs_elf_file_close(&file);
    }
}

static void broken_bytes(void **state)
{
    (void)state;
    for (size_t back = 1; back < 200; back += 9) {
        struct packed_elf elf;
        struct hs_debug_image image;
        packed_elf_begin(&elf);
        packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizeof(info));
        elf.bytes[elf.count - back] ^= 0x10;
        assert_int_equal(make(&elf, &image), -ENOTSUP);
    }
    struct packed_elf elf;
    struct hs_debug_image image;
    packed_elf_begin(&elf);
    packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizeof(info));
    elf.shdrs[1].sh_size = sizeof(Elf64_Chdr);
    assert_int_equal(make(&elf, &image), -ENOTSUP);
    /* A section beyond the end of the file. */
    packed_elf_begin(&elf);
    packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizeof(info));
    elf.shdrs[1].sh_size = PACKED_ELF_MAX_BYTES;
    assert_int_equal(make(&elf, &image), -ENOTSUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wanted_sections_only),
        cmocka_unit_test(nothing_packed),
        cmocka_unit_test(unusual_files),
        cmocka_unit_test(wrong_sizes),
        cmocka_unit_test(zstd),
        cmocka_unit_test(said_to_be_unreadable),
        cmocka_unit_test(broken_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
