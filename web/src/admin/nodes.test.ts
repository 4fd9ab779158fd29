import { expect, it } from "vitest";
import type { NodeView } from "../api/types";
import { cardChoices } from "../forms/choices";
import { cardsOf } from "./NodesPage";

const card = (index: number, taken = false) => ({
  index,
  exclusive: taken,
  holders: taken ? [{ user: "ada" }] : [],
});

it("counts cards that are taken, also where only the node knows by whom", () => {
  const gpu = { resource: "nvidia.com/gpu", cards: [card(0, true), card(1), card(2)] };
  const model = "NVIDIA-A100-SXM4-80GB";
  expect(cardsOf({ model, cards: [gpu] })).toBe("1/3 A100 SXM4 80GB");
  expect(cardsOf({ model, cards: [{ ...gpu, heldUnknown: 1 }] })).toBe("2/3 A100 SXM4 80GB");
  const other = { resource: "huawei.com/Ascend910", cards: [card(0)] };
  expect(cardsOf({ model, cards: [gpu, other] })).toBe("1/3 NVIDIA GPU, 0/1 Ascend 910");
});

it("offers no card as free that somebody from elsewhere is on", () => {
  const cards = [{ resource: "nvidia.com/gpu", heldUnknown: 1, cards: [card(0, true), card(1), card(2)] }];
  const node = { name: "a", ready: true, schedulable: true, cards } as unknown as NodeView;
  const closed = { ...node, schedulable: false };
  expect(cardChoices([node, closed])).toMatchObject([{ free: 1, total: 6 }]);
});
