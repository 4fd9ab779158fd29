import { expect, it } from "vitest";
import type { AccountView } from "../api/types";
import { pairsOf, resourcesOf, treeOf } from "./tree";

const account = (name: string, parent?: string) => ({ name, parent }) as AccountView;
const shape = (accounts: AccountView[]) =>
  treeOf(accounts).map(({ account: { name }, depth }) => `${"-".repeat(depth)}${name}`);

it("shows accounts below their parents", () => {
  expect(shape([account("b", "a"), account("a"), account("c", "b"), account("d")])).toEqual([
    "a",
    "-b",
    "--c",
    "d",
  ]);
});

it("loses none whose parent is hidden or that stand in a circle", () => {
  expect(shape([account("a", "hidden"), account("x", "y"), account("y", "x")])).toEqual(["a", "x", "-y"]);
});

it("says only amounts that were given", () => {
  const pairs = [
    { name: "cpu", value: "4" },
    { name: "memory", value: " " },
    { name: "", value: "1" },
  ];
  expect(resourcesOf(pairs)).toEqual({ cpu: "4" });
  expect(pairsOf({ cpu: "4" })).toEqual([{ name: "cpu", value: "4" }]);
});
