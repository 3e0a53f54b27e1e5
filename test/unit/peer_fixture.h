/*
 * For tests of the daemon's peers: connections of our own user, whose other end the test has.
 */
#pragma once

#include "ctl/ctl.pb-c.h"
#include "ctl/ctl_message.h"
#include "daemon/peer.h"
#include "daemon_fixture.h"

/* Connects a peer. Returns the command's end. */
static inline int connect_peer(struct hs_peers *peers)
{
    int socks[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, socks),
                     0);
    hs_peer_add(peers, socks[0]);
    return socks[1];
}

/* Does the next message on this connection refuse something, with these words? */
static inline bool is_refused(int sock, const char *words)
{
    struct hs_ctl_message message;
    if (hs_ctl_receive(sock, false, &message) < 0) {
        return false;
    }
    Hs__Ctl__Error *error =
        message.kind == HS_CTL_ERROR
            ? (Hs__Ctl__Error *)(void *)hs_ctl_unpack(&message, &hs__ctl__error__descriptor)
            : NULL;
    bool is_so = error && error->text && strstr(error->text, words);
    hs__ctl__error__free_unpacked(error, NULL);
    hs_ctl_message_deinit(&message);
    return is_so;
}
