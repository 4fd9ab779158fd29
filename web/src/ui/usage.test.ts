import { expect, it } from "vitest";
import { cardsByNode } from "./usage";

it("knows the cards of each node, whole and shared", () => {
  const found = cardsByNode([
    { node: "a", cards: "nvidia.com/gpu=0,1" },
    { node: "a", cards: "nvidia.com/gpu=2:0.5" },
    { node: "b", cards: "x/y=7" },
    { node: "c", cards: null },
    { cards: "x/y=1" },
  ]);
  expect([...found].map(([node, cards]) => [node, [...cards]])).toEqual([
    ["a", ["a/0", "a/1", "a/2"]],
    ["b", ["b/7"]],
  ]);
});
