/*
 * Starts a program: see launch.h.
 */
#include "collect/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fmt/ctl_layout.h"

#define HS_ENV_PRELOAD "LD_PRELOAD"
#define HS_ENV_ASAN    "ASAN_OPTIONS"
#define HS_PID_DIGITS  11

extern char **environ;

/* A copy of heapscope's environment with some variables set. */
struct environment {
    char **vars; /* the array is owned, and so are the strings from own_first on */
    size_t count;
    size_t own_first;
};

static bool is_variable(const char *var, const char *name)
{
    size_t n = strlen(name);
    return strncmp(var, name, n) == 0 && var[n] == '=';
}

static bool is_replaced(const char *var)
{
    static const char *const names[] = { HS_ENV_PRELOAD,     HS_ENV_COLLECTOR,  HS_ENV_INTERVAL,
                                         HS_ENV_FOLLOW,      HS_ENV_FOLLOW_PID, HS_ENV_ASAN,
                                         HS_ENV_PROFILEABLE, HS_ENV_HEAPS };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (is_variable(var, names[i])) {
            return true;
        }
    }
    return false;
}

static bool add_variable(struct environment *env, const char *name, const char *value)
{
    char *var = NULL;
    if (asprintf(&var, "%s=%s", name, value) < 0) {
        return false;
    }
    env->vars[env->count++] = var;
    env->vars[env->count] = NULL;
    return true;
}

static void free_environment(struct environment *env)
{
    for (size_t i = env->own_first; env->vars && i < env->count; i++) {
        free(env->vars[i]);
    }
    free(env->vars);
}

/* The loader splits LD_PRELOAD at blanks and colons, and knows no quoting. A library with such a
 * character in its path gets a second path: a symbolic link. */
static int link_library(const char *path, char **ret_link)
{
    char folder[] = "/tmp/heapscope-XXXXXX";
    *ret_link = NULL;
    if (!strpbrk(path, " :")) {
        return 0;
    }
    if (!mkdtemp(folder)) {
        return -errno;
    }
    /* A program that gives up root must still find it, and so must the programs that it starts. */
    if (chmod(folder, 0711) != 0) {
        int r = -errno;
        rmdir(folder);
        return r;
    }
    const char *base = strrchr(path, '/');
    if (!base || strpbrk(base, " :") || asprintf(ret_link, "%s%s", folder, base) < 0) {
        *ret_link = NULL;
        rmdir(folder);
        return -EINVAL;
    }
    if (symlink(path, *ret_link) != 0) {
        int r = -errno;
        rmdir(folder);
        free(*ret_link);
        *ret_link = NULL;
        return r;
    }
    return 0;
}

static void unlink_library(char *link)
{
    if (link) {
        unlink(link);
        *strrchr(link, '/') = '\0';
        rmdir(link);
        free(link);
    }
}

/* The client comes first: it must come before another library that defines malloc. */
static bool add_preload(struct environment *env, const char *library)
{
    const char *old = getenv(HS_ENV_PRELOAD);
    char *value = NULL;
    if (!old || !*old) {
        return add_variable(env, HS_ENV_PRELOAD, library);
    }
    if (asprintf(&value, "%s:%s", library, old) < 0) {
        return false;
    }
    bool is_ok = add_variable(env, HS_ENV_PRELOAD, value);
    free(value);
    return is_ok;
}

/* A program built with AddressSanitizer refuses to start when a library is preloaded before its
 * runtime, unless this option switches the check off. The client does not interfere with it. */
static bool add_sanitizer_options(struct environment *env)
{
    const char *old = getenv(HS_ENV_ASAN);
    char *value = NULL;
    if (asprintf(&value, "%s%sverify_asan_link_order=0", old ? old : "", old && *old ? ":" : "") <
        0) {
        return false;
    }
    bool is_ok = add_variable(env, HS_ENV_ASAN, value);
    free(value);
    return is_ok;
}

static int make_environment(const struct hs_launch_spec *spec, const char *library,
                            struct environment *ret_env)
{
    struct environment env = { 0 };
    char interval[32], heaps[HS_CTL_HEAPS_BYTES];
    size_t inherited = 0;
    while (environ && environ[inherited]) {
        inherited++;
    }
    env.vars = calloc(inherited + 9, sizeof(*env.vars));
    for (size_t i = 0; env.vars && i < inherited; i++) {
        if (!is_replaced(environ[i])) {
            env.vars[env.count++] = environ[i];
        }
    }
    env.own_first = env.count;
    snprintf(interval, sizeof(interval), "%llu", (unsigned long long)spec->interval_bytes);
    hs_heap_selection_text(spec->heaps, heaps);
    if (!env.vars || !add_preload(&env, library) || !add_sanitizer_options(&env) ||
        !add_variable(&env, HS_ENV_COLLECTOR, spec->collector_name) ||
        !add_variable(&env, HS_ENV_INTERVAL, interval) ||
        (heaps[0] && !add_variable(&env, HS_ENV_HEAPS, heaps)) ||
        !add_variable(&env, HS_ENV_FOLLOW, spec->is_following ? "1" : "0")) {
        free_environment(&env);
        return -ENOMEM;
    }
    *ret_env = env;
    return 0;
}

/* The child knows its own pid only now. Setting the variable cannot fail for lack of memory. */
static void add_follow_pid(struct environment *env)
{
    static char var[sizeof(HS_ENV_FOLLOW_PID) + HS_PID_DIGITS + 1];
    snprintf(var, sizeof(var), "%s=%d", HS_ENV_FOLLOW_PID, (int)getpid());
    env->vars[env->count++] = var;
    env->vars[env->count] = NULL;
}

/* Does what execvp(3) does with a file whose format the kernel does not know: runs it as a script
 * for sh. */
static void execute_with_sh(const char *path, char *const *argv, char **envp)
{
    size_t n = 0;
    while (argv[n]) {
        n++;
    }
    char **args = calloc(n + 2, sizeof(*args));
    if (!args) {
        return;
    }
    args[0] = (char *)"/bin/sh";
    args[1] = (char *)path;
    for (size_t i = 1; i < n; i++) {
        args[i + 1] = argv[i];
    }
    execve(args[0], args, envp);
    free(args);
}

static void __attribute__((noreturn))
run_child(const struct hs_launch_spec *spec, struct environment *env, int go_fd, int error_fd)
{
    char go = 0;
    ssize_t got;
    do {
        got = read(go_fd, &go, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) {
        _exit(127); /* cancelled, or the parent process died */
    }
    add_follow_pid(env);
    execve(spec->path, spec->argv, env->vars);
    if (errno == ENOEXEC) {
        execute_with_sh(spec->path, spec->argv, env->vars);
    }
    int error = errno;
    /* If no process reads this, the exit status still tells the failure. */
    ssize_t put = write(error_fd, &error, sizeof(error));
    (void)put;
    _exit(error == ENOENT ? 127 : 126);
}

int hs_launch_fork(const struct hs_launch_spec *spec, struct hs_launch *ret_launch)
{
    struct hs_launch launch = { .go_fd = -1, .error_fd = -1 };
    struct environment env = { 0 };
    int go[2] = { -1, -1 }, error[2] = { -1, -1 };
    int r = link_library(spec->preload_path, &launch.preload_link);
    if (r < 0) {
        return r;
    }
    r = make_environment(spec, launch.preload_link ? launch.preload_link : spec->preload_path,
                         &env);
    if (r == 0 && (pipe2(go, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0)) {
        r = -errno;
    }
    if (r == 0) {
        launch.pid = fork();
        if (launch.pid == 0) {
            close(go[1]);
            close(error[0]);
            run_child(spec, &env, go[0], error[1]);
        }
        r = launch.pid < 0 ? -errno : 0;
    }
    free_environment(&env);
    if (go[0] >= 0) {
        close(go[0]);
    }
    if (error[1] >= 0) {
        close(error[1]);
    }
    launch.go_fd = go[1];
    launch.error_fd = error[0];
    if (r < 0) {
        launch.pid = 0;
        hs_launch_deinit(&launch);
        return r;
    }
    *ret_launch = launch;
    return 0;
}

int hs_launch_go(struct hs_launch *launch)
{
    int error = 0;
    ssize_t got;
    if (write(launch->go_fd, "g", 1) != 1) {
        return -ECHILD; /* nothing reads the pipe any more */
    }
    close(launch->go_fd);
    launch->go_fd = -1;
    /* A successful exec closes the child's end of the pipe, and this read returns nothing. */
    do {
        got = read(launch->error_fd, &error, sizeof(error));
    } while (got < 0 && errno == EINTR);
    close(launch->error_fd);
    launch->error_fd = -1;
    if (got != (ssize_t)sizeof(error)) {
        return 0;
    }
    waitpid(launch->pid, NULL, 0);
    launch->pid = 0;
    return error > 0 ? -error : -EIO;
}

/* In place of hs_launch_go: the child ends without having run anything. */
static void cancel(struct hs_launch *launch)
{
    if (launch->pid > 0 && launch->go_fd >= 0) {
        close(launch->go_fd);
        launch->go_fd = -1;
        waitpid(launch->pid, NULL, 0);
        launch->pid = 0;
    }
}

void hs_launch_deinit(struct hs_launch *launch)
{
    cancel(launch);
    if (launch->go_fd > 0) {
        close(launch->go_fd);
    }
    if (launch->error_fd > 0) {
        close(launch->error_fd);
    }
    unlink_library(launch->preload_link);
    *launch = (struct hs_launch){ .go_fd = -1, .error_fd = -1 };
}
