/*
 * Reading the environment without the C library's help. See env.h.
 */
#include "client/host/env.h"

#include <stddef.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "client/host/linkmap.h"
#include "fmt/ctl_layout.h"
#include "rt/bits.h"
#include "rt/sys.h"

/* The initial stack: argc, argv[], NULL, envp[], NULL. */
static char *const *initial_stack(int *ret_argc)
{
    char *const *const *end = hs_linkmap_search(NULL, NULL, "__libc_stack_end", NULL);
    if (!end || !*end) {
        return NULL;
    }
    long argc = (long)(*end)[0];
    char *const *argv = *end + 1;
    if (argc < 0 || argc > 1 << 20 || argv[argc] != NULL) {
        return NULL; /* not the expected layout */
    }
    *ret_argc = (int)argc;
    return argv;
}

/* The value of `name` when `entry` is "name=value". */
static const char *value_of(const char *entry, const char *name)
{
    while (*name && *entry == *name) {
        entry++;
        name++;
    }
    return *name == '\0' && *entry == '=' ? entry + 1 : NULL;
}

static bool parse(const char *text, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (!*text) {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > UINT64_MAX / 10 - 9) {
            return false;
        }
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *ret_value = value;
    return true;
}

/* Ignores upper and lower case. The list ends with NULL. */
static bool is_one_of(const char *value, const char *const *words)
{
    for (; *words; words++) {
        const char *word = *words, *at = value;
        while (*word && (*at | 0x20) == (*word | 0x20)) {
            word++;
            at++;
        }
        if (*word == '\0' && *at == '\0') {
            return true;
        }
    }
    return false;
}

void hs_env_read(struct hs_env *ret_env)
{
    struct hs_env env = { .exec_path = (const char *)getauxval(AT_EXECFN), .is_profileable = true };
    char *const *argv = initial_stack(&env.argc);
    char *const *envp = argv ? argv + env.argc + 1 : environ;
    env.argv = argv;
    static const char *const no[] = { "0", "no", "off", "false", NULL };
    static const char *const yes[] = { "1", "yes", "on", "true", NULL };
    bool is_following = true;
    uint64_t follow_pid = 0;
    for (; envp && *envp; envp++) {
        const char *value;
        if ((*envp)[0] != 'H' && (*envp)[0] != 'X') {
            continue;
        }
        if ((value = value_of(*envp, HS_ENV_COLLECTOR)) != NULL) {
            env.collector = *value ? value : NULL;
        } else if ((value = value_of(*envp, HS_ENV_SOCKET)) != NULL) {
            env.socket = value;
        } else if ((value = value_of(*envp, HS_ENV_RUNTIME_FOLDER)) != NULL) {
            env.runtime_folder = value;
        } else if ((value = value_of(*envp, HS_ENV_PROFILEABLE)) != NULL) {
            env.is_profileable = !is_one_of(value, no);
            env.is_willing = is_one_of(value, yes);
        } else if ((value = value_of(*envp, HS_ENV_INTERVAL)) != NULL) {
            parse(value, &env.interval_bytes);
        } else if ((value = value_of(*envp, HS_ENV_HEAPS)) != NULL) {
            env.heaps = value;
        } else if ((value = value_of(*envp, HS_ENV_SEED)) != NULL) {
            env.has_seed = parse(value, &env.seed);
        } else if ((value = value_of(*envp, HS_ENV_FOLLOW)) != NULL) {
            is_following = value[0] != '0';
        } else if ((value = value_of(*envp, HS_ENV_FOLLOW_PID)) != NULL) {
            parse(value, &follow_pid);
        }
    }
    /* Without the pid no process matches, and nothing is recorded. */
    env.root_pid = (uint32_t)follow_pid;
    env.follow_pid = is_following ? 0 : follow_pid ? (uint32_t)follow_pid : UINT32_MAX;
    *ret_env = env;
}

uint64_t hs_env_seed(const struct hs_env *env)
{
    uint64_t seed = env->seed;
    if (!env->has_seed) {
        hs_sys_getrandom(&seed, sizeof(seed));
        return seed ^ hs_sys_clock_ns(1) ^ (uint64_t)hs_sys_getpid() << 32;
    }
    uint32_t distance = hs_sys_getpid() - env->root_pid;
    return distance == 0 ? seed : hs_mix64(hs_mix64(seed + 1) + distance);
}
