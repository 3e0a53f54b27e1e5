-- Call sites with their inlined functions as rows of their own: a forest, outermost functions at its roots.
CREATE OR REPLACE PERFETTO TABLE _callstack_spc_steps AS
SELECT
  ROW_NUMBER() OVER (ORDER BY c.id, s.id DESC) - 1 AS id,
  c.id AS callsite_id,
  c.parent_id AS parent_callsite_id,
  ROW_NUMBER() OVER (PARTITION BY c.id ORDER BY s.id DESC) AS step,
  COUNT(*) OVER (PARTITION BY c.id) AS step_count,
  NULLIF(COALESCE(s.name, f.deobfuscated_name, f.name), '') AS raw_name,
  m.name AS mapping_name,
  s.source_file AS source_file,
  s.line_number AS line_number,
  COALESCE(s.inlined, 0) AS inlined
FROM stack_profile_callsite c
JOIN stack_profile_frame f ON f.id = c.frame_id
LEFT JOIN stack_profile_mapping m ON m.id = f.mapping
LEFT JOIN stack_profile_symbol s ON s.symbol_set_id = f.symbol_set_id;

CREATE OR REPLACE PERFETTO TABLE _callstack_spc_leaves AS
SELECT callsite_id, id FROM _callstack_spc_steps WHERE step = step_count;

CREATE OR REPLACE PERFETTO INDEX _callstack_spc_leaf_index ON _callstack_spc_leaves(callsite_id);

CREATE OR REPLACE PERFETTO TABLE _callstack_spc_forest AS
SELECT
  t.id AS id,
  CASE WHEN t.step > 1 THEN t.id - 1 ELSE p.id END AS parent_id,
  t.callsite_id AS callsite_id,
  COALESCE(DEMANGLE(t.raw_name), t.raw_name, 'unknown') AS name,
  t.mapping_name AS mapping_name,
  t.source_file AS source_file,
  t.line_number AS line_number,
  t.inlined AS inlined,
  t.step = t.step_count AS is_leaf_function_in_callsite_frame
FROM _callstack_spc_steps t
LEFT JOIN _callstack_spc_leaves p ON p.callsite_id = t.parent_callsite_id;

CREATE OR REPLACE PERFETTO INDEX _callstack_spc_forest_index ON _callstack_spc_forest(id);

-- The part of the forest that leads to samples, which have a column callsite_id; self_count: how many end here.
CREATE OR REPLACE PERFETTO MACRO _callstacks_for_stack_profile_samples(samples TableOrSubquery)
RETURNS TableOrSubquery AS (
  WITH RECURSIVE
    _spc_counts AS MATERIALIZED (
      SELECT l.id AS id, COUNT(*) AS self_count
      FROM $samples s
      JOIN _callstack_spc_leaves l ON l.callsite_id = s.callsite_id
      GROUP BY l.id
    ),
    _spc_used(id, parent_id) AS (
      SELECT f.id, f.parent_id FROM _spc_counts c JOIN _callstack_spc_forest f ON f.id = c.id
      UNION
      SELECT f.id, f.parent_id FROM _spc_used u JOIN _callstack_spc_forest f ON f.id = u.parent_id
    )
  SELECT f.id, f.parent_id, f.callsite_id, f.name, f.mapping_name, f.source_file, f.line_number,
    f.inlined, f.is_leaf_function_in_callsite_frame, COALESCE(c.self_count, 0) AS self_count
  FROM _spc_used u
  JOIN _callstack_spc_forest f ON f.id = u.id
  LEFT JOIN _spc_counts c ON c.id = u.id
);
