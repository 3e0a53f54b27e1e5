/*
 * The figures of the columns of a table. Of a large profile they are added up piece by piece, so
 * that the page answers meanwhile; until all are there, what was shown before stays.
 */
import { useEffect, useMemo, useState } from "preact/hooks";

import { currentAddress } from "../state.ts";
import type { FigureColumn } from "./figure_columns.ts";
import type { Kind } from "./kinds.ts";
import type { ColumnSums, Sums } from "./sums.ts";

export interface SummedColumns {
  columns: readonly FigureColumn[];
  /* Of each column; null: not recorded. */
  figures: readonly (ColumnSums | null)[];
  /* The address that they were added up for. */
  address: string;
}

export interface Progress {
  done: number;
  of: number;
}

/* Does the steps one after the other; between them, the page answers. */
export async function inSteps(
  steps: readonly (() => void)[],
  onStep: (progress: Progress) => void,
  isStopped: () => boolean,
): Promise<boolean> {
  for (let done = 0; done < steps.length; done++) {
    onStep({ done, of: steps.length });
    await new Promise((next) => setTimeout(next));
    if (isStopped()) return false;
    steps[done]();
  }
  return !isStopped();
}

function summed(sums: Sums, kind: Kind, columns: readonly FigureColumn[]): SummedColumns {
  const figures = columns.map((column) => sums.column(kind, column));
  return { columns, figures, address: currentAddress().text };
}

/* `progress` is null when the shown columns are those that were asked for. */
export function useColumns(
  sums: Sums,
  kind: Kind,
  columns: readonly FigureColumn[],
): { shown: SummedColumns | null; progress: Progress | null } {
  const key = columns.map((column) => column.key).join();
  const [ready, setReady] = useState<{ sums: Sums; key: string; shown: SummedColumns } | null>(
    null,
  );
  const [progress, setProgress] = useState<Progress | null>(null);
  const isAtOnce = !sums.isLarge || sums.steps(kind, columns).length === 0;
  const atOnce = useMemo(
    () => (isAtOnce ? summed(sums, kind, columns) : null),
    [sums, kind, key, isAtOnce],
  );
  useEffect(() => {
    if (atOnce) {
      if (sums.isLarge) setReady({ sums, key, shown: atOnce });
      return undefined;
    }
    let isStopped = false;
    void inSteps(sums.steps(kind, columns), setProgress, () => isStopped).then((isDone) => {
      if (isDone) setReady({ sums, key, shown: summed(sums, kind, columns) });
    });
    return () => void (isStopped = true);
  }, [sums, kind, key]);
  if (atOnce) return { shown: atOnce, progress: null };
  if (ready?.sums === sums && ready.key === key) return { shown: ready.shown, progress: null };
  return { shown: ready?.shown ?? null, progress: progress ?? { done: 0, of: 1 } };
}
