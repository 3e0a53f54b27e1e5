/*
 * Loads and unloads libraries all the time: libraries WORDS... -- FILE... ; each file is a build of
 * library.c, and its number is its index in this list. A line on standard input ends the program.
 * It prints "fine" and how often it did what. It exits with 0 if all its results were right and all
 * its children ended normally.
 *
 *   threads=N   N threads open, call and close libraries (3)
 *   forks       one more thread forks; each child allocates
 *   children    each child opens a library, too. Only with threads=0, because libc leaves a child
 *               with the loader in the state that another thread was in
 *   signals     a timer interrupts any running thread each millisecond
 *   comings     one more thread starts threads that open one library and end
 *   now, lazy, deep, global, nodelete    how libraries are opened: one of these at random each time
 *               (now and deep)
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODES_MAX   8
#define THREADS_MAX 16
/* A child that still runs after this time hangs. */
#define CHILD_S 60

static char **files;
static int file_count;
static int modes[MODES_MAX];
static int mode_count;
static atomic_bool is_over;
static bool may_children_open;
static atomic_ulong open_count, child_count, wrong_count, signal_count, thread_count;

static void on_timer(int number)
{
    (void)number;
    atomic_fetch_add(&signal_count, 1);
}

static void say_wrong(const char *what, int number)
{
    atomic_fetch_add(&wrong_count, 1);
    fprintf(stderr, "wrong: %s %d\n", what, number);
}

/* Opens, calls and closes a library. */
static void use_one(unsigned *seed)
{
    int number = (int)(rand_r(seed) % (unsigned)file_count), given = (int)(rand_r(seed) % 1000);
    void *handle = dlopen(files[number], modes[rand_r(seed) % (unsigned)mode_count]);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        say_wrong("open", number);
        return;
    }
    int (*run)(int);
    *(void **)&run = dlsym(handle, "library_run");
    if (!run || run(given) != given + 2 * number) {
        say_wrong("sum", number);
    }
    if (dlclose(handle) != 0) {
        say_wrong("close", number);
    }
    atomic_fetch_add(&open_count, 1);
}

static void *use_many(void *arg)
{
    unsigned seed = (unsigned)(size_t)arg;
    while (!is_over) {
        use_one(&seed);
    }
    return NULL;
}

/* Runs in a child: uses everything that the child may have inherited in an inconsistent state. */
static void live(void)
{
    void *blocks[50];
    for (int i = 0; i < 50; i++) {
        blocks[i] = malloc((size_t)i * 40 + 1);
        memset(blocks[i], i, (size_t)i * 40 + 1);
    }
    for (int i = 0; i < 50; i++) {
        free(blocks[i]);
    }
}

static void *fork_many(void *arg)
{
    (void)arg;
    while (!is_over) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            signal(SIGALRM, SIG_DFL);
            alarm(CHILD_S);
            live();
            if (may_children_open) {
                unsigned seed = (unsigned)getpid();
                use_one(&seed);
            }
            _exit(wrong_count ? 8 : 7);
        }
        while (pid > 0 && waitpid(pid, &status, 0) < 0) {
        }
        if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 7) {
            say_wrong("child", status);
        }
        atomic_fetch_add(&child_count, 1);
        usleep(2000);
    }
    return NULL;
}

static void *use_one_and_end(void *arg)
{
    unsigned seed = (unsigned)(size_t)arg;
    use_one(&seed);
    return NULL;
}

static void *start_many(void *arg)
{
    size_t seed = 1000;
    (void)arg;
    while (!is_over) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, use_one_and_end, (void *)seed++) != 0) {
            say_wrong("thread", 0);
            break;
        }
        pthread_join(thread, NULL);
        atomic_fetch_add(&thread_count, 1);
    }
    return NULL;
}

struct settings {
    int threads;
    bool has_forks, has_signals, has_comings;
};

static void add_mode(const char *word)
{
    static const struct {
        const char *name;
        int mode;
    } known[] = {
        { "now", RTLD_NOW },
        { "lazy", RTLD_LAZY },
        { "deep", RTLD_LAZY | RTLD_DEEPBIND },
        { "global", RTLD_NOW | RTLD_GLOBAL },
        { "nodelete", RTLD_NOW | RTLD_NODELETE },
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(word, known[i].name) == 0 && mode_count < MODES_MAX) {
            modes[mode_count++] = known[i].mode;
        }
    }
}

static void read_words(char **argv, struct settings *settings)
{
    while (*argv && strcmp(*argv, "--") != 0) {
        sscanf(*argv, "threads=%d", &settings->threads);
        settings->has_forks |= strcmp(*argv, "forks") == 0;
        settings->has_signals |= strcmp(*argv, "signals") == 0;
        may_children_open |= strcmp(*argv, "children") == 0;
        settings->has_comings |= strcmp(*argv, "comings") == 0;
        add_mode(*argv++);
    }
    if (mode_count == 0) {
        modes[mode_count++] = RTLD_NOW;
        modes[mode_count++] = RTLD_LAZY | RTLD_DEEPBIND;
    }
    files = *argv ? argv + 1 : argv;
    while (files[file_count]) {
        file_count++;
    }
}

static void set_timer(void)
{
    const struct itimerval each = { { 0, 1000 }, { 0, 1000 } };
    struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
}

int main(int argc, char **argv)
{
    struct settings settings = { .threads = 3 };
    pthread_t threads[THREADS_MAX];
    int started = 0;
    char line[8];
    (void)argc;
    read_words(argv + 1, &settings);
    if (file_count == 0 || settings.threads > THREADS_MAX - 2) {
        return 2;
    }
    for (; started < settings.threads; started++) {
        pthread_create(&threads[started], NULL, use_many, (void *)(size_t)(started + 1));
    }
    if (settings.has_forks) {
        pthread_create(&threads[started++], NULL, fork_many, NULL);
    }
    if (settings.has_comings) {
        pthread_create(&threads[started++], NULL, start_many, NULL);
    }
    if (settings.has_signals) {
        set_timer();
    }
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, line, sizeof(line)) < 0) {
    }
    is_over = true;
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%s opens=%lu children=%lu threads=%lu signals=%lu\n", wrong_count ? "wrong" : "fine",
           open_count, child_count, thread_count, signal_count);
    return wrong_count ? 1 : 0;
}
