/* state.ts: addresses and what changes them. */
import { expect, it } from "vitest";

import { changedAddress, parseAddress } from "../src/state.ts";

it("reads keys, and several values of one", () => {
  const address = parseAddress("#view=flame&hide=a%20b&hide=c");
  expect(address.get("view")).toBe("flame");
  expect(address.all("hide")).toEqual(["a b", "c"]);
  expect(address.get("measure")).toBeNull();
});

it("writes what it reads", () => {
  const hostile = "a&b=c#d%<script>\u202e\n";
  const address = changedAddress(parseAddress(""), { "table.search": hostile });
  expect(parseAddress(address.text).get("table.search")).toBe(hostile);
});

it("changes, adds and removes keys, and keeps the others", () => {
  const before = parseAddress("#view=flame&snapshot=3&hide=x");
  const after = changedAddress(before, { view: "table", snapshot: null, hide: ["y", "z"], n: 1 });
  expect(after.get("view")).toBe("table");
  expect(after.get("snapshot")).toBeNull();
  expect(after.all("hide")).toEqual(["y", "z"]);
  expect(after.get("n")).toBe("1");
});

it("has one address for one state", () => {
  const back = changedAddress(parseAddress("#a=1&b=2"), { a: "3" });
  expect(changedAddress(back, { a: "1" }).text).toBe("#a=1&b=2");
  expect(changedAddress(parseAddress("#a=1"), { a: null }).text).toBe("");
});

it("takes an address that nobody wrote for an empty one", () => {
  for (const text of ["#%", "#&&=", "#=x", "", "#"]) {
    expect(parseAddress(text).get("view")).toBeNull();
  }
});
