/*
 * Prints the lengths of instructions according to src/arch/x86_64/insn.c, for test_insn_objdump.py:
 * insn_tool FILE. Standard input has one offset in the file per line. Prints one length per line;
 * 0: unknown.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "arch/insn.h"

int main(int argc, char **argv)
{
    struct stat st;
    char line[64];
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        return 2;
    }
    const uint8_t *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
        return 2;
    }
    while (fgets(line, sizeof(line), stdin)) {
        size_t off = strtoull(line, NULL, 16);
        struct hs_insn insn = { 0 };
        if (off >= (size_t)st.st_size ||
            !hs_insn_decode(bytes + off, (size_t)st.st_size - off, &insn)) {
            insn.length_bytes = 0;
        }
        printf("%u\n", insn.length_bytes);
    }
    return 0;
}
