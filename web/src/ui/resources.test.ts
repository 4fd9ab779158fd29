import i18next from "i18next";
import { expect, it } from "vitest";
import { inOrder, resourceTitle } from "./resources";

it("calls every limit of a user by its name", () => {
  const title = (resource: string) => resourceTitle(resource, i18next.t);
  expect(
    ["requests.cpu", "limits.memory", "pods", "requests.storage", "volumes", "workspaces", "jobs"].map(title),
  ).toEqual(["CPU cores", "Memory", "Pods", "Storage", "Volumes", "Workspaces", "Jobs"]);
  expect(title("count/persistentvolumeclaims")).toBe("Volumes");
  expect(title("requests.nvidia.com/gpu")).toBe("NVIDIA GPU");
});

it("puts cards first, and what few people look for last", () => {
  const names = [
    "jobs",
    "ephemeral-storage",
    "pods",
    "memory",
    "rdma/hca",
    "cpu",
    "workspaces",
    "nvidia.com/gpu",
  ];
  const sorted = inOrder(names.map((name): [string, string] => [name, "1"])).map(([name]) => name);
  expect(sorted).toEqual([
    "nvidia.com/gpu",
    "rdma/hca",
    "workspaces",
    "cpu",
    "memory",
    "pods",
    "ephemeral-storage",
    "jobs",
  ]);
});
