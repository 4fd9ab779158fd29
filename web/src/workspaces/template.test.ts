import { describe, expect, it } from "vitest";
import { initialValues, valuesOf, type WorkspaceValues } from "./form";
import { type Origin, requestFrom, templateOf, unseen } from "./template";

/** Everything that a template may say, most of which the form has no input for. */
const body = {
  image: "a",
  profile: "fabric",
  hostPaths: [{ hostPath: "/scratch", path: "/scratch" }],
  command: ["python", "-c", "print('a b')"],
  args: ["--fast"],
  ports: [{ name: "web", port: 80 }],
  account: "physics",
  serviceLevel: "BestEffort",
  cards: { resource: "nvidia.com/gpu", memory: "8Gi", index: 3 },
  pools: ["a100", "h100"],
  volumes: [{ name: "home", path: "/home/me", size: "20Gi", storageClass: "fast" }],
  mounts: [
    { claim: "data", path: "/data", subPath: "sets" },
    { secret: "token", path: "/run/token" },
    { configMap: "conf", path: "/etc/conf" },
  ],
  env: { A: "1", B: "2" },
  maxRunSeconds: 90,
};

const shown = (of: object): WorkspaceValues => ({
  ...initialValues,
  ...valuesOf(of as Record<string, unknown>),
  name: "desk",
});
const origin = (of: object = body): Origin => ({
  id: "t-1",
  body: of as Record<string, unknown>,
  before: shown(of),
});
const changed = (part: Partial<WorkspaceValues>, of: object = body) => ({ ...shown(of), ...part });

describe("a workspace from a template", () => {
  it("says only which template, where nothing was changed", () => {
    expect(requestFrom(origin(), changed({ name: "mine" }))).toEqual({ template: "t-1", name: "mine" });
  });

  it("says what was changed besides", () => {
    expect(requestFrom(origin(), changed({ image: "b", cpu: "2" }))).toEqual({
      template: "t-1",
      name: "desk",
      image: "b",
      cpu: "2",
    });
  });

  it("unsays what is not wanted", () => {
    const without = changed({
      account: "",
      cards: initialValues.cards,
      pool: "",
      maxRunHours: "",
      profile: "",
    });
    expect(requestFrom(origin(), without)).toEqual({
      template: "t-1",
      name: "desk",
      account: null,
      cards: null,
      pools: [],
      maxRunSeconds: null,
      profile: null,
    });
  });

  it("replaces cards as a whole, since one of count, share and memory is said", () => {
    const cards = { ...shown(body).cards, how: "count" as const, count: 2 };
    expect(requestFrom(origin(), changed({ cards })).cards).toEqual({
      resource: "nvidia.com/gpu",
      count: 2,
      memory: null,
      index: null,
    });
  });

  it("replaces the command and its arguments together", () => {
    const asked = requestFrom(origin(), changed({ command: "python other.py" }));
    expect(asked).toMatchObject({ command: ["sh", "-c", "python other.py"], args: [] });
  });

  it("keeps secrets that are mounted, when volumes are changed", () => {
    expect(requestFrom(origin(), changed({ mounts: [] })).mounts).toEqual(body.mounts.slice(1));
  });

  it("keeps what the form does not show of a volume", () => {
    const volumes = shown(body).volumes.map((one) => ({ ...one, size: "30Gi" }));
    const asked = requestFrom(origin(), changed({ volumes }));
    expect(asked.volumes).toEqual([{ ...body.volumes[0], size: "30Gi" }]);
  });

  it("is said as a whole where a variable was taken away, which no request can unsay", () => {
    const { maxRunSeconds, ...rest } = body;
    expect(requestFrom(origin(), changed({ env: [{ name: "B", value: "3" }], maxRunHours: "" }))).toEqual({
      ...rest,
      name: "desk",
      env: { B: "3" },
    });
  });
});

describe("a template that is changed", () => {
  it("stays as it was where nothing was touched", () => {
    expect(templateOf(shown(body), origin())).toEqual(body);
  });

  it("changes only where it was touched", () => {
    const after = templateOf(changed({ image: "b", account: "" }), origin());
    const { account, ...rest } = body;
    expect(after).toEqual({ ...rest, image: "b" });
  });

  it("has no name, as before", () => {
    expect(templateOf({ ...initialValues, name: "desk", image: "a" })).toEqual({
      image: "a",
      type: "Terminal",
      cpu: "1",
      memory: "4Gi",
    });
  });
});

describe("the form", () => {
  it("shows a command with its arguments as words of a shell", () => {
    expect(shown(body).command).toBe(`python -c 'print('\\''a b'\\'')' --fast`);
    expect(shown({ command: ["sh", "-c", "a && b"] }).command).toBe("a && b");
    expect(shown({ args: ["x"] }).command).toBe("");
  });

  it("names what it does not show", () => {
    expect(unseen(body)).toEqual(["ports", "serviceLevel", "mounts"]);
    expect(unseen({ image: "a", name: "b", args: ["x"] })).toEqual(["args"]);
    expect(unseen({ image: "a" })).toEqual([]);
  });
});
