/*
 * Installs seccomp filters, then executes a program under them.
 *
 *   filtered RULE ... -- PROGRAM ARGS
 *
 *   only ACTION N,N,...    these system calls are allowed, ACTION for all others
 *   deny ACTION N,N,...    ACTION for these, all others are allowed
 *   prot ACTION N BITS     ACTION for call N if its third argument has one of BITS (mmap, mprotect)
 *   place ACTION N         ACTION for call N from an instruction at an address whose bit 12 is set
 *   long N                 a filter of N instructions that allows everything
 *
 * ACTION: allow, log, errno (EPERM), enosys, trap, trace, notify, kill. Each RULE is a filter of
 * its own.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8U * (n))

static struct sock_filter code[BPF_MAXINSNS];
static unsigned count;

static void die(const char *what)
{
    perror(what);
    exit(3);
}

static void put(uint16_t what, uint32_t k, uint8_t jt, uint8_t jf)
{
    code[count++] = (struct sock_filter){ what, jt, jf, k };
}

static void load(size_t offset)
{
    put(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(uint32_t action)
{
    put(BPF_RET | BPF_K, action, 0, 0);
}

static uint32_t action_of(const char *name)
{
    static const struct {
        const char *name;
        uint32_t action;
    } actions[] = {
        { "allow", SECCOMP_RET_ALLOW },       { "log", SECCOMP_RET_LOG },
        { "trap", SECCOMP_RET_TRAP },         { "trace", SECCOMP_RET_TRACE },
        { "kill", SECCOMP_RET_KILL_PROCESS }, { "errno", SECCOMP_RET_ERRNO | EPERM },
        { "notify", SECCOMP_RET_USER_NOTIF }, { "enosys", SECCOMP_RET_ERRNO | ENOSYS },
    };
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(name, actions[i].name) == 0) {
            return actions[i].action;
        }
    }
    die(name);
    return 0;
}

/*
 * Checks the architecture first, as the filters of container runtimes do: a call of another
 * architecture kills the process.
 */
static void begin(void)
{
    count = 0;
    load(offsetof(struct seccomp_data, arch));
    put(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    answer(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(struct seccomp_data, nr));
    put(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    answer(SECCOMP_RET_KILL_PROCESS);
}

static void list(char *numbers, uint32_t action, uint32_t otherwise)
{
    for (char *at = strtok(numbers, ","); at; at = strtok(NULL, ",")) {
        put(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)atoi(at), 0, 1);
        answer(action);
    }
    answer(otherwise);
}

static void install(void)
{
    struct sock_fprog program = { (unsigned short)count, code };
    long is_asked = 0;
    for (unsigned i = 0; i < count; i++) {
        is_asked |= code[i].code == (BPF_RET | BPF_K) && code[i].k == SECCOMP_RET_USER_NOTIF;
    }
    /* No process will answer the notifications, and the descriptor is not kept. */
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                     is_asked ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
    if (r < 0) {
        die("seccomp");
    }
}

/* Returns how many arguments the rule took. */
static int make_rule(char **argv)
{
    begin();
    if (strcmp(argv[0], "only") == 0) {
        list(argv[2], SECCOMP_RET_ALLOW, action_of(argv[1]));
        return 3;
    }
    if (strcmp(argv[0], "deny") == 0) {
        list(argv[2], action_of(argv[1]), SECCOMP_RET_ALLOW);
        return 3;
    }
    if (strcmp(argv[0], "long") == 0) {
        for (unsigned n = (unsigned)atoi(argv[1]); count < n - 1;) {
            put(BPF_JMP | BPF_JEQ | BPF_K, 100000 + count, 0, 0);
        }
        answer(SECCOMP_RET_ALLOW);
        return 2;
    }
    bool is_prot = strcmp(argv[0], "prot") == 0;
    put(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)atoi(argv[2]), 1, 0);
    answer(SECCOMP_RET_ALLOW);
    load(is_prot ? ARGUMENT(2) : offsetof(struct seccomp_data, instruction_pointer));
    put(BPF_JMP | BPF_JSET | BPF_K, is_prot ? (uint32_t)atoi(argv[3]) : 4096, 0, 1);
    answer(action_of(argv[1]));
    answer(SECCOMP_RET_ALLOW);
    return is_prot ? 4 : 3;
}

int main(int argc, char **argv)
{
    int at = 1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        die("no_new_privs");
    }
    while (at < argc && strcmp(argv[at], "--") != 0) {
        at += make_rule(argv + at);
        install();
    }
    execv(argv[at + 1], argv + at + 1);
    die("exec");
}
