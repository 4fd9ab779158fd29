import { expect, it } from "vitest";
import { line, reach } from "./chart";

const area = { left: 0, top: 0, width: 100, height: 100 };

it("leaves a gap where nothing was measured", () => {
  const points: [number, number | null, number | null][] = [
    [0, 0, null],
    [50, null, null],
    [100, 100, null],
  ];
  const bounds = reach([{ points }], 1);
  expect(bounds).toEqual({ from: 0, until: 100, top: 100 });
  expect(line(points, 1, { from: 0, until: 100, top: 100 }, area)).toBe("M0.0 100.0h0M100.0 0.0h0");
});

it("has no bounds without values", () => {
  expect(reach([{ points: [[0, null, null]] }], 1)).toBeUndefined();
  expect(reach([], 2)).toBeUndefined();
});
