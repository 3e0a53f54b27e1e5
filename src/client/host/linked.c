/*
 * The mark of libheapscope_malloc.so. See linked.h.
 */
#include "client/host/linked.h"

const char hs_linked_mark = 1;
