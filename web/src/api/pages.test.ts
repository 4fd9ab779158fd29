import { expect, it, vi } from "vitest";
import { wholeList } from "./pages";

it("a list is read to its end", async () => {
  const read = vi.fn(async ({ cursor }: { cursor?: string }) =>
    cursor === "b" ? { items: [3] } : cursor === "a" ? { items: [2], next: "b" } : { items: [1], next: "a" },
  );
  expect(await wholeList(read)).toEqual({ items: [1, 2, 3] });
  expect(read.mock.calls.map(([query]) => query)).toEqual([
    { limit: 500, cursor: undefined },
    { limit: 500, cursor: "a" },
    { limit: 500, cursor: "b" },
  ]);
});
