/*
 * Maps memory in known ways, and holds it.
 *
 *     mapped [wait | fork]     wait: begins when a line arrives, and ends at the next one
 *                              fork: a child changes what it has inherited, and ends like this
 *
 * Prints the sum of what each site holds, as "site bytes" lines.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB     (1ul << 20)
#define SITE    __attribute__((noinline))
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

static void check(int is_ok, const char *what)
{
    if (!is_ok) {
        printf("%s: %m\n", what);
        exit(1);
    }
}

SITE static char *site_mapped(size_t bytes, int flags)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    check(at != MAP_FAILED, "mmap");
    memset(at, 1, bytes);
    return at;
}

SITE static char *site_reserved(size_t bytes)
{
    char *at = mmap(NULL, bytes, PROT_NONE, PRIVATE | MAP_NORESERVE, -1, 0);
    check(at != MAP_FAILED, "reserve");
    return at;
}

SITE static void site_opened(char *at, size_t bytes)
{
    check(mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
    memset(at, 1, bytes);
}

SITE static char *site_syscall(size_t bytes)
{
    char *at = (char *)syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, PRIVATE, -1, 0L);
    check(at != MAP_FAILED, "syscall");
    memset(at, 1, bytes);
    return at;
}

SITE static char *site_moved(char *at, size_t from, size_t to)
{
    at = mremap(at, from, to, MREMAP_MAYMOVE);
    check(at != MAP_FAILED, "mremap");
    return at;
}

SITE static void site_memfd(size_t bytes)
{
    int fd = memfd_create("site", MFD_CLOEXEC);
    check(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0, "memfd_create");
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(at != MAP_FAILED, "mmap of a memfd");
    memset(at, 1, bytes / 2);
    close(fd);
}

SITE static void site_data(void)
{
    check(sbrk(2 * MIB) != (void *)-1, "sbrk");
}

static void wait_for_line(void)
{
    char line[16];
    check(fgets(line, sizeof(line), stdin) != NULL, "fgets");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    char *before = site_mapped(3 * MIB, PRIVATE); /* of it nothing is known after an attach */
    if (strcmp(mode, "wait") == 0) {
        puts("ready");
        fflush(stdout);
        wait_for_line();
        check(munmap(before, MIB) == 0, "munmap");
    } else {
        check(munmap(before, 3 * MIB) == 0, "munmap");
    }
    char *large = site_mapped(64 * MIB, PRIVATE);
    check(munmap(large + 16 * MIB, 8 * MIB) == 0, "munmap");
    char *reserved = site_reserved(1024 * MIB);
    site_opened(reserved, MIB);
    site_opened(reserved + MIB, 3 * MIB);
    check(mprotect(reserved + 2 * MIB, MIB, PROT_NONE) == 0, "mprotect");
    errno = 0;
    check(munmap(large + 1, 4096) == -1 && errno == EINVAL, "munmap of no page");
    errno = 0;
    check(mremap(large + 17 * MIB, 4096, 8192, 0) == MAP_FAILED && errno == EFAULT, "mremap");
    site_syscall(5 * MIB);
    site_moved(site_mapped(MIB, MAP_SHARED | MAP_ANONYMOUS), MIB, 7 * MIB);
    site_memfd(4 * MIB);
    site_data();
    if (strcmp(mode, "fork") == 0) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            check(munmap(large, 16 * MIB) == 0, "munmap");
            site_mapped(9 * MIB, PRIVATE);
            printf("site_mapped %lu\n", 49 * MIB);
        } else {
            waitpid(child, NULL, 0);
            printf("site_mapped %lu\n", 56 * MIB);
        }
    } else {
        printf("site_mapped %lu\n", 56 * MIB);
    }
    printf("site_opened %lu\nsite_syscall %lu\nsite_moved %lu\nsite_memfd %lu\nsite_data %lu\n",
           3 * MIB, 5 * MIB, 7 * MIB, 4 * MIB, 2 * MIB);
    fflush(stdout);
    if (strcmp(mode, "wait") == 0) {
        wait_for_line();
    }
    return 0;
}
