/*
 * A program for which libc loads a library: iconv's module for the character set GREEDY, which
 * test_attach.py builds from greedy_module.c. Lines on standard input: "open" loads it, "convert"
 * uses it 50 times.
 */
#include <iconv.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char line[64];
    iconv_t converter = (iconv_t)-1;
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, "open\n") == 0) {
            converter = iconv_open("UTF-8", "GREEDY");
        }
        for (int i = 0; strcmp(line, "convert\n") == 0 && i < 50; i++) {
            char in[] = "text", out[64];
            char *from = in, *to = out;
            size_t in_left = 4, out_left = sizeof(out);
            iconv(converter, &from, &in_left, &to, &out_left);
        }
        puts(converter == (iconv_t)-1 ? "failed" : "ok");
        fflush(stdout);
    }
    return 0;
}
