import { describe, expect, it } from "vitest";
import { gather, line, reach, titlesOf } from "./chart";

const area = { left: 0, top: 0, width: 100, height: 100 };

it("leaves a gap where nothing was measured", () => {
  const points: [number, number | null, number | null][] = [
    [0, 0, null],
    [50, null, null],
    [100, 100, null],
  ];
  const bounds = reach([{ points }], 1);
  expect(bounds).toEqual({ from: -3500, until: 100, top: 100 });
  expect(line(points, 1, { from: 0, until: 100, top: 100 }, area)).toBe("M0.0 100.0h0M100.0 0.0h0");
});

it("shows an hour, whether all of it was measured or only its last minute", () => {
  const alone: [number, number, null][] = [[7200, 40, null]];
  const bounds = reach([{ points: alone }], 1);
  expect(bounds).toEqual({ from: 3600, until: 7200, top: 40 });
  expect(line(alone, 1, { from: 3600, until: 7200, top: 100 }, area)).toBe("M100.0 60.0h0");
  const longer: [number, number, null][] = [[0, 1, null], ...alone];
  expect(reach([{ points: longer }], 1)?.from).toBe(0);
});

it("has no bounds without values", () => {
  expect(reach([{ points: [[0, null, null]] }], 1)).toBeUndefined();
  expect(reach([], 2)).toBeUndefined();
});

it("gathers many cards to what is highest, usual and lowest", () => {
  const card = (use: number | null, memory: number) => ({
    points: [
      [60, use, memory],
      [125, use, null],
    ] as [number, number | null, number | null][],
  });
  const { highest, mean, lowest } = gather([card(10, 1), card(80, 5), card(null, 3)], 1);
  expect(highest).toEqual([
    [60, 80, null],
    [120, 80, null],
  ]);
  expect(mean.map((point) => point[1])).toEqual([45, 45]);
  expect(lowest.map((point) => point[1])).toEqual([10, 10]);
  expect(gather([card(10, 1), card(80, 5), card(null, 3)], 2).mean).toEqual([[60, null, 3]]);
});

it("gathers a job of thousands of cards", () => {
  const points = Array.from({ length: 60 }, (_, minute): [number, number, number] => [minute * 60, 50, 1]);
  const { mean } = gather(
    Array.from({ length: 8000 }, () => ({ points })),
    1,
  );
  expect(reach([{ points: mean }], 1)).toEqual({ from: -60, until: 3540, top: 50 });
});

describe("names of lines", () => {
  const card = (node: string, index: number, resource = "nvidia.com/gpu") => ({
    card: `${node}/${index}`,
    node,
    resource,
    index,
    points: [],
  });

  it("name the node, since every node has a card 0", () => {
    expect(titlesOf([card("a", 0), card("b", 0)])).toEqual(["a · 0", "b · 0"]);
  });

  it("name the kind where there are several", () => {
    const two = [card("a", 0), card("a", 0, "huawei.com/Ascend910")];
    expect(titlesOf(two)).toEqual(["a · NVIDIA GPU 0", "a · Ascend 910 0"]);
  });
});
