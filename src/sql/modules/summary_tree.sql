-- All allocations of all processes, dumps and heaps in one tree.
INCLUDE PERFETTO MODULE android.memory.heap_profile.callstacks;

CREATE OR REPLACE PERFETTO TABLE _heap_profile_summary_self AS
SELECT * FROM _android_heap_profile_callstacks_for_allocations!((
  SELECT callsite_id, size, count, MAX(size, 0) AS alloc_size, MAX(count, 0) AS alloc_count
  FROM heap_profile_allocation
));

-- A flame graph in which nothing is merged adds up what is below each.
DROP TABLE IF EXISTS _heap_profile_summary_graph;
CREATE VIRTUAL TABLE _heap_profile_summary_graph USING __intrinsic_flamegraph((
  SELECT id, parent_id, '' AS name, id AS node, self_size, self_alloc_size
  FROM _heap_profile_summary_self
));

CREATE OR REPLACE PERFETTO TABLE _heap_profile_summary_sums AS
SELECT node, cumulative_self_size AS size, cumulative_self_alloc_size AS alloc_size
FROM _heap_profile_summary_graph(__intrinsic_flamegraph_config(
  'grouping', 'node', 'value', 'self_alloc_size', 'value', 'self_size'
));

CREATE OR REPLACE PERFETTO INDEX _heap_profile_summary_index ON _heap_profile_summary_sums(node);

DROP TABLE _heap_profile_summary_graph;

CREATE OR REPLACE PERFETTO TABLE android_heap_profile_summary_tree AS
SELECT s.id, s.parent_id, s.name, s.mapping_name, s.source_file, s.line_number, s.self_size,
  COALESCE(c.size, 0) AS cumulative_size, s.self_alloc_size,
  COALESCE(c.alloc_size, 0) AS cumulative_alloc_size
FROM _heap_profile_summary_self s
LEFT JOIN _heap_profile_summary_sums c ON c.node = s.id;
