/*
 * Messages between commands and the processes that record: one datagram each, see fmt/ctl_layout.h
 * and ctl.proto.
 *
 * Neither side waits for the other here: a message that cannot be sent at once is an error. A long
 * answer does not fit into a socket's buffer, and a daemon that waited for a slow reader could be
 * stopped by it. So such a body goes into a memfd, and a datagram is always small.
 *
 * Ensures   every descriptor that arrives is received with close-on-exec, and handed out or closed.
 *           Of a body only the length has been checked.
 * Threads   none.
 * Fails     -EAGAIN: no message, or no room; -EPROTO: not a message of this protocol;
 *           -EPROTONOSUPPORT: of another version; -ECONNRESET: the other side is gone; otherwise
 *           -errno.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "fmt/ctl_layout.h"
#include "rt/base.h"

#define HS_CTL_FDS_MAX 3U

struct hs_ctl_message {
    uint32_t kind; /* enum hs_ctl_kind */
    uint8_t *body; /* owned by this struct, like the descriptors */
    size_t body_bytes;
    int fds[HS_CTL_FDS_MAX];
    size_t fd_count;
};

/* Checks the head and the length of a datagram as it arrived. 0, -EPROTO or -EPROTONOSUPPORT. */
int hs_ctl_parse(const void *data, size_t bytes, struct hs_ctl_head_v1 *ret_head);

/* Sends a message with descriptors. The caller keeps `fds`. 0, or see Fails. */
int hs_ctl_send(int sock, enum hs_ctl_kind kind, const ProtobufCMessage *body, const int *fds,
                size_t fd_count);

/* Sends an Error message with a human-readable text, formatted like printf. 0, or see Fails. */
int hs_ctl_refuse(int sock, const char *format, ...) HS_PRINTF(2, 3);
/* The same with a va_list. */
int hs_ctl_refuse_args(int sock, const char *format, va_list args);

/* Receives one message. `may_wait`: blocks if the socket does. 0, or see Fails. */
int hs_ctl_receive(int sock, bool may_wait, struct hs_ctl_message *ret_message);

/* Unpacks the body as a message of ctl.proto. The caller frees it with
 * protobuf_c_message_free_unpacked(). NULL: the body is not such a message. */
ProtobufCMessage *hs_ctl_unpack(const struct hs_ctl_message *message,
                                const ProtobufCMessageDescriptor *descriptor);

/* Receives one message without waiting, which must be of this kind, and unpacks it. The caller
 * frees *ret_body with protobuf_c_message_free_unpacked(). 0; -EPROTO: it is another one; or see
 * Fails. */
int hs_ctl_receive_body(int sock, uint32_t kind, const ProtobufCMessageDescriptor *descriptor,
                        ProtobufCMessage **ret_body);

/* Takes descriptor `idx` out of the message; the caller then owns it. -1: there is no such
 * descriptor. */
int hs_ctl_take_fd(struct hs_ctl_message *message, size_t idx);

/* Frees the body and closes the descriptors. A zeroed struct is allowed. */
void hs_ctl_message_deinit(struct hs_ctl_message *message);
