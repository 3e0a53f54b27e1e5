-- One tree with all allocations of all processes, dumps and heaps.
INCLUDE PERFETTO MODULE android.memory.heap_profile.callstacks;

DROP TABLE IF EXISTS android_heap_profile_summary_tree;
CREATE VIRTUAL TABLE android_heap_profile_summary_tree USING __heapscope_summary_tree;
