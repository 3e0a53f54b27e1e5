/* A library that owns a heap and is unloaded: its callbacks are gone then. */
#include <stdio.h>

#include <heapscope/heapscope.h>

static void on_enabled(void *data, uint64_t interval_bytes)
{
    (void)data;
    printf("plugin enabled, %d\n", (int)interval_bytes);
}

static void on_disabled(void *data)
{
    (void)data;
    printf("plugin disabled\n");
}

uint32_t plugin_start(void);
uint32_t plugin_start(void)
{
    heapscope_heap *heap = heapscope_heap_create("plugin");
    heapscope_heap_set_callbacks(heap, on_enabled, on_disabled, NULL);
    return heapscope_heap_register(heap);
}

/* Reports so many blocks of 10 bytes; returns how many were recorded. */
unsigned plugin_report(unsigned count);
unsigned plugin_report(unsigned count)
{
    static uint32_t heap;
    unsigned recorded = 0;
    heap = heap ? heap : heapscope_heap_register(heapscope_heap_create("plugin.late"));
    for (unsigned i = 0; i < count; i++) {
        recorded += heapscope_report_alloc(heap, i, 10);
    }
    return recorded;
}
