/*
 * A program for the features of a session. A word on standard input is an order; the program
 * answers each with a line when it is done. Its first line is its pid. Ends when its input ends.
 *
 *     grow     2000 blocks of 1000 bytes at site_grow, which stay
 *     many     400,000 blocks of 16 bytes at site_many, which stay: a dump of them takes a while
 *     churn    allocates and frees at site_churn for 0.3 s of CPU time
 *     fork     a child allocates 100 blocks at site_child, and ends
 *     exec     the program of argv[1], whose name is another one, allocates and ends
 */
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "truth.h"

SITE(site_grow, malloc(n))
SITE(site_many, malloc(n))
SITE(site_churn, malloc(n))
SITE(site_child, malloc(n))

static void *volatile kept;

static void allocate(void *(*site)(size_t), int count, size_t bytes)
{
    for (int i = 0; i < count; i++) {
        kept = site(bytes);
    }
}

static void churn(void)
{
    clock_t end = clock() + CLOCKS_PER_SEC * 3 / 10;
    while (clock() < end) {
        for (int i = 0; i < 1000; i++) {
            void *block = site_churn(100);
            SITE_FREE(site_churn, block, 100);
        }
    }
}

static void run_child(const char *program)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (program) {
            execl(program, program, "once", (char *)NULL);
            _exit(1);
        }
        allocate(site_child, 100, 1000);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    char word[64];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || strcmp(argv[1], "once") == 0) {
        allocate(site_child, 100, 1000);
        return 0;
    }
    printf("%d\n", (int)getpid());
    while (fgets(word, sizeof(word), stdin)) {
        switch (word[0]) {
        case 'g':
            allocate(site_grow, 2000, 1000);
            break;
        case 'm':
            allocate(site_many, 400000, 16);
            break;
        case 'c':
            churn();
            break;
        case 'f':
            run_child(NULL);
            break;
        default:
            run_child(argv[1]);
            break;
        }
        printf("done\n");
    }
    return 0;
}
