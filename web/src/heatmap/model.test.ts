import { describe, expect, it } from "vitest";
import type { CardView, NodeView } from "../api/types";
import {
  countStates,
  dayOf,
  everything,
  type Filter,
  filterRows,
  heldUnknown,
  measureOf,
  move,
  rowsOf,
  textOf,
} from "./model";
import { colourOf, contrast, inkOn, strip } from "./palette";

const card = (index: number, more: Partial<CardView> = {}): CardView => ({
  index,
  holders: [],
  exclusive: false,
  ...more,
});
const node = (name: string, cards: CardView[], more: Partial<NodeView> = {}): NodeView => ({
  name,
  ready: true,
  schedulable: true,
  lent: false,
  allocatable: {},
  requested: {},
  pods: 0,
  podKinds: {},
  cards: cards.length ? [{ resource: "nvidia.com/gpu", cards }] : [],
  ...more,
});

const now = new Date("2026-01-01T12:00:00Z");
const options = { metric: "utilisation" as const, now, namespace: "user-ada" };
const nodes = [
  node(
    "a",
    [
      card(0, {
        exclusive: true,
        holders: [{ namespace: "user-ada" }],
        utilisation: 87,
        freeAt: "2026-01-01T12:30:00Z",
      }),
      card(1, { holders: [{ share: "0.5" }, { share: "0.5" }] }),
    ],
    { pool: "a100" },
  ),
  node("b", [card(0)], { pool: "t4" }),
  node("c", [card(0)], { schedulable: false }),
  node("d", []),
];

describe("cells", () => {
  it("say whether a card is free, whole, shared or closed", () => {
    expect(countStates(rowsOf(nodes, options))).toEqual({
      free: 1,
      exclusive: 1,
      shared: 1,
      closed: 1,
      unsure: 0,
    });
  });

  it("know mine and what is free soon", () => {
    const [first, second] = rowsOf(nodes, options)[0]?.cells ?? [];
    expect(first).toMatchObject({ mine: true, freeSoon: true, text: "87%", value: 0.87 });
    expect(second).toMatchObject({ mine: false, freeSoon: false, text: "", value: undefined });
  });

  it("tell of cards that are in use without anybody knowing which, and call none of those free", () => {
    const kind = (held: number) => ({
      resource: "nvidia.com/gpu",
      heldUnknown: held,
      cards: [card(0), card(1), card(2)],
    });
    const rows = (held: number, more = {}) =>
      rowsOf([node("x", [], { cards: [kind(held)], ...more })], options);
    const states = (held: number) => rows(held)[0]?.cells.map((cell) => cell.state);
    expect(states(2)).toEqual(["unsure", "unsure", "unsure"]);
    expect(countStates(rows(2))).toMatchObject({ unsure: 2, free: 1 });
    expect(countStates(rows(2, { schedulable: false }))).toMatchObject({ unsure: 2, free: 0, closed: 1 });
    // There is no doubt where all are in use, whatever others have asked for.
    expect(states(3)).toEqual(["exclusive", "exclusive", "exclusive"]);
    expect(countStates(rows(4))).toMatchObject({ exclusive: 3, unsure: 0, free: 0 });
    expect(rows(2).map(heldUnknown)).toEqual([2]);
    expect(heldUnknown(rowsOf(nodes, options)[0] as never)).toBe(0);
    const free = (held: number) => filterRows(rows(held), { ...everything, only: "free" }).length;
    expect([free(2), free(3)]).toEqual([1, 0]);
  });

  it("have a day each, also where a node has two kinds of cards", () => {
    const cards = [
      { resource: "nvidia.com/gpu", cards: [card(0)] },
      { resource: "huawei.com/Ascend910", heldUnknown: 1, cards: [card(0)] },
    ];
    const rows = rowsOf([node("x", [], { cards })], options);
    const history = {
      begin: 0,
      step: 900,
      nodes: { x: { "nvidia.com/gpu": { "0": [10] }, "huawei.com/Ascend910": { "0": [90] } } },
    };
    expect(rows[0]?.cells.map((cell) => dayOf(history, cell))).toEqual([[10], [90]]);
    expect(dayOf({ ...history, nodes: {} }, rows[0]?.cells[0] as never)).toBeUndefined();
    // Each kind is known or not for itself.
    expect(rows[0]?.cells.map((cell) => cell.state)).toEqual(["free", "exclusive"]);
    const only = filterRows(rows, { ...everything, resource: "nvidia.com/gpu" });
    expect(only.map(heldUnknown)).toEqual([0]);
  });

  it("measure what was chosen", () => {
    const one = card(0, { memoryUsed: 20, memoryTotal: 80, temperature: 65 });
    expect(measureOf(one, "memory")).toBe(0.25);
    expect(textOf(one, "temperature")).toBe("65°");
    expect(measureOf(card(0, { memoryUsed: 1, memoryTotal: 0 }), "memory")).toBeUndefined();
  });
});

describe("filters", () => {
  const names = (filter: Partial<Filter>) =>
    filterRows(rowsOf(nodes, options), { ...everything, ...filter }).map((row) => row.node.name);
  it("find nodes by a part of their name, and by the model of their cards", () => {
    const two = [
      node("gpu-a1", [card(0)], { model: "NVIDIA-A100" }),
      node("gpu-b1", [card(0)], { model: "Tesla-T4" }),
    ];
    const found = (filter: Partial<Filter>) =>
      filterRows(rowsOf(two, options), { ...everything, ...filter }).map((row) => row.node.name);
    expect(found({ name: " GPU-A" })).toEqual(["gpu-a1"]);
    expect(found({ model: "Tesla-T4" })).toEqual(["gpu-b1"]);
    expect(found({ name: "a1", model: "Tesla-T4" })).toEqual([]);
  });
  it("leave the nodes that have what is wanted", () => {
    expect(names({ pool: "", resource: "", only: "all" })).toEqual(["a", "b", "c"]);
    expect(names({ pool: "", resource: "", only: "free" })).toEqual(["b"]);
    expect(names({ pool: "", resource: "", only: "soon" })).toEqual(["a", "b"]);
    expect(names({ pool: "", resource: "", only: "mine" })).toEqual(["a"]);
    expect(names({ pool: "t4", resource: "", only: "all" })).toEqual(["b"]);
    expect(names({ pool: "", resource: "other/card", only: "all" })).toEqual([]);
  });
});

describe("keys", () => {
  const rows = rowsOf(nodes, options);
  it("lead from card to card and never out of the map", () => {
    expect(move(rows, { row: 0, column: 0 }, "ArrowRight")).toEqual({ row: 0, column: 1 });
    expect(move(rows, { row: 0, column: 1 }, "ArrowRight")).toEqual({ row: 0, column: 1 });
    expect(move(rows, { row: 0, column: 1 }, "ArrowDown")).toEqual({ row: 1, column: 0 });
    expect(move(rows, { row: 2, column: 0 }, "PageDown")).toEqual({ row: 2, column: 0 });
    expect(move(rows, { row: 0, column: 1 }, "Home")).toEqual({ row: 0, column: 0 });
    expect(move(rows, { row: 0, column: 0 }, "x")).toBeUndefined();
  });
});

describe("colours", () => {
  it("grow lighter with the value, and letters on them can be read", () => {
    let before = 0;
    for (let value = 0; value <= 1.0001; value += 0.05) {
      const colour = colourOf(value);
      const light = contrast(colour, [0, 0, 0]);
      expect(light).toBeGreaterThanOrEqual(before);
      before = light;
      expect(contrast(colour, inkOn(colour))).toBeGreaterThan(4.5);
    }
  });

  it("of a strip have gaps where nothing was measured", () => {
    expect(strip([0, null], "transparent")).toBe(
      "linear-gradient(to right, rgb(0 34 78) 0.00% 50.00%, transparent 50.00% 100.00%)",
    );
    expect(strip([], "transparent")).toBe("transparent");
  });
});
