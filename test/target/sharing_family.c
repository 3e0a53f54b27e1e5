/*
 * Five processes share memory: sharing_family FILE. A parent maps FILE and 4 MiB of anonymous
 * memory, forks four children, and each child reads all of both. Each has 1 MiB of its own, too.
 * The parent prints "ready" when all have done so. They end when its standard input does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB      (1UL << 20)
#define CHILDREN 4

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *map(size_t bytes, int prot, int flags, int fd)
{
    void *p = mmap(NULL, bytes, prot, flags, fd, 0);
    if (p == MAP_FAILED) {
        fail("mmap");
    }
    return p;
}

static unsigned read_all(const volatile unsigned char *bytes, size_t count)
{
    unsigned sum = 0;
    for (size_t i = 0; i < count; i += 4096) {
        sum += bytes[i];
    }
    return sum;
}

static void *volatile own; /* the compiler may not leave it out */

static void live(const void *file, size_t file_bytes, const void *shared, int ready, int end)
{
    char byte = (char)(read_all(file, file_bytes) + read_all(shared, 4 * MIB));
    own = malloc(MIB);
    memset(own, 1, MIB);
    if (write(ready, &byte, 1) != 1) {
        fail("write");
    }
    while (read(end, &byte, 1) > 0) {
    }
}

int main(int argc, char **argv)
{
    struct stat file;
    int ready[2], end[2];
    char byte;
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &file) != 0 || pipe(ready) != 0 || pipe(end) != 0) {
        fail("a file is needed");
    }
    void *mapped = map((size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd);
    void *shared = map(4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    memset(shared, 1, 4 * MIB);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            close(end[1]);
            live(mapped, (size_t)file.st_size, shared, ready[1], end[0]);
            return 0;
        }
        if (pid < 0 || read(ready[0], &byte, 1) != 1) {
            fail("fork");
        }
    }
    unsigned sum = read_all(mapped, (size_t)file.st_size);
    own = malloc(MIB);
    memset(own, 1, MIB);
    printf("ready %u\n", sum);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    close(end[1]);
    while (wait(NULL) > 0) {
    }
    return 0;
}
