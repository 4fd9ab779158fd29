import { describe, expect, it } from "vitest";
import { lineOf, readYaml, toYaml } from "./yaml";

const manifest = {
  apiVersion: "maar.io/v1alpha1",
  kind: "AIJob",
  metadata: { name: "train" },
  spec: {
    type: "PyTorch",
    account: undefined,
    tasks: [
      { name: "master", replicas: 1, template: { spec: { containers: [{ name: "main", image: "a:1" }] } } },
      {
        name: "worker",
        replicas: 3,
        cards: { count: 8 },
        template: {
          spec: { containers: [{ name: "main", image: "b", command: ["sh", "-c", "echo a: b"] }] },
        },
      },
    ],
  },
};

const written = `apiVersion: maar.io/v1alpha1
kind: AIJob
metadata:
  name: train
spec:
  type: PyTorch
  tasks:
    - name: master
      replicas: 1
      template:
        spec:
          containers:
            - name: main
              image: a:1
    - name: worker
      replicas: 3
      cards:
        count: 8
      template:
        spec:
          containers:
            - name: main
              image: b
              command:
                - sh
                - -c
                - "echo a: b"
`;

describe("writing", () => {
  it("makes a manifest that people would have written", () => {
    expect(toYaml(manifest)).toBe(written);
  });

  it("quotes what would be read as something else", () => {
    expect(toYaml({ a: "true", b: "1", c: "", d: "x # y", e: [], f: {}, g: "500m", h: "no" })).toBe(
      'a: "true"\nb: "1"\nc: ""\nd: "x # y"\ne: []\nf: {}\ng: 500m\nh: "no"\n',
    );
  });
});

describe("reading", () => {
  it("brings back what was written", () => {
    expect(readYaml(toYaml({ a: "no", b: [1, "1"], c: { d: "x\ny" } }))).toEqual({
      value: { a: "no", b: [1, "1"], c: { d: "x\ny" } },
    });
  });

  it("says where it cannot be read", () => {
    expect(readYaml("a: 1\nb: [1\nc: 2\n")).toMatchObject({ fault: { line: 3 } });
    expect(readYaml("a: 1\na: 2\n")).toMatchObject({
      fault: { line: 2, message: "Map keys must be unique" },
    });
    expect(readYaml("only words")).toMatchObject({ fault: { line: 1 } });
    expect(readYaml("")).toMatchObject({ fault: { line: 1 } });
  });
});

describe("the line of a field", () => {
  const line = (path: string) => written.split("\n")[(lineOf(written, path) ?? 0) - 1]?.trim();

  it("is found through lists", () => {
    expect(line("metadata.name")).toBe("name: train");
    expect(line("spec.tasks[1].cards.count")).toBe("count: 8");
    expect(line("spec.tasks[1].template.spec.containers[0].image")).toBe("image: b");
    expect(line("spec.tasks[0].name")).toBe("- name: master");
  });

  it("is that of the nearest above where it is not there", () => {
    expect(line("spec.tasks[1].template.spec.hostNetwork")).toBe("spec:");
    expect(line("spec.mounts[0].path")).toBe("spec:");
    expect(lineOf(written, "status")).toBeUndefined();
  });

  it("is found in lists that are not indented", () => {
    const text =
      "spec:\n  tasks:\n  - name: a\n    replicas: 1\n  - name: b\n    replicas: 2\n  type: Single\n";
    expect(lineOf(text, "spec.tasks[1].replicas")).toBe(6);
    expect(lineOf(text, "spec.type")).toBe(7);
  });
});
