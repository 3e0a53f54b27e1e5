/*
 * Writes memory, then exchanges one datagram in each direction: see waiting_call.h.
 */
#include "collect/attach/waiting_call.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#define ANSWER_MS 1000

static int receive_answer(int fd, int64_t *ret_value)
{
    struct pollfd news = { .fd = fd, .events = POLLIN };
    int32_t answer = 0;
    int r = poll(&news, 1, ANSWER_MS);
    if (r <= 0) {
        return r < 0 ? -errno : -ETIME;
    }
    ssize_t got = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
    if (got < 0) {
        return -errno;
    }
    if (got != (ssize_t)sizeof(answer)) {
        return got == 0 ? -EPIPE : -EPROTO;
    }
    *ret_value = answer;
    return 0;
}

int hs_waiting_call(int fd, const struct hs_remote_memory *memory,
                    const struct hs_remote_objects *objects,
                    const struct hs_detour_request_v1 *request, int64_t *ret_value)
{
    struct hs_remote_symbol symbol;
    if (!hs_remote_objects_search(memory, objects, HS_WAITING_SYMBOL, &symbol) ||
        symbol.size_bytes != sizeof(*request)) {
        return -ENOENT;
    }
    int r = hs_remote_memory_write(memory, symbol.va, request, sizeof(*request));
    if (r < 0) {
        return r;
    }
    if (send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
        return -errno;
    }
    return receive_answer(fd, ret_value);
}
