/* format.ts: the numbers are spelled as test/unit/test_human.c expects them of the text report. */
import { describe, expect, it } from "vitest";

import {
  bytes,
  confidence,
  count,
  cut,
  duration,
  exact,
  keepUnits,
  margin,
  marginShare,
  plural,
  rateUnit,
  share,
  signed,
} from "../src/format.ts";

describe("bytes", () => {
  it.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1023.6, "1.00 KiB"],
    [1024, "1.00 KiB"],
    [10 * 1024, "10.0 KiB"],
    [99.96 * 1024, "100 KiB"],
    [1023.99 * 1024, "1.00 MiB"],
    [96.3 * 1024 * 1024, "96.3 MiB"],
    [2 ** 60, "1.00 EiB"],
    [-2048, "−2.00 KiB"],
    [null, "not recorded"],
    [NaN, "not recorded"],
  ])("%s is %s", (value, text) => expect(bytes(value)).toBe(text));
});

describe("counts", () => {
  it.each([
    [0, "0"],
    [4096, "4,096"],
    [999999, "999,999"],
    [999999.5, "1.00 M"],
    [1234567, "1.23 M"],
    [2.5e9, "2.50 G"],
    [-1500, "−1,500"],
    [undefined, "not recorded"],
  ])("%s is %s", (value, text) => expect(count(value)).toBe(text));
  it("shows all digits where asked to", () => expect(exact(1234567)).toBe("1,234,567"));
  it("names one thing and several", () => {
    expect(plural(1, "process", "processes")).toBe("1 process");
    expect(plural(2000, "block")).toBe("2,000 blocks");
  });
});

describe("shares", () => {
  it.each([
    [1, 3, "33.3 %"],
    [1, 100000, "<0.1 %"],
    [0, 5, "0.0 %"],
    [1, 0, "-"],
    [-1, 4, "−25.0 %"],
    [null, 4, "not recorded"],
  ])("%s of %s is %s", (part, whole, text) => expect(share(part, whole)).toBe(text));
});

describe("durations", () => {
  it.each([
    [0, "0 s"],
    [0.0000123, "12.3 µs"],
    [0.00123, "1.23 ms"],
    [12.34, "12.3 s"],
    [59.96, "1 min 00 s"],
    [200, "3 min 20 s"],
    [3 * 3600 + 7 * 60, "3 h 07 min"],
    [2 * 86400 + 5 * 3600, "2 d 05 h"],
  ])("%s is %s", (value, text) => expect(duration(value)).toBe(text));
});

describe("margins", () => {
  it.each([
    [100, 90, 110, "± 10 B"],
    [100, 95, 110, "−5 +10 B"],
    [2048, 1000, 4096, "−1.02 +2.00 KiB"],
    [1024, 900, 4096, "−124 B +3.00 KiB"],
    [100, 100, 110, "+10 B"],
    [100, 100, 100, ""],
    [100, undefined, undefined, ""],
  ])("%s between %s and %s: %s", (value, low, high, text) =>
    expect(margin(value, low, high, bytes)).toBe(text),
  );
});

it("never promises certainty", () => {
  expect([0.975, 0.9994, 0.99951, 1].map((value) => confidence(value))).toEqual([
    "97.5 %",
    "99.9 %",
    "more than 99.9 %",
    "more than 99.9 %",
  ]);
  expect(confidence(1, ">")).toBe(">99.9 %");
});

describe("margins as a share", () => {
  it.each([
    [1, 100, "1.0 %"],
    [100, 100, "100.0 %"],
    [101, 100, "more than the figure itself"],
    [24104, 100, "more than the figure itself"],
    [1, 0, "more than the figure itself"],
    [0, 0, "-"],
  ])("%s of %s is %s", (width, value, text) => expect(marginShare(width, value)).toBe(text));
});

/* As test/unit/test_rate_unit.c. */
describe("units of rates", () => {
  it.each([
    [0, "a second", "/s", 1],
    [59.999, "a second", "/s", 1],
    [60, "a minute", "/min", 60],
    [3599.9, "a minute", "/min", 60],
    [3600, "an hour", "/h", 3600],
  ])("%s s: %s", (recorded, words, sign, seconds) =>
    expect(rateUnit(recorded)).toEqual({ words, sign, seconds }),
  );
});

it("gives changes their sign", () => {
  expect([1024, -1024, 0].map((value) => signed(value, bytes))).toEqual([
    "+1.00 KiB",
    "−1.00 KiB",
    "0 B",
  ]);
});

it("keeps numbers and units in one line", () => {
  expect(keepUnits("1.2 MiB, 34.7 % of 5 s (7 blocks in 3 s)")).toBe(
    "1.2\u00a0MiB, 34.7\u00a0% of 5\u00a0s (7 blocks in 3\u00a0s)",
  );
});

it("cuts long text", () => {
  expect(cut("abcdef", 6)).toBe("abcdef");
  expect(cut("abcdefg", 6)).toBe("abcde…");
});
