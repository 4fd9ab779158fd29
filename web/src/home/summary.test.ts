import { expect, it } from "vitest";
import type { NodeView } from "../api/types";
import { summarize } from "./summary";

it("counts cards by kind, and none as free that nobody can get", () => {
  const node = (name: string, holders: object[][], more: Partial<NodeView> = {}) =>
    ({
      name,
      ready: true,
      schedulable: true,
      model: "A100",
      cards: [{ resource: "nvidia.com/gpu", cards: holders.map((one, index) => ({ index, holders: one })) }],
      ...more,
    }) as unknown as NodeView;
  const overview = summarize([
    node("a", [[], [{}], [{ share: "0.5" }]]),
    node("b", [[]], { schedulable: false }),
    node("c", [[]], { ready: false, model: "T4" }),
  ]);
  expect(overview.nodes).toEqual({ ready: 2, total: 3 });
  expect(overview.cards).toEqual([
    { kind: "nvidia.com/gpu", model: "A100", total: 4, used: 2, shared: 1, free: 1 },
    { kind: "nvidia.com/gpu", model: "T4", total: 1, used: 0, shared: 0, free: 0 },
  ]);
});
