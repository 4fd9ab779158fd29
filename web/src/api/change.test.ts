import { describe, expect, it } from "vitest";
import { waitBefore } from "./backoff";
import { changeList, changeOne, readChange } from "./change";

const row = (name: string, phase = "Pending") => ({ namespace: "a", name, phase });
const change = (name: string, more = {}) => ({
  topic: "workspace" as const,
  namespace: "a",
  name,
  gone: false,
  item: { namespace: "a", name, phase: "Running" },
  ...more,
});

describe("an event", () => {
  it("is read, or left alone", () => {
    expect(readChange("job", '{"namespace":"a","name":"b","gone":true}')).toEqual({
      topic: "job",
      namespace: "a",
      name: "b",
      gone: true,
      item: undefined,
    });
    expect(readChange("job", "{")).toBeUndefined();
    expect(readChange("job", "{}")).toBeUndefined();
  });
});

describe("a list", () => {
  const pages = [{ items: [row("x"), row("y")], next: "n" }, { items: [row("z")] }];

  it("shows a change in its place, on whichever page", () => {
    const { pages: after } = changeList(pages, change("z"));
    expect(after[1]?.items).toEqual([{ namespace: "a", name: "z", phase: "Running" }]);
    expect(after[0]).toBe(pages[0]);
  });

  it("forgets what a row no longer says", () => {
    const waiting = [{ items: [{ ...row("x"), estimatedStart: "2026-01-01T00:00:00Z", message: "waits" }] }];
    const { pages: after } = changeList(waiting, change("x"));
    expect(after[0]?.items).toEqual([{ namespace: "a", name: "x", phase: "Running" }]);
  });

  it("lets go what is gone", () => {
    const { pages: after } = changeList(pages, change("x", { gone: true, item: undefined }));
    expect(after[0]?.items.map((one) => one.name)).toEqual(["y"]);
  });

  it("is read again for what is new, and not for what it never had", () => {
    expect(changeList(pages, change("new"))).toEqual({ pages, stale: true });
    expect(changeList(pages, change("other", { gone: true }))).toEqual({ pages, stale: false });
  });

  it("does not take namesakes of other namespaces for its own", () => {
    expect(changeList(pages, change("x", { namespace: "b" })).pages).toBe(pages);
  });
});

describe("one thing", () => {
  it("takes over the new view, loses what is no longer said, and keeps what only its detail has", () => {
    const before = { name: "x", phase: "Pending", message: "waits", spec: { image: "a" } };
    expect(changeOne(before, change("x"))).toEqual({
      namespace: "a",
      name: "x",
      phase: "Running",
      spec: { image: "a" },
    });
  });
});

describe("waiting", () => {
  it("doubles up to a limit, with a part left to chance", () => {
    const backoff = { firstMs: 1000, mostMs: 8000 };
    expect([0, 1, 2, 3, 9].map((attempt) => waitBefore(attempt, backoff, 1))).toEqual([
      1000, 2000, 4000, 8000, 8000,
    ]);
    expect(waitBefore(0, backoff, 0)).toBe(500);
  });
});
