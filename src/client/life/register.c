/*
 * Sending the hello. See register.h.
 */
#include "client/life/register.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "client/host/real.h"
#include "client/tables/region.h"
#include "fmt/ctl_layout.h"
#include "rt/sys.h"

#define RETRY_NS 2000000

/* Makes the address of `name` and returns its length, or -ENAMETOOLONG. */
static int address_of(const char *name, struct sockaddr_un *ret_addr)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    bool is_path = name[0] == '/';
    size_t max = is_path ? HS_CTL_PATH_MAX : HS_CTL_NAME_MAX;
    size_t len = 0;
    while (len < max && name[len]) {
        addr.sun_path[len + !is_path] = name[len];
        len++;
    }
    if (name[len] != '\0') {
        return -ENAMETOOLONG;
    }
    *ret_addr = addr;
    return (int)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

int hs_register_connect(const char *name, unsigned tries)
{
    struct sockaddr_un addr;
    int addr_bytes = address_of(name, &addr);
    if (addr_bytes < 0) {
        return addr_bytes;
    }
    int fd = (int)hs_arch_syscall(SYS_socket, AF_UNIX,
                                  SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0, 0);
    if (fd < 0) {
        return fd;
    }
    long err = -EAGAIN;
    for (unsigned i = 0; i < tries && err == -EAGAIN; i++) {
        if (i > 0) {
            hs_sys_sleep_ns(RETRY_NS);
        }
        err = hs_arch_syscall(SYS_connect, fd, (long)&addr, addr_bytes, 0, 0, 0);
    }
    if (err < 0) {
        hs_sys_close(fd);
        return (int)err;
    }
    return fd;
}

static bool is_willing;

void hs_register_set_willing(void)
{
    is_willing = true;
}

uint32_t hs_register_flags(void)
{
    return (hs_real.has_own_malloc ? HS_HELLO_OWN_MALLOC : 0U) |
           (hs_real.is_from_start ? 0U : HS_HELLO_LATE) | (is_willing ? HS_HELLO_WILLING : 0U);
}

int hs_register_send(int sock, int fd, uint32_t flags)
{
    struct hs_hello_v1 hello = {
        .magic = HS_HELLO_MAGIC,
        .version = HS_HELLO_VERSION,
        .hello_bytes = sizeof(hello),
        .pid = hs_sys_getpid(),
        .flags = flags | hs_register_flags(),
        .region_bytes = hs_region.file_bytes,
    };
    struct iovec iov = { .iov_base = &hello, .iov_len = sizeof(hello) };
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS } };
    *(int *)(void *)CMSG_DATA(&control.header) = fd;
    struct msghdr message = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control.bytes),
    };
    long sent =
        hs_arch_syscall(SYS_sendmsg, sock, (long)&message, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0, 0);
    return sent < 0 ? (int)sent : 0;
}

int hs_register(const char *name, int fd, uint32_t flags)
{
    int sock = hs_register_connect(name, HS_CTL_CONNECT_MAX);
    if (sock < 0) {
        return sock;
    }
    int r = hs_register_send(sock, fd, flags);
    hs_sys_close(sock);
    return r;
}
