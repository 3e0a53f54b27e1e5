/*
 * This process, seen as if it were another one: input for the tests of injection.
 *
 * Threads   one.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/check/inject_error.h"
#include "inject/remote/remote_maps.h"
#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"

struct remote_self {
    struct hs_remote_memory memory;
    struct hs_remote_objects objects;
    struct hs_remote_maps maps;
};

static inline void remote_self_init(struct remote_self *self, pid_t pid)
{
    *self = (struct remote_self){ 0 };
    assert_int_equal(hs_remote_memory_open(pid, &self->memory), 0);
    assert_int_equal(hs_remote_objects_load(pid, &self->memory, &self->objects), HS_INJECT_DONE);
    assert_int_equal(hs_remote_maps_load(pid, &self->maps), 0);
}

static inline void remote_self_deinit(struct remote_self *self)
{
    hs_remote_maps_deinit(&self->maps);
    hs_remote_objects_deinit(&self->objects);
    hs_remote_memory_close(&self->memory);
}
