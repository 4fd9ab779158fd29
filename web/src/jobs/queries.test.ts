import { expect, it } from "vitest";
import { inOrder } from "./queries";

it("counts Pods as people do", () => {
  const pods = ["w-0", "w-1", "w-10", "w-2", "ps-0"].map((name) => ({ name }));
  expect(inOrder(pods).map((pod) => pod.name)).toEqual(["ps-0", "w-0", "w-1", "w-2", "w-10"]);
});
