/*
 * See shell_word.h.
 */
#include "util/shell_word.h"

#include <stdbool.h>
#include <string.h>

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80 || (c != '\0' && strchr("_.+-", c));
}

void hs_shell_escape(char *name)
{
    for (char *c = name; *c; c++) {
        if (!is_plain(*c)) {
            *c = '_';
        }
    }
}

static bool is_plain_word(const char *text)
{
    const char *c = text;
    while (is_plain(*c) || (*c != '\0' && strchr("/,:@%=", *c))) {
        c++;
    }
    return *c == '\0' && text[0] != '\0' && text[0] != '-';
}

const char *hs_shell_word(const char *text, char *ret_word, size_t word_bytes)
{
    bool is_quoted = !is_plain_word(text);
    size_t n = 0;
    const char *dash = text[0] == '-' ? "./" : ""; /* so that it is not taken for an option */
    const char *parts[] = { is_quoted ? "'" : "", dash, text, is_quoted ? "'" : "" };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (const char *c = parts[i]; *c; c++) {
            /* A quote inside quotes: close the quotes, write an escaped quote, open them again. */
            const char *as = i == 2 && *c == '\'' ? "'\\''" : NULL;
            size_t bytes = as ? strlen(as) : 1;
            if (n + bytes < word_bytes) {
                memcpy(ret_word + n, as ? as : c, bytes);
                n += bytes;
            }
        }
    }
    ret_word[n] = '\0';
    return ret_word;
}
