/*
 * Allocating blocks ahead. See python_stash.h.
 */
#include "client/life/python_stash.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "client/host/real.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"

#define CLASS_BYTES 16U
#define CLASSES     (HS_PYTHON_SMALL_BYTES / CLASS_BYTES)
/* How much is allocated at a time, of one size: each time twice as much, up to a limit. */
#define BATCH_BYTES_MIN 1024U
#define BATCH_BYTES_MAX 32768U

static uint32_t is_busy;
static struct {
    void *first; /* of a list, through the first words of the blocks; NULL: it is empty */
    uint32_t batch_bytes;
} classes[CLASSES];

static HS_COLD void fill(size_t class)
{
    size_t block_bytes = (class + 1) * CLASS_BYTES;
    uint32_t batch_bytes = 2 * classes[class].batch_bytes;
    batch_bytes = batch_bytes < BATCH_BYTES_MIN   ? BATCH_BYTES_MIN
                  : batch_bytes < BATCH_BYTES_MAX ? batch_bytes
                                                  : BATCH_BYTES_MAX;
    classes[class].batch_bytes = batch_bytes;
    void **end = &classes[class].first;
    for (size_t bytes = 0; bytes < batch_bytes; bytes += block_bytes) {
        void **block = hs_real.malloc(block_bytes);
        if (!block) {
            return;
        }
        *block = NULL;
        *end = block;
        end = block;
    }
}

void *hs_python_stash_take(size_t size_bytes)
{
    size_t class = (size_bytes - 1) / CLASS_BYTES;
    uint32_t is_free = 0;
    HS_ASSERT(class < CLASSES);
    /* ORDER python-stash: the list as the last thread left it. */
    if (!hs_cas_acq_rel(&is_busy, &is_free, 1)) {
        return hs_real.malloc(size_bytes);
    }
    if (!classes[class].first) {
        fill(class);
    }
    void **block = classes[class].first;
    classes[class].first = block ? *block : NULL;
    /* ORDER python-stash: as above. */
    hs_store_release(&is_busy, 0);
    return block;
}

void hs_python_stash_follow_fork(void)
{
    is_busy = 0;
}
