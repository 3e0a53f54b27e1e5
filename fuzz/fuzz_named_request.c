/*
 * Fuzz target: the message by which a process asks for a named snapshot of itself.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/named_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct hs_named_request request;
    if (hs_named_request_parse(data, bytes, &request) != 0) {
        return 0;
    }
    size_t name_bytes = strnlen(request.name, sizeof(request.name));
    if (name_bytes == 0 || name_bytes > HS_NAMED_SNAPSHOT_NAME_MAX || request.pid != 0 ||
        request.pidfd != -1 || request.connection_fd != -1) {
        abort();
    }
    return 0;
}
