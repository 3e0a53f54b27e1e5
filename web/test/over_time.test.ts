/* data/steps.ts, overview/drawn_steps.ts: values that hold, and their sum and highest ones. */
import { describe, expect, it } from "vitest";

import type { RawProfile } from "../src/data/documents.ts";
import { decodeProfile } from "../src/data/profile.ts";
import { sumOfSteps } from "../src/data/steps.ts";
import { highestOf, overTime } from "../src/overview/drawn_steps.ts";
import { sampleProfile, sampleSource } from "./sample.ts";

describe("a sum of steps", () => {
  it("has each value as long as it holds, and none after the end", () => {
    const parts = [
      { steps: { times: [0, 10, 30], values: [1, 5, 2] }, end: 40 },
      { steps: { times: [10, 20], values: [100, 200] }, end: null },
    ];
    expect(sumOfSteps(parts)).toEqual({
      times: [0, 10, 20, 30, 40],
      values: [1, 105, 205, 202, 200],
    });
  });

  it("keeps a value that was read after the end", () => {
    const parts = [{ steps: { times: [0, 10], values: [1, 5] }, end: 8 }];
    expect(sumOfSteps(parts)).toEqual({ times: [0, 10], values: [1, 0] });
  });
});

describe("the highest values", () => {
  const steps = { times: [10, 12, 14, 40], values: [3, 9, 4, 7] };

  it("are those of each part of the time, with what still holds", () => {
    expect(highestOf(steps, 0, 50, 5)).toEqual([null, 9, 4, 4, 7]);
  });

  it("include the value at the very end", () => {
    expect(highestOf(steps, 0, 40, 4)).toEqual([null, 9, 4, 7]);
  });

  it("are nothing before the first value", () => {
    expect(highestOf(steps, 0, 9, 3)).toEqual([null, null, null]);
  });
});

describe("memory over time", () => {
  const profileOf = (change: (raw: RawProfile) => void) => {
    const raw = structuredClone(sampleProfile());
    change(raw);
    return decodeProfile(raw, sampleSource());
  };
  const withLive = (raw: RawProfile) => {
    raw.tracks = [...raw.tracks, { ...raw.tracks[0], name: "heap.live" }];
  };

  it("needs the counter of live memory", () => {
    expect(
      overTime(
        profileOf(() => {}),
        [0],
      ),
    ).toBeNull();
  });

  it("has the live and the resident memory of one process", () => {
    const found = overTime(profileOf(withLive), [0]);
    expect(found?.live).toEqual({ times: [0, 1000, 2000], values: [4000, 4500, 5000] });
    expect(found?.rss?.values).toEqual([4000, 4500, 5000]);
    expect(found).toMatchObject({ from: 0, to: 2000, processCount: 1 });
  });

  it("has no resident memory of several processes, which share some of it", () => {
    const profile = profileOf((raw) => {
      withLive(raw);
      raw.processes = [...raw.processes, { ...raw.processes[0], pid: 43 }];
    });
    expect(overTime(profile, [0, 1])).toMatchObject({ rss: null, processCount: 1 });
  });
});
