/*
 * Messages between commands and whoever records processes: one datagram each, see fmt/ctl_layout.h and ctl.proto.
 *
 * Neither side waits for the other here: what cannot be sent at once is an error. A long answer does not fit
 * a socket's buffer, and whoever has to be waited for can stop a daemon; so such a body goes into a memfd,
 * and a datagram is always small.
 *
 * Holds     every descriptor that comes is received with close-on-exec, handed out or closed. A body has
 *           been checked for its length, and nothing else.
 * Threads   none.
 * Fails     -EAGAIN: nothing there, or no room; -EPROTO: not one of our messages; -EPROTONOSUPPORT: of another
 *           version; -ECONNRESET: the other side is gone; -errno else.
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
    uint8_t *body; /* owned, as are the descriptors */
    size_t body_bytes;
    int fds[HS_CTL_FDS_MAX];
    size_t fd_count;
};

/* Is this a message? Head and body of a datagram as it came; 0, -EPROTO or -EPROTONOSUPPORT. */
int hs_ctl_parse(const void *data, size_t bytes, struct hs_ctl_head_v1 *ret_head);

/* `fds` stay the caller's. */
int hs_ctl_send(int sock, enum hs_ctl_kind kind, const ProtobufCMessage *body, const int *fds,
                size_t fd_count);

/* An error, in words for people. */
int hs_ctl_refuse(int sock, const char *format, ...) HS_PRINTF(2, 3);
int hs_ctl_refuse_args(int sock, const char *format, va_list args);

/* `may_wait`: blocks as the socket does. */
int hs_ctl_receive(int sock, bool may_wait, struct hs_ctl_message *ret_message);

/* The body as a message of ctl.proto, to be freed with protobuf_c_message_free_unpacked(); NULL: it is none. */
ProtobufCMessage *hs_ctl_unpack(const struct hs_ctl_message *message,
                                const ProtobufCMessageDescriptor *descriptor);

/* Takes a descriptor out: it is the caller's then. -1: there is none of this number. */
int hs_ctl_take_fd(struct hs_ctl_message *message, size_t idx);

/* Fine on a zeroed struct. */
void hs_ctl_message_deinit(struct hs_ctl_message *message);
