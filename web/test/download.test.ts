/* download.ts: CSV and names of files. */
import { expect, it } from "vitest";

import { fileName, toCsv } from "../src/download.ts";

it("quotes what CSV needs quoted", () => {
  const text = toCsv(
    ["name", "bytes"],
    [
      ["a,b", 1],
      ['say "x"', null],
      ["two\nlines", -3],
    ],
  );
  expect(text).toBe('name,bytes\r\n"a,b",1\r\n"say ""x""",\r\n"two\nlines",-3\r\n');
});

it("lets no name be a formula", () => {
  const text = toCsv(
    ["name", "change"],
    [
      ["=cmd()", -1],
      ["@x", 2],
      ["-y", 3],
    ],
  );
  expect(text).toBe("name,change\r\n'=cmd(),-1\r\n'@x,2\r\n'-y,3\r\n");
});

it("makes names that every file system takes", () => {
  expect(fileName("redis-server", "flame")).toBe("redis-server.flame");
  expect(fileName("../../etc/passwd\u0000")).toBe("etc_passwd_");
  expect(fileName("…")).toBe("heapscope");
  expect(fileName("x".repeat(10000)).length).toBeLessThanOrEqual(120);
});
