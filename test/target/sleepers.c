/*
 * A program for test_inject.py. It does one thing until a line comes on standard input, and then
 * prints the results as "key value" lines.
 *
 * sleepers KIND [MILLISECONDS]: waits in one system call of that kind. Prints whether it returned
 * as it should: result, errno,
 *     and duration.
 * sleepers churn THREADS: that many threads are in malloc and free all the time. sleepers
 * signals|ignore_segv|ignore_both|block_all|undumpable|seccomp|no_fds [MILLISECONDS]: sleeps in
 * that state. Prints
 *     which signals it got, and how often.
 * sleepers come_and_go: loads and unloads, forks, starts and ends threads, all the time. sleepers
 * registers: keeps patterns in registers, flags and errno, and checks them all the time. sleepers
 * faults: raises SIGSEGV and SIGTRAP by its instructions all the time, and counts whether each
 *     arrives.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t handled[65];
static int milliseconds = 1000;

static double now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static struct timespec timespec_of(int ms)
{
    return (struct timespec){ ms / 1000, ms % 1000 * 1000000L };
}

static void on_signal(int number)
{
    handled[number]++;
}

static int do_nanosleep(void)
{
    struct timespec ts = timespec_of(milliseconds), rest;
    return nanosleep(&ts, &rest);
}

static int do_clock_nanosleep(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    ts.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    ts.tv_sec += milliseconds / 1000 + ts.tv_nsec / 1000000000;
    ts.tv_nsec %= 1000000000;
    errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
    return errno ? -1 : 0;
}

static int do_poll(void)
{
    return poll(NULL, 0, milliseconds);
}

static int do_ppoll(void)
{
    struct timespec ts = timespec_of(milliseconds);
    sigset_t none;
    sigemptyset(&none);
    return ppoll(NULL, 0, &ts, &none);
}

static int do_select(void)
{
    struct timeval tv = { milliseconds / 1000, milliseconds % 1000 * 1000 };
    return select(0, NULL, NULL, NULL, &tv);
}

static int do_pselect(void)
{
    struct timespec ts = timespec_of(milliseconds);
    sigset_t none;
    sigemptyset(&none);
    return pselect(0, NULL, NULL, NULL, &ts, &none);
}

static int do_epoll(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, milliseconds);
}

static int do_epoll_pwait(void)
{
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    return epoll_pwait(epoll_create1(0), &event, 1, milliseconds, &none);
}

static int do_futex(void)
{
    static int word;
    struct timespec ts = timespec_of(milliseconds);
    long r = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
    return r == -1 && errno == ETIMEDOUT ? 0 : -1;
}

static int do_cond(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    ts.tv_sec += milliseconds / 1000 + ts.tv_nsec / 1000000000;
    ts.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    int r = pthread_cond_timedwait(&cond, &mutex, &ts);
    pthread_mutex_unlock(&mutex);
    return r == ETIMEDOUT ? 0 : -1;
}

/* Used to end the waits that have no timeout. */
static int fds[2], sockets[2];
static pid_t main_tid;
static int is_signalled;

static void *wake_up(void *arg)
{
    struct timespec ts = timespec_of(milliseconds);
    (void)arg;
    nanosleep(&ts, NULL);
    if (write(fds[1], "x", 1) != 1 || write(sockets[1], "x", 1) != 1) {
        exit(3);
    }
    if (is_signalled) {
        syscall(SYS_tgkill, getpid(), main_tid, SIGUSR2);
    }
    return NULL;
}

static int do_read(void)
{
    char c;
    return read(fds[0], &c, 1) == 1 ? 0 : -1;
}

static int do_recv(void)
{
    char c;
    return recv(sockets[0], &c, 1, 0) == 1 ? 0 : -1;
}

/* With a timeout of its own: the kernel then ends the call with EINTR when it is interrupted. */
static int do_recv_timeout(void)
{
    char c;
    struct timeval tv = { 3600, 0 };
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
    return recv(sockets[0], &c, 1, 0) == 1 ? 0 : -1;
}

static int do_epoll_endless(void)
{
    struct epoll_event event = { .events = EPOLLIN };
    int fd = epoll_create1(0);
    epoll_ctl(fd, EPOLL_CTL_ADD, fds[0], &event);
    return epoll_wait(fd, &event, 1, -1) == 1 ? 0 : -1;
}

static int do_eventfd(void)
{
    /* An eventfd would need a writer, so this reads a timerfd, which becomes readable by itself. */
    uint64_t count;
    struct itimerspec its = { .it_value = timespec_of(milliseconds) };
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(fd, 0, &its, NULL);
    return read(fd, &count, sizeof(count)) == sizeof(count) && count == 1 ? 0 : -1;
}

static int do_pause(void)
{
    int r = pause();
    return r == -1 && errno == EINTR && handled[SIGUSR2] == 1 ? 0 : -1;
}

static int do_sigsuspend(void)
{
    sigset_t set;
    sigemptyset(&set);
    int r = sigsuspend(&set); /* otherwise SIGUSR2 is blocked */
    return r == -1 && errno == EINTR && handled[SIGUSR2] == 1 ? 0 : -1;
}

static int do_sigwait(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigwaitinfo(&set, NULL) == SIGUSR2 ? 0 : -1;
}

static int do_wait(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct timespec ts = timespec_of(milliseconds);
        nanosleep(&ts, NULL);
        _exit(7);
    }
    return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7 ? 0 : -1;
}

static int do_join(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wake_up, NULL);
    return pthread_join(thread, NULL);
}

static int do_semop(void)
{
    int id = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf op = { 0, -1, 0 };
    pid_t pid = fork();
    if (pid == 0) {
        struct timespec ts = timespec_of(milliseconds);
        struct sembuf up = { 0, 1, 0 };
        nanosleep(&ts, NULL);
        _exit(semop(id, &up, 1));
    }
    int r = semop(id, &op, 1), e = errno;
    waitpid(pid, NULL, 0);
    semctl(id, 0, IPC_RMID);
    errno = e;
    return r;
}

static int do_msgrcv(void)
{
    struct {
        long type;
        char text[8];
    } message = { 1, "x" };
    int id = msgget(IPC_PRIVATE, 0600);
    pid_t pid = fork();
    if (pid == 0) {
        struct timespec ts = timespec_of(milliseconds);
        nanosleep(&ts, NULL);
        _exit(msgsnd(id, &message, 1, 0));
    }
    ssize_t r = msgrcv(id, &message, 8, 0, 0);
    int e = errno;
    waitpid(pid, NULL, 0);
    msgctl(id, IPC_RMID, NULL);
    errno = e;
    return r == 1 ? 0 : -1;
}

static const struct {
    const char *name;
    int (*wait)(void);
    int is_woken;
} kinds[] = {
    { "nanosleep", do_nanosleep, 0 },
    { "clock_nanosleep", do_clock_nanosleep, 0 },
    { "poll", do_poll, 0 },
    { "ppoll", do_ppoll, 0 },
    { "select", do_select, 0 },
    { "pselect", do_pselect, 0 },
    { "epoll", do_epoll, 0 },
    { "epoll_pwait", do_epoll_pwait, 0 },
    { "futex", do_futex, 0 },
    { "cond", do_cond, 0 },
    { "read", do_read, 1 },
    { "recv", do_recv, 1 },
    { "recv_timeout", do_recv_timeout, 1 },
    { "epoll_endless", do_epoll_endless, 1 },
    { "timerfd", do_eventfd, 0 },
    { "pause", do_pause, 2 },
    { "sigsuspend", do_sigsuspend, 2 },
    { "sigwait", do_sigwait, 2 },
    { "wait", do_wait, 0 },
    { "join", do_join, 0 },
    { "semop", do_semop, 0 },
    { "msgrcv", do_msgrcv, 0 },
};

static void report_signals(void)
{
    for (int i = 1; i < 65; i++) {
        if (handled[i]) {
            printf("signal%d %d\n", i, (int)handled[i]);
        }
    }
}

static int wait_once(int which)
{
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    is_signalled = kinds[which].is_woken == 2;
    int is_blocked = kinds[which].wait == do_sigsuspend || kinds[which].wait == do_sigwait;
    if (is_blocked) {
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    printf("ready\n");
    fflush(stdout);
    if (kinds[which].is_woken) {
        pthread_create(&thread, NULL, wake_up, NULL);
        pthread_detach(thread);
    }
    double begin = now_ms();
    errno = 0;
    int r = kinds[which].wait();
    int e = errno;
    printf("result %d\nerrno %d\ntook_ms %.1f\n", r, r ? e : 0, now_ms() - begin);
    report_signals();
    return 0;
}

/*
 * Loads libraries in one thread, forks in another, starts short threads with small stacks in a
 * third: until SIGTERM.
 */
static void *load_and_unload(void *arg)
{
    while (!handled[SIGTERM]) {
        void *handle = dlopen("libanl.so.1", RTLD_NOW);
        if (!handle || dlclose(handle)) {
            exit(4);
        }
    }
    return arg;
}

static void *fork_and_wait(void *arg)
{
    uint64_t *count = arg;
    while (!handled[SIGTERM]) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            void *volatile p = malloc(1000);
            free(p);
            _exit(p ? 7 : 8);
        }
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7) {
            exit(5);
        }
        ++*count;
    }
    return NULL;
}

static void *end_at_once(void *arg)
{
    free(malloc(100));
    return arg;
}

static int come_and_go(void)
{
    pthread_t loader, forker, brief;
    pthread_attr_t attr;
    uint64_t fork_count = 0;
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGTERM, &action, NULL);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 16384);
    pthread_create(&loader, NULL, load_and_unload, NULL);
    pthread_create(&forker, NULL, fork_and_wait, &fork_count);
    printf("ready\n");
    while (!handled[SIGTERM]) {
        if (pthread_create(&brief, &attr, end_at_once, NULL) == 0) {
            pthread_join(brief, NULL);
        }
    }
    pthread_join(loader, NULL);
    pthread_join(forker, NULL);
    printf("forks %llu\n", (unsigned long long)fork_count);
    return 0;
}

static volatile int is_over;
static uint64_t churned[64];

static void *churn(void *arg)
{
    uint64_t *count = arg, seed = (uint64_t)(uintptr_t)arg;
    void *blocks[64] = { 0 };
    while (!is_over) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        unsigned i = (unsigned)(seed >> 33) % 64;
        free(blocks[i]);
        blocks[i] = malloc((seed >> 40) % 3000);
        ++*count;
    }
    return NULL;
}

static int churn_all(int thread_count)
{
    pthread_t threads[64];
    uint64_t sum = 0;
    for (int i = 1; i < thread_count; i++) {
        pthread_create(&threads[i], NULL, churn, &churned[i]);
    }
    /*
     * The first thread churns too, so a signal has to interrupt it when standard input says stop.
     */
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGTERM, &action, NULL);
    printf("ready\n");
    fflush(stdout);
    uint64_t *count = &churned[0];
    while (!handled[SIGTERM]) {
        void *volatile p = malloc((size_t)(*count % 1000));
        free(p);
        ++*count;
    }
    is_over = 1;
    for (int i = 1; i < thread_count; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < thread_count; i++) {
        sum += churned[i];
    }
    printf("churned %llu\n", (unsigned long long)sum);
    return 0;
}

/* Keeps patterns in vector registers and errno, and checks them without a call in between. */
static int watch_registers(void)
{
    static uint8_t patterns[16][32] __attribute__((aligned(32)));
    static uint8_t seen[16][32] __attribute__((aligned(32)));
    uint64_t rounds = 0, bad = 0;
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGTERM, &action, NULL);
    for (int i = 0; i < 16; i++) {
        memset(patterns[i], 0x11 + i * 7, 32);
    }
    int has_avx = __builtin_cpu_supports("avx");
    printf("ready\navx %d\n", has_avx);
    fflush(stdout);
    errno = EDOM;
    while (!handled[SIGTERM]) {
        if (has_avx) {
#define LD(n)  "vmovdqa " #n "*32(%[p]), %%ymm" #n "\n\t"
#define ST(n)  "vmovdqa %%ymm" #n ", " #n "*32(%[s])\n\t"
#define ALL(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
            uint64_t below, flags;
            /* All words of the red zone. */
            __asm__ volatile(ALL(LD) "mov $200000, %%ecx\n\t"
                                     "mov $0x1234567890abcdef, %%r8\n\t"
                                     "movq %%r8, -8(%%rsp)\n\tmovq %%r8, -64(%%rsp)\n\t"
                                     "movq %%r8, -128(%%rsp)\n\t"
                                     "std\n\t"
                                     "1: dec %%ecx\n\tjnz 1b\n\t"
                                     "movq -8(%%rsp), %%r8\n\tandq -64(%%rsp), %%r8\n\t"
                                     "andq -128(%%rsp), %%r8\n\t"
                                     "pushfq\n\tpop %%r9\n\t"
                                     "cld\n\t"
                                     "movq %%r8, %[below]\n\tmovq %%r9, %[flags]\n\t" ALL(ST)
                             : [below] "=&m"(below), [flags] "=&m"(flags)
                             : [p] "r"(patterns), [s] "r"(seen)
                             : "rcx", "r8", "r9", "memory", "cc");
            bad += below != UINT64_C(0x1234567890abcdef) || !(flags & 0x400);
            bad += memcmp(patterns, seen, sizeof(seen)) != 0;
        }
        bad += errno != EDOM;
        rounds++;
    }
    printf("rounds %llu\nbad %llu\n", (unsigned long long)rounds, (unsigned long long)bad);
    return 0;
}

/* The instruction that faulted would fault again: continues behind it. */
static void skip_read(int number, siginfo_t *info, void *context)
{
    (void)info;
    handled[number]++;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 3;
}

static int raise_faults(void)
{
    uint64_t rounds = 0;
    struct sigaction skip = { .sa_sigaction = skip_read, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &skip, NULL);
    signal(SIGTRAP, on_signal);
    signal(SIGTERM, on_signal);
    printf("ready\n");
    for (; !handled[SIGTERM]; rounds++) {
        uint64_t nowhere = 8;
        __asm__ volatile("int3\n\tmovq (%0), %0" : "+a"(nowhere) : : "memory");
    }
    printf("traps_lost %lld\nfaults_lost %lld\n", (long long)rounds - handled[SIGTRAP],
           (long long)rounds - handled[SIGSEGV]);
    return 0;
}

/* Sleeps for the whole time, whatever interrupts it. */
static int sleep_through(void)
{
    double end = now_ms() + milliseconds, left;
    while ((left = end - now_ms()) > 0) {
        struct timespec ts = timespec_of((int)left + 1);
        nanosleep(&ts, NULL);
    }
    return 0;
}

/* Enters a state that makes injection hard, then sleeps. -1: the state is unknown. */
static int prepare(const char *kind)
{
    sigset_t all;
    if (strcmp(kind, "signals") == 0) {
        struct sigaction action = { .sa_handler = on_signal };
        sigaction(SIGSEGV, &action, NULL);
        sigaction(SIGRTMIN + 3, &action, NULL);
    } else if (strcmp(kind, "ignore_segv") == 0) {
        signal(SIGSEGV, SIG_IGN);
    } else if (strcmp(kind, "ignore_both") == 0) {
        signal(SIGSEGV, SIG_IGN);
        signal(SIGTRAP, SIG_IGN);
    } else if (strcmp(kind, "block_all") == 0) {
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
    } else if (strcmp(kind, "undumpable") == 0) {
        prctl(PR_SET_DUMPABLE, 0);
    } else if (strcmp(kind, "seccomp") == 0) {
        struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        struct sock_fprog program = { 1, &allow };
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    } else if (strcmp(kind, "no_fds") == 0) {
        while (dup(0) >= 0) {
        }
    } else {
        return -1;
    }
    return 0;
}

static int sleep_prepared(void)
{
    printf("ready\n");
    int r = sleep_through();
    printf("result %d\n", r);
    report_signals();
    return 0;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "nanosleep";
    struct sigaction action = { .sa_handler = on_signal };
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with the test */
    setvbuf(stdout, NULL, _IONBF, 0);
    main_tid = (pid_t)syscall(SYS_gettid);
    milliseconds = argc > 2 ? atoi(argv[2]) : milliseconds;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    if (pipe(fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) {
        return 3;
    }
    if (strcmp(kind, "churn") == 0) {
        return churn_all(milliseconds);
    }
    if (strcmp(kind, "come_and_go") == 0) {
        return come_and_go();
    }
    if (strcmp(kind, "registers") == 0) {
        return watch_registers();
    }
    if (strcmp(kind, "faults") == 0) {
        return raise_faults();
    }
    for (int i = 0; i < (int)(sizeof(kinds) / sizeof(kinds[0])); i++) {
        if (strcmp(kinds[i].name, kind) == 0) {
            return wait_once(i);
        }
    }
    return prepare(kind) == 0 ? sleep_prepared() : 2;
}
