/* The names of a process that executes another program while they are read. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/target_process.h"
#include "util/proc.h"

/* The child executes its program when it reads a byte here. That program runs until this is
 * closed. */
static int release_fd = -1;
/* Before this file of /proc is read the next time, the child executes its program. */
static const char *exec_before;
static pid_t child;

int __real_hs_proc_read(pid_t pid, const char *name, char *buf, size_t cap_bytes,
                        size_t *ret_bytes);
int __wrap_hs_proc_read(pid_t pid, const char *name, char *buf, size_t cap_bytes,
                        size_t *ret_bytes);
int __real_hs_proc_read_stat(pid_t pid, struct hs_proc_stat *ret_stat);
int __wrap_hs_proc_read_stat(pid_t pid, struct hs_proc_stat *ret_stat);

static void let_exec_before(const char *name)
{
    char comm[HS_PROC_COMM_BYTES + 1] = "";
    size_t bytes;
    if (!exec_before || strcmp(name, exec_before) != 0) {
        return;
    }
    exec_before = NULL;
    assert_int_equal(write(release_fd, "x", 1), 1);
    while (strncmp(comm, "cat", 3) != 0) {
        assert_int_equal(__real_hs_proc_read(child, "comm", comm, sizeof(comm), &bytes), 0);
    }
}

int __wrap_hs_proc_read(pid_t pid, const char *name, char *buf, size_t cap_bytes, size_t *ret_bytes)
{
    let_exec_before(name);
    return __real_hs_proc_read(pid, name, buf, cap_bytes, ret_bytes);
}

int __wrap_hs_proc_read_stat(pid_t pid, struct hs_proc_stat *ret_stat)
{
    let_exec_before("stat");
    return __real_hs_proc_read_stat(pid, ret_stat);
}

static void start_child(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "first");
        close(ends[1]);
        if (read(ends[0], &byte, 1) == 1 && dup2(ends[0], 0) == 0) {
            execl("/bin/cat", "cat", (char *)NULL);
        }
        _exit(1);
    }
    close(ends[0]);
    release_fd = ends[1];
}

static void end_child(void)
{
    close(release_fd);
    waitpid(child, NULL, 0);
}

static void look(struct hs_target_process *process)
{
    process->look_next_ns = 0;
    hs_target_process_look(process, true, false, 1);
}

static void check_names_before(const char *file)
{
    const struct hs_pending_client pending = { .pid = 0, .pidfd = -1 };
    struct hs_target_process process;
    start_child();
    hs_target_process_init(&process, &pending);
    process.pid = child;
    char comm[HS_PROC_COMM_BYTES + 1] = "";
    while (strcmp(comm, "first") != 0) {
        look(&process);
        memcpy(comm, process.names.comm, sizeof(process.names.comm));
    }
    exec_before = file;
    look(&process);
    assert_null(exec_before);
    while (!process.has_silent_program) { /* the program has its name before its stack */
        look(&process);
        assert_string_equal(process.names.comm, "first");
    }
    assert_string_equal(process.names.comm, "first");
    assert_string_not_equal(process.names.cmdline, "cat");
    hs_target_process_deinit(&process);
    end_child();
}

static void test_names_are_of_the_program_before_an_exec(void **state)
{
    (void)state;
    check_names_before("stat");
    check_names_before("comm");
    check_names_before("cmdline");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_of_the_program_before_an_exec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
