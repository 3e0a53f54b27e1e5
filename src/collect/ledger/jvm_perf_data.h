/*
 * What a JVM publishes of its memory: the counters that jstat shows, in a file that the JVM has
 * mapped (/tmp/hsperfdata_USER/PID), as HotSpot of JDK 8 and newer writes it.
 *
 * Trust     the bytes are foreign: each offset is checked, and a limited number of entries is read.
 * Threads   pure function.
 * Fails     false: it is no such file, or of another byte order or version.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file is 32 KiB, unless the user has asked for more. */
#define HS_JVM_PERF_BYTES_MAX (UINT64_C(1) << 20)

/* 0: the JVM does not say. */
struct hs_jvm_perf_data {
    uint64_t generation_max_bytes[2]; /* young, old */
    uint64_t metaspace_bytes;         /* committed, with the classes' */
    uint64_t class_space_bytes;       /* committed */
    uint64_t class_space_max_bytes;   /* reserved */
};

bool hs_jvm_perf_data_parse(const uint8_t *bytes, size_t byte_count,
                            struct hs_jvm_perf_data *ret_data);
