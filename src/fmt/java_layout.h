/*
 * What the client says of a JVM in its process: part of the region's header (region_layout.h).
 */
#pragma once

#include <stdint.h>

/* Why a JVM's structures are not read. The numbers stand in files. */
enum hs_java_refusal {
    HS_JAVA_READ,      /* they are read */
    HS_JAVA_NO_TABLES, /* it does not export what debuggers read */
    HS_JAVA_NO_FIELD,  /* a field, a type or a constant is missing there */
    HS_JAVA_BAD_FIELD, /* one of them cannot be what it should be */
    HS_JAVA_REFUSAL_N,
};

/* The JVM of a process. */
struct hs_java_v2 {
    uint32_t is_known; /* 1: the client has looked */
    uint32_t refusal;  /* enum hs_java_refusal */
    uint32_t vm_major; /* the version; 0: unknown */
    uint32_t reserved[5];
};

_Static_assert(sizeof(struct hs_java_v2) == 32, "layout v2");
