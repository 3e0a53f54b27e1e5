/*
 * A library that is called libjvm.so and exports nothing that debuggers read, and, with its main
 * function, the program that loads it: code in memory without a file allocates.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *not_a_jvm_allocate(void *(*allocate)(size_t));

void *not_a_jvm_allocate(void *(*allocate)(size_t))
{
    /* push %rbp; mov %rsp, %rbp; mov $allocate, %rax; mov $1000, %edi; call *%rax; pop %rbp; ret */
    uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0,    0,    0,    0,   0,
                       0,    0,    0xbf, 0xe8, 0x03, 0,    0, 0xff, 0xd0, 0x5d, 0xc3 };
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code + 6, &allocate, 8);
    memcpy(page, code, sizeof(code));
    void *block = ((void *(*)(void))page)();
    return block ? malloc(2000) : NULL;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *(*call)(void *(*)(size_t)) =
        library ? (void *(*)(void *(*)(size_t)))dlsym(library, "not_a_jvm_allocate") : NULL;
    return call && call(malloc) && call(malloc) ? 0 : 1;
}
