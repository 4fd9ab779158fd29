import { describe, expect, it } from "vitest";
import { noCards, suggestName } from "../forms/values";
import { faultsOf, fieldOf, initialValues, requestOf, valuesOf } from "./form";

const good = { ...initialValues, name: "desk", image: "busybox" };

describe("the form of a workspace", () => {
  it("begins with what only needs a name and an image", () => {
    expect(faultsOf(initialValues)).toEqual({ name: "required", image: "required" });
    expect(faultsOf(good)).toEqual({});
  });

  it("says what the portal would say, at the same field", () => {
    const wrong = faultsOf({
      ...good,
      name: "Desk_1",
      cpu: "0",
      memory: "lots",
      cards: { ...noCards, resource: "nvidia.com/gpu", how: "share", share: 1 },
      volumes: [{ name: "home", path: "/proc/x", size: "10Gi" }],
      mounts: [
        { claim: "", path: "/data", readOnly: false },
        { claim: "a", path: "/data/", readOnly: false },
      ],
      env: [
        { name: "NVIDIA_VISIBLE_DEVICES", value: "all" },
        { name: "1A", value: "" },
      ],
    });
    expect(wrong).toEqual({
      name: "name",
      cpu: "quantity",
      memory: "quantity",
      "cards.share": "share",
      "volumes.0.path": "path",
      "mounts.0.claim": "required",
      "mounts.0.path": "twice",
      "mounts.1.path": "twice",
      "env.0.name": "reserved",
      "env.1.name": "variable",
    });
  });

  it("asks for nothing that was not said", () => {
    expect(requestOf(good)).toEqual({
      name: "desk",
      image: "busybox",
      type: "Terminal",
      cpu: "1",
      memory: "4Gi",
    });
  });

  it("keeps everything on the way through a template", () => {
    const values = {
      ...good,
      type: "Jupyter" as const,
      account: "lab",
      cards: { ...noCards, resource: "nvidia.com/gpu", how: "share" as const, share: 0.25, index: 3 },
      pool: "a100",
      volumes: [{ name: "home", path: "/home/me", size: "20Gi" }],
      mounts: [{ claim: "data", path: "/data", readOnly: true }],
      env: [{ name: "HF_HOME", value: "/data/hf" }],
      command: "sleep infinity",
      profile: "fabric",
      maxRunHours: 8,
    };
    const body = requestOf(values) as unknown as Record<string, unknown>;
    expect({ ...initialValues, name: "desk", ...valuesOf(body) }).toEqual(values);
  });
});

it("reads shares as the cluster writes them", () => {
  expect(valuesOf({ cards: { resource: "a/b", share: "500m" } }).cards).toMatchObject({
    how: "share",
    share: 0.5,
  });
});

describe("fields of the portal", () => {
  it("are found in the form", () => {
    expect(fieldOf("volumes[0].path")).toBe("volumes.0.path");
    expect(fieldOf("cards.count")).toBe("cards.count");
    expect(fieldOf("cards")).toBe("cards.resource");
    expect(fieldOf("spec.image")).toBe("image");
    expect(fieldOf("maxRunSeconds")).toBe("maxRunHours");
    expect(fieldOf("elsewhere")).toBeUndefined();
  });
});

it("suggests names that are names", () => {
  for (const chance of [0, 0.37, 0.999]) {
    expect(suggestName("work", () => chance)).toMatch(/^work-[a-z]{3}\d{2}$/);
  }
});
