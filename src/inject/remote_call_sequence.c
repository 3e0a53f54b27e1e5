/*
 * Loads the library and calls the function: see remote_call_sequence.h.
 */
#include "inject/remote_call_sequence.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/remote_call.h"
#include "inject/remote_hold.h"
#include "util/write_all.h"

#define PATH_BYTES 256U

static int call(struct hs_inject_session *s, const char *what, uint64_t function_va, uint64_t a,
                uint64_t b, uint64_t c, uint64_t *ret_value)
{
    const uint64_t arguments[HS_REMOTE_ARGUMENTS_MAX] = { a, b, c };
    return hs_remote_call(s, what, function_va, arguments, ret_value);
}

/* Closes a descriptor of the target. From the moment when the thread enters the call, its return
 * chain no longer closes the descriptor. */
static int close_remote(struct hs_inject_session *s, int remote_fd)
{
    uint64_t unused;
    hs_return_chain_hand_over_fd(&s->tracee.return_chain);
    int r = call(s, "close", s->syscall_va, SYS_close, (uint64_t)remote_fd, 0, &unused);
    hs_return_chain_set_fd(&s->tracee.return_chain, -1);
    return r;
}

/* --- loading ---------------------------------------------------------------------------------- */

static int make_memfd(struct hs_inject_session *s, int *ret_fd)
{
    uint64_t name_va = 0, value = 0;
    int32_t error = 0;
    const char *name = s->request->library_name ? s->request->library_name : "";
    char text[PATH_BYTES];
    snprintf(text, sizeof(text), "%.200s", name);
    int r = hs_remote_put(s, text, strlen(text) + 1, &name_va);
    hs_return_chain_await_fd(&s->tracee.return_chain, 0);
    if (r == HS_INJECT_DONE) {
        r = call(s, "memfd_create", s->syscall_va, SYS_memfd_create, name_va, MFD_CLOEXEC, &value);
    }
    hs_return_chain_set_fd(&s->tracee.return_chain, r == HS_INJECT_DONE ? (int)value : -1);
    if (r == HS_INJECT_DONE && (int64_t)value < 0) {
        if (hs_remote_memory_read(&s->memory, s->errno_va, &error, sizeof(error)) == 0) {
            hs_inject_session_say(s, "%s", strerror(error));
        }
        return HS_INJECT_NO_MEMFD;
    }
    *ret_fd = (int)value;
    return r;
}

/* Fills the file, with forks held from the beginning on: so a fork that is in progress in spite of
 * that has some time to end before dlopen begins. */
static int fill_memfd(struct hs_inject_session *s, int remote_fd)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)s->view_tid, remote_fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    int r = fd < 0 ? HS_INJECT_DONE : hs_remote_hold_begin(s, remote_fd, fd);
    int r2 = fd < 0 ? -errno : hs_write_all(fd, s->library.bytes, s->library.size_bytes);
    if (fd >= 0) {
        close(fd);
    }
    if (r == HS_INJECT_DONE && r2 < 0) {
        hs_inject_session_say(s, "it cannot be filled: %s", strerror(-r2));
        return HS_INJECT_NO_MEMFD;
    }
    return r;
}

/* The loader takes two files with one path for the same file. The descriptor's number may be the
 * same as that of an earlier library, so each such library gets another path to its descriptor. A
 * program that loads libraries from descriptors of its own writes /proc/self/fd/N; it would get our
 * library in place of its own, so ours has a path that no program writes. */
static void name_file(const struct hs_inject_session *s, int remote_fd, char *ret_path)
{
    size_t n = (size_t)snprintf(ret_path, PATH_BYTES, "%s", HS_REMOTE_FD_FOLDER);
    for (size_t i = 0; i < s->objects.count; i++) {
        if (s->objects.items[i].is_from_descriptor && n + 32 < PATH_BYTES) {
            n += (size_t)snprintf(ret_path + n, PATH_BYTES - n, "./");
        }
    }
    snprintf(ret_path + n, PATH_BYTES - n, "%d", remote_fd);
}

static int say_dlerror(struct hs_inject_session *s)
{
    uint64_t text_va = 0;
    char text[HS_INJECT_DETAIL_BYTES] = "";
    if (s->dlerror_va != 0) {
        int r = call(s, "dlerror", s->dlerror_va, 0, 0, 0, &text_va);
        if (r != HS_INJECT_DONE) {
            return r;
        }
        hs_remote_memory_read_text(&s->memory, text_va, text, sizeof(text));
    }
    hs_inject_session_say(s, "%s", text);
    return HS_INJECT_REFUSED;
}

static int open_library(struct hs_inject_session *s, int remote_fd, uint64_t *ret_map_va)
{
    char path[PATH_BYTES];
    uint64_t path_va;
    name_file(s, remote_fd, path);
    int r = hs_remote_put(s, path, strlen(path) + 1, &path_va);
    if (r == HS_INJECT_DONE) {
        r = call(s, "dlopen", s->dlopen_va, path_va,
                 (uint32_t)(RTLD_NOW | RTLD_LOCAL | s->dlopen_flags), 0, ret_map_va);
    }
    return r == HS_INJECT_DONE && *ret_map_va == 0 ? say_dlerror(s) : r;
}

/* The handle that glibc's dlopen returns is the address of its struct link_map. */
static int find_function(struct hs_inject_session *s, uint64_t map_va)
{
    struct hs_remote_object object;
    struct hs_remote_symbol symbol;
    uint64_t unused;
    if (!hs_remote_objects_read_map(&s->memory, map_va, &object, &unused) ||
        !hs_remote_objects_symbol(&s->memory, &object, s->request->symbol, &symbol)) {
        return HS_INJECT_NO_SYMBOL;
    }
    s->function_va = symbol.va;
    return HS_INJECT_DONE;
}

static int load(struct hs_inject_session *s)
{
    int remote_fd = -1;
    uint64_t map_va = 0;
    int r = make_memfd(s, &remote_fd);
    if (r != HS_INJECT_DONE) {
        return r;
    }
    r = fill_memfd(s, remote_fd);
    r = r == HS_INJECT_DONE ? open_library(s, remote_fd, &map_va) : r;
    if (r == HS_INJECT_CRASHED || r == HS_INJECT_HUNG || r == HS_INJECT_DIED) {
        return r;
    }
    hs_remote_hold_loaded(s);
    int r2 = close_remote(s, remote_fd);
    r = r == HS_INJECT_DONE ? r2 : r;
    return r == HS_INJECT_DONE ? find_function(s, map_va) : r;
}

/* --- the call --------------------------------------------------------------------------------- */

static int open_remote(const struct hs_inject_session *s, int remote_fd)
{
    char path[64];
    int fd = s->pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, s->pidfd, remote_fd, 0);
    if (fd < 0) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)s->view_tid, remote_fd);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    return fd;
}

/* Takes over the descriptor that the call has left, and closes it in the target. */
static int fetch(struct hs_inject_session *s, const uint8_t *arg)
{
    int32_t remote_fd;
    size_t off = (size_t)s->request->fetch_fd_off;
    memcpy(&remote_fd, arg + off, sizeof(remote_fd));
    hs_return_chain_set_fd(&s->tracee.return_chain, remote_fd);
    if (remote_fd < 0) {
        return HS_INJECT_DONE;
    }
    int fd = open_remote(s, remote_fd);
    if (fd < 0) {
        hs_inject_session_say(s, "descriptor %d: %s", (int)remote_fd, strerror(errno));
    }
    int r = close_remote(s, remote_fd);
    if (fd >= 0 && r != HS_INJECT_DONE) {
        close(fd);
        fd = -1;
    }
    s->result->fd = fd;
    return r == HS_INJECT_DONE && fd < 0 ? HS_INJECT_NO_DESCRIPTOR : r;
}

static int call_function(struct hs_inject_session *s)
{
    const struct hs_inject_request *request = s->request;
    uint64_t arg_va = 0, value = 0;
    int r = HS_INJECT_DONE;
    if (request->arg_bytes > 0) {
        r = hs_remote_put(s, request->arg, request->arg_bytes, &arg_va);
    }
    if (r == HS_INJECT_DONE && request->fetch_fd_off >= 0) {
        hs_return_chain_await_fd(&s->tracee.return_chain, arg_va + (uint64_t)request->fetch_fd_off);
    }
    if (r == HS_INJECT_DONE) {
        r = call(s, request->symbol, s->function_va, arg_va, 0, 0, &value);
    }
    hs_remote_hold_end(s);
    if (r != HS_INJECT_DONE) {
        return r;
    }
    s->result->value = (int32_t)(uint32_t)value;
    if (request->arg_bytes > 0 &&
        hs_remote_memory_read(&s->memory, arg_va, request->arg, request->arg_bytes) < 0) {
        return HS_INJECT_BAD_MEMORY;
    }
    return request->fetch_fd_off >= 0 ? fetch(s, request->arg) : HS_INJECT_DONE;
}

int hs_remote_call_sequence_run(struct hs_inject_session *s)
{
    s->errno_va = hs_remote_thread_va(&s->tracee.start) + (uint64_t)s->errno_off;
    int32_t old_errno = 0;
    int r = HS_INJECT_DONE;
    if (s->errno_off == 0) {
        r = call(s, "__errno_location", s->errno_function_va, 0, 0, 0, &s->errno_va);
    }
    if (r != HS_INJECT_DONE) {
        return r;
    }
    if (hs_remote_memory_read(&s->memory, s->errno_va, &old_errno, sizeof(old_errno)) < 0) {
        return HS_INJECT_BAD_MEMORY;
    }
    hs_return_chain_set_errno(&s->tracee.return_chain, s->errno_va, old_errno);
    r = s->function_va == 0 ? load(s) : HS_INJECT_DONE;
    r = r == HS_INJECT_DONE ? call_function(s) : r;
    hs_remote_hold_end(s);
    if (r != HS_INJECT_DIED) {
        hs_remote_memory_write(&s->memory, s->errno_va, &old_errno, sizeof(old_errno));
    }
    return r;
}
