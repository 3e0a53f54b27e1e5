/* Fuzz target: a program's file in which the functions of an allocator are searched. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/inspect/allocator_names.h"
#include "collect/inspect/symbol_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *ctx, const char *name, uint64_t sva, uint64_t size_bytes, unsigned type)
{
    const struct hs_remote_symbol symbol = { .va = sva, .size_bytes = size_bytes, .type = type };
    hs_allocator_names_take(ctx, name, &symbol);
}

static void look(int fd, const char *prefix)
{
    static struct hs_allocator_names names;
    char words[80] = "";
    hs_allocator_names_init(prefix, &names);
    hs_symbol_file_read(fd, take, &names);
    bool is_ok = hs_allocator_names_choose(&names, 0, words, sizeof(words));
    if (is_ok == (words[0] != '\0') || names.chosen_count > names.family_count) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t id[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    look(fd, NULL);
    look(fd, "my_");
    if (hs_symbol_file_build_id(fd, id) > sizeof(id)) {
        abort();
    }
    close(fd);
    return 0;
}
