/* Tests of util/shell_word: a shell reads the words back as they were, and names are sanitized. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/shell_word.h"

static void test_words(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "/tmp/a-b_c.pftrace", "/tmp/a-b_c.pftrace" },
        { "", "''" },
        { "a b", "'a b'" },
        { "$(reboot);", "'$(reboot);'" },
        { "it's", "'it'\\''s'" },
        { "-x", "'./-x'" },
        { "gr\xc3\xb6\xc3\x9f", "gr\xc3\xb6\xc3\x9f" },
        { "a\nb", "'a\nb'" },
        { "~x", "'~x'" },
    };
    char word[HS_SHELL_WORD_BYTES];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(hs_shell_word(cases[i][0], word, sizeof(word)), cases[i][1]);
    }
}

/* Checks with a real shell. */
static void test_a_shell_reads_them_back(void **state)
{
    (void)state;
    static const char *const texts[] = { "a b",      "$(exit 3)",  "`x`",       "it's '' \"",
                                         "a;b|c&d",  "*?[a]{b,c}", "\\n\\\\",   "#x",
                                         "!history", "<in >out",   "\xff\xfe x" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char word[HS_SHELL_WORD_BYTES], command[HS_SHELL_WORD_BYTES + 64], back[64] = "";
        snprintf(command, sizeof(command), "printf %%s %s",
                 hs_shell_word(texts[i], word, sizeof(word)));
        FILE *shell = popen(command, "r"); /* NOLINT(cert-env33-c): a shell is what is tested */
        assert_non_null(shell);
        size_t bytes = fread(back, 1, sizeof(back) - 1, shell);
        assert_int_equal(pclose(shell), 0);
        assert_int_equal(bytes, strlen(texts[i]));
        assert_string_equal(back, texts[i]);
    }
}

static void test_tame(void **state)
{
    (void)state;
    char name[] = "heapscope.we ird;$(x)'\"\\\n\x1b/\xc3\xb6.1.pftrace";
    hs_shell_escape(name);
    assert_string_equal(name, "heapscope.we_ird___x_______\xc3\xb6.1.pftrace");
}

static void test_cut(void **state)
{
    (void)state;
    char word[6];
    assert_string_equal(hs_shell_word("abcdefgh", word, sizeof(word)), "abcde");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_a_shell_reads_them_back),
        cmocka_unit_test(test_tame),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
