-- Frames that have no name yet and could get one, because the build id of their module is known.
DROP TABLE IF EXISTS _stacks_used_frames;
CREATE VIRTUAL TABLE _stacks_used_frames USING __heapscope_used_frames;

CREATE OR REPLACE PERFETTO TABLE _stacks_symbolization_candidates AS
SELECT DISTINCT u.upid AS upid, m.name AS module, m.build_id AS build_id, f.rel_pc AS rel_pc,
  CASE WHEN LENGTH(m.build_id) >= 32 THEN LOWER(
    SUBSTR(m.build_id, 7, 2) || SUBSTR(m.build_id, 5, 2) || SUBSTR(m.build_id, 3, 2) ||
    SUBSTR(m.build_id, 1, 2) || SUBSTR(m.build_id, 11, 2) || SUBSTR(m.build_id, 9, 2) ||
    SUBSTR(m.build_id, 15, 2) || SUBSTR(m.build_id, 13, 2) || SUBSTR(m.build_id, 17, 16)
  ) || '0' END AS breakpad_module_id
FROM _stacks_used_frames u
JOIN stack_profile_frame f ON f.id = u.frame_id
JOIN stack_profile_mapping m ON m.id = f.mapping
WHERE f.symbol_set_id IS NULL AND m.build_id != '';

DROP TABLE _stacks_used_frames;
