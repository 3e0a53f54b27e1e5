/*
 * Datagrams with bodies and descriptors: see ctl_message.h.
 */
#include "ctl/ctl_message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "util/fd_message.h"
#include "util/write_all.h"

#define HS_DATAGRAM_MAX (sizeof(struct hs_ctl_head_v1) + HS_CTL_BODY_MAX)
#define HS_TEXT_BYTES   4096

int hs_ctl_parse(const void *data, size_t bytes, struct hs_ctl_head_v1 *ret_head)
{
    struct hs_ctl_head_v1 head;
    if (bytes < sizeof(head)) {
        return -EPROTO;
    }
    memcpy(&head, data, sizeof(head));
    if (head.magic != HS_CTL_MAGIC) {
        return -EPROTO;
    }
    bool has_heaps = head.version == HS_CTL_VERSION_HEAPS && head.kind == HS_CTL_START;
    if (head.version != HS_CTL_VERSION && !has_heaps) {
        return -EPROTONOSUPPORT;
    }
    bool is_in_file = (head.flags & HS_CTL_IN_FILE) != 0;
    size_t follows = is_in_file ? 0 : head.body_bytes;
    /* Requests have even kinds, and are short. */
    if ((is_in_file && head.kind % 2 == 0) || head.kind >= HS_CTL_KIND_N || head.kind == 1 ||
        bytes != sizeof(head) + follows || head.body_bytes > HS_CTL_FILE_MAX) {
        return -EPROTO;
    }
    *ret_head = head;
    return 0;
}

/* --- sending ---------------------------------------------------------------------------------- */

static int put_in_file(const uint8_t *body, size_t bytes, int *ret_fd)
{
    int fd = memfd_create("heapscope-message", MFD_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int r = hs_write_all(fd, body, bytes);
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

/* A receiver of an older version must refuse what it would misunderstand. It records malloc's heap
 * alone, and so need not know a selection of just that. */
static uint32_t version_of(enum hs_ctl_kind kind, const ProtobufCMessage *body)
{
    const Hs__Ctl__Heaps *heaps =
        kind == HS_CTL_START ? ((const Hs__Ctl__Start *)(const void *)body)->heaps : NULL;
    bool is_malloc_alone =
        heaps && !heaps->is_without_malloc && heaps->is_without_others && heaps->n_pattern == 0;
    return heaps && !is_malloc_alone ? HS_CTL_VERSION_HEAPS : HS_CTL_VERSION;
}

int hs_ctl_send(int sock, enum hs_ctl_kind kind, const ProtobufCMessage *body, const int *fds,
                size_t fd_count)
{
    int all[HS_CTL_FDS_MAX];
    int file_fd = -1;
    size_t bytes = protobuf_c_message_get_packed_size(body);
    struct hs_ctl_head_v1 head = { .magic = HS_CTL_MAGIC,
                                   .version = version_of(kind, body),
                                   .kind = kind,
                                   .body_bytes = (uint32_t)bytes };
    if (bytes > HS_CTL_FILE_MAX || fd_count + (bytes > HS_CTL_BODY_MAX) > HS_CTL_FDS_MAX) {
        return -EMSGSIZE;
    }
    uint8_t *datagram = malloc(sizeof(head) + bytes);
    if (!datagram) {
        return -ENOMEM;
    }
    protobuf_c_message_pack(body, datagram + sizeof(head));
    int r = 0;
    size_t datagram_bytes = sizeof(head) + bytes;
    for (size_t i = 0; i < fd_count; i++) {
        all[i] = fds[i];
    }
    if (bytes > HS_CTL_BODY_MAX) {
        r = put_in_file(datagram + sizeof(head), bytes, &file_fd);
        head.flags |= HS_CTL_IN_FILE;
        datagram_bytes = sizeof(head);
        all[fd_count++] = file_fd;
    }
    memcpy(datagram, &head, sizeof(head));
    if (r == 0) {
        r = hs_fd_message_send(sock, datagram, datagram_bytes, all, fd_count, MSG_DONTWAIT);
    }
    if (file_fd >= 0) {
        close(file_fd);
    }
    free(datagram);
    return r;
}

int hs_ctl_refuse_args(int sock, const char *format, va_list args)
{
    char text[HS_TEXT_BYTES];
    Hs__Ctl__Error error = HS__CTL__ERROR__INIT;
    vsnprintf(text, sizeof(text), format, args);
    error.text = text;
    return hs_ctl_send(sock, HS_CTL_ERROR, &error.base, NULL, 0);
}

int hs_ctl_refuse(int sock, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int r = hs_ctl_refuse_args(sock, format, args);
    va_end(args);
    return r;
}

/* --- receiving -------------------------------------------------------------------------------- */

/* Copies a body out of its file, so that the sender can no longer change it. */
static int read_file(struct hs_ctl_message *message, size_t bytes)
{
    size_t done = 0;
    int fd = message->fd_count > 0 ? message->fds[--message->fd_count] : -1;
    struct stat st;
    int r = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : -EPROTO;
    message->body = r == 0 ? malloc(bytes + 1) : NULL;
    if (r == 0 && !message->body) {
        r = -ENOMEM;
    }
    while (r == 0 && done < bytes) {
        ssize_t got = pread(fd, message->body + done, bytes - done, (off_t)done);
        if (got <= 0) {
            r = got < 0 && errno == EINTR ? 0 : -EPROTO;
        } else {
            done += (size_t)got;
        }
    }
    message->body_bytes = done;
    if (fd >= 0) {
        close(fd);
    }
    return r;
}

/* Takes over the body that arrived. */
static int take_body(const uint8_t *datagram, size_t bytes, struct hs_ctl_message *message)
{
    struct hs_ctl_head_v1 head;
    int r = hs_ctl_parse(datagram, bytes, &head);
    if (r < 0) {
        return r;
    }
    message->kind = head.kind;
    if (head.flags & HS_CTL_IN_FILE) {
        return read_file(message, head.body_bytes);
    }
    message->body = malloc(head.body_bytes + 1);
    if (!message->body) {
        return -ENOMEM;
    }
    memcpy(message->body, datagram + sizeof(head), head.body_bytes);
    message->body_bytes = head.body_bytes;
    return 0;
}

int hs_ctl_receive(int sock, bool may_wait, struct hs_ctl_message *ret_message)
{
    struct hs_ctl_message message = { 0 };
    /* One byte more than the longest message: a datagram that fills it is too long. */
    uint8_t *datagram = malloc(HS_DATAGRAM_MAX + 1);
    if (!datagram) {
        return -ENOMEM;
    }
    ssize_t got =
        hs_fd_message_receive(sock, datagram, HS_DATAGRAM_MAX + 1, message.fds, HS_CTL_FDS_MAX,
                              &message.fd_count, may_wait ? 0 : MSG_DONTWAIT);
    int r = got < 0 ? (got == -EINTR ? -EAGAIN : (int)got) : 0;
    if (r == 0) {
        r = got == 0 ? -ECONNRESET : take_body(datagram, (size_t)got, &message);
    }
    free(datagram);
    if (r < 0) {
        hs_ctl_message_deinit(&message);
        return r;
    }
    *ret_message = message;
    return 0;
}

ProtobufCMessage *hs_ctl_unpack(const struct hs_ctl_message *message,
                                const ProtobufCMessageDescriptor *descriptor)
{
    return protobuf_c_message_unpack(descriptor, NULL, message->body_bytes, message->body);
}

int hs_ctl_receive_body(int sock, uint32_t kind, const ProtobufCMessageDescriptor *descriptor,
                        ProtobufCMessage **ret_body)
{
    struct hs_ctl_message message;
    int r = hs_ctl_receive(sock, false, &message);
    if (r < 0) {
        return r;
    }
    *ret_body = message.kind == kind ? hs_ctl_unpack(&message, descriptor) : NULL;
    hs_ctl_message_deinit(&message);
    return *ret_body ? 0 : -EPROTO;
}

int hs_ctl_take_fd(struct hs_ctl_message *message, size_t idx)
{
    if (idx >= message->fd_count) {
        return -1;
    }
    int fd = message->fds[idx];
    message->fds[idx] = -1;
    return fd;
}

void hs_ctl_message_deinit(struct hs_ctl_message *message)
{
    for (size_t i = 0; i < message->fd_count; i++) {
        if (message->fds[i] >= 0) {
            close(message->fds[i]);
        }
    }
    free(message->body);
    *message = (struct hs_ctl_message){ 0 };
}
