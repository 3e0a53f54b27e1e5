/*
 * Asks the kernel: see peer_user.h.
 */
#include "http/peer_user.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/proc.h"

#define TCP_ESTABLISHED_STATE 1
#define ANSWER_BYTES          4096

/* --- netlink ---------------------------------------------------------------------------------- */

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

static int ask(int sock, const struct sockaddr_in *peer, const struct sockaddr_in *own)
{
    struct question question = {
        .head = { .nlmsg_len = sizeof(question),
                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                  .nlmsg_flags = NLM_F_REQUEST },
        .body = { .sdiag_family = AF_INET,
                  .sdiag_protocol = IPPROTO_TCP,
                  .idiag_states = 1U << TCP_ESTABLISHED_STATE,
                  .id = { .idiag_sport = peer->sin_port,
                          .idiag_dport = own->sin_port,
                          .idiag_src = { peer->sin_addr.s_addr },
                          .idiag_dst = { own->sin_addr.s_addr },
                          .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
    };
    const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    ssize_t sent = sendto(sock, &question, sizeof(question), 0,
                          (const struct sockaddr *)(const void *)&kernel, sizeof(kernel));
    return sent == (ssize_t)sizeof(question) ? 0 : sent < 0 ? -errno : -EIO;
}

static int take(const struct inet_diag_msg *found, const struct sockaddr_in *peer,
                const struct sockaddr_in *own, uid_t *ret_uid)
{
    if (found->idiag_family != AF_INET || found->idiag_state != TCP_ESTABLISHED_STATE ||
        found->idiag_inode == 0 || found->id.idiag_sport != peer->sin_port ||
        found->id.idiag_dport != own->sin_port || found->id.idiag_src[0] != peer->sin_addr.s_addr ||
        found->id.idiag_dst[0] != own->sin_addr.s_addr) {
        return -ENOENT;
    }
    *ret_uid = found->idiag_uid;
    return 0;
}

/* The kernel answers before sendto() returns, so nothing waits here. */
static int read_answer(int sock, const struct sockaddr_in *peer, const struct sockaddr_in *own,
                       uid_t *ret_uid)
{
    union {
        struct nlmsghdr head;
        char bytes[ANSWER_BYTES];
    } answer;
    ssize_t got = recv(sock, &answer, sizeof(answer), MSG_DONTWAIT);
    if (got < 0) {
        return -errno;
    }
    if (!NLMSG_OK(&answer.head, (size_t)got)) {
        return -EPROTO;
    }
    const void *body = NLMSG_DATA(&answer.head);
    size_t body_bytes = NLMSG_PAYLOAD(&answer.head, 0);
    if (answer.head.nlmsg_type == NLMSG_ERROR && body_bytes >= sizeof(struct nlmsgerr)) {
        struct nlmsgerr error;
        memcpy(&error, body, sizeof(error));
        return error.error < 0 ? error.error : -EPROTO;
    }
    if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        body_bytes < sizeof(struct inet_diag_msg)) {
        return -EPROTO;
    }
    struct inet_diag_msg found;
    memcpy(&found, body, sizeof(found));
    return take(&found, peer, own, ret_uid);
}

static int ask_netlink(const struct sockaddr_in *peer, const struct sockaddr_in *own,
                       uid_t *ret_uid)
{
    int sock = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (sock < 0) {
        return -errno;
    }
    int r = ask(sock, peer, own);
    r = r ? r : read_answer(sock, peer, own, ret_uid);
    close(sock);
    return r;
}

/* --- /proc ------------------------------------------------------------------------------------ */

struct row {
    unsigned long local_address, local_port, peer_address, peer_port, state, uid, inode;
};

/* Reads a number, and what must stand behind it. */
static bool take_number(const char **at, int base, char behind, unsigned long *ret_number)
{
    char *end = NULL;
    *ret_number = strtoul(*at, &end, base);
    bool is_good = end != *at && *end == behind;
    *at = is_good ? end + 1 : end;
    return is_good;
}

/* "  7: 0100007F:1000 0100007F:2000 01 00000000:00000000 00:00000000 00000000  1000  0 4711 ..." */
static bool parse_row(const char *line, struct row *row)
{
    unsigned long unused;
    return take_number(&line, 10, ':', &unused) &&
           take_number(&line, 16, ':', &row->local_address) &&
           take_number(&line, 16, ' ', &row->local_port) &&
           take_number(&line, 16, ':', &row->peer_address) &&
           take_number(&line, 16, ' ', &row->peer_port) &&
           take_number(&line, 16, ' ', &row->state) && take_number(&line, 16, ':', &unused) &&
           take_number(&line, 16, ' ', &unused) && take_number(&line, 16, ':', &unused) &&
           take_number(&line, 16, ' ', &unused) && take_number(&line, 16, ' ', &unused) &&
           take_number(&line, 10, ' ', &row->uid) && take_number(&line, 10, ' ', &unused) &&
           take_number(&line, 10, ' ', &row->inode);
}

static bool is_row_of(const struct row *row, const struct sockaddr_in *peer,
                      const struct sockaddr_in *own)
{
    return row->local_address == peer->sin_addr.s_addr &&
           row->local_port == ntohs(peer->sin_port) && row->peer_address == own->sin_addr.s_addr &&
           row->peer_port == ntohs(own->sin_port) && row->state == TCP_ESTABLISHED_STATE &&
           row->inode != 0;
}

int hs_peer_user_parse(const char *text, size_t text_bytes, const struct sockaddr_in *peer,
                       const struct sockaddr_in *own, uid_t *ret_uid)
{
    const char *end = text + text_bytes;
    while (text < end) {
        char line[256];
        struct row row;
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t bytes = (size_t)((newline ? newline : end) - text);
        snprintf(line, sizeof(line), "%.*s", (int)(bytes < 255 ? bytes : 255), text);
        if (parse_row(line, &row) && is_row_of(&row, peer, own)) {
            *ret_uid = (uid_t)row.uid;
            return 0;
        }
        text += bytes + 1;
    }
    return -ENOENT;
}

int hs_peer_user_from_proc(const struct sockaddr_in *peer, const struct sockaddr_in *own,
                           uid_t *ret_uid)
{
    struct hs_buf text = HS_BUF_INIT;
    int r = hs_proc_read_whole("/proc/net", "tcp", &text);
    r = r ? r : hs_peer_user_parse(hs_buf_text(&text), text.bytes, peer, own, ret_uid);
    hs_buf_deinit(&text);
    return r;
}

int hs_peer_user(const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *ret_uid)
{
    int r = ask_netlink(peer, own, ret_uid);
    /* A kernel or a sandbox may lack sock_diag; a kernel without its part for TCP says -ENOENT, as
     * it does of a connection that is not there. */
    return r == 0 ? 0 : hs_peer_user_from_proc(peer, own, ret_uid);
}
