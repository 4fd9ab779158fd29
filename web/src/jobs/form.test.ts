import { describe, expect, it } from "vitest";
import { noCards } from "../forms/values";
import { cloneOf, faultsOf, fieldOf, initialValues, jobTypes, manifestOf, partsOf, tasksFor } from "./form";

describe("tasks of a type", () => {
  it("are those that the type needs", () => {
    const names = (type: (typeof jobTypes)[number]) => tasksFor(type, []).map((task) => task.name);
    expect(names("Single")).toEqual(["main"]);
    expect(names("PyTorch")).toEqual(["worker"]);
    expect(names("MPI")).toEqual(["launcher", "worker"]);
    expect(names("Ray")).toEqual(["head", "worker"]);
    for (const type of jobTypes) expect(partsOf[type].length).toBeGreaterThan(0);
  });

  it("keep what was said when the type changes", () => {
    const [task] = initialValues.tasks;
    if (!task) throw new Error("a single job has a task");
    const said = { ...task, image: "pytorch/pytorch", command: "python train.py", replicas: 4 };
    const torch = tasksFor("PyTorch", [said]);
    expect(torch[0]).toMatchObject({ name: "worker", image: "pytorch/pytorch", command: "python train.py" });
    expect(tasksFor("Jupyter", [said])[0]).toMatchObject({ name: "main", replicas: 1 });
  });
});

describe("the manifest", () => {
  it("says what the form says, and nothing else", () => {
    const [task] = initialValues.tasks;
    if (!task) throw new Error("a single job has a task");
    const values = {
      ...initialValues,
      name: "train",
      pool: "a100",
      maxRunHours: 4,
      env: [{ name: "A", value: "b" }],
      tasks: [
        {
          ...task,
          image: "busybox",
          command: "sleep 60",
          cards: { ...noCards, resource: "nvidia.com/gpu", count: 2 },
        },
      ],
    };
    expect(faultsOf(values)).toEqual({});
    expect(JSON.parse(JSON.stringify(manifestOf(values)))).toEqual({
      apiVersion: "maar.io/v1alpha1",
      kind: "AIJob",
      metadata: { name: "train" },
      spec: {
        type: "Single",
        maxRunSeconds: 14_400,
        nodes: { pools: ["a100"] },
        tasks: [
          {
            name: "main",
            replicas: 1,
            cards: { resource: "nvidia.com/gpu", count: 2 },
            template: {
              spec: {
                containers: [
                  {
                    name: "main",
                    image: "busybox",
                    command: ["sh", "-c", "sleep 60"],
                    env: [{ name: "A", value: "b" }],
                    resources: { requests: { cpu: "1", memory: "4Gi" }, limits: { memory: "4Gi" } },
                  },
                ],
              },
            },
          },
        ],
      },
    });
  });

  it("is checked before it is sent", () => {
    expect(faultsOf(initialValues)).toEqual({ name: "required", "tasks.0.image": "required" });
  });

  it("of a clone belongs to whoever submits it", () => {
    const clone = cloneOf("again", { user: "ada", suspend: true, cancel: true, type: "Single", tasks: [] });
    expect(clone.spec).toEqual({ type: "Single", tasks: [] });
  });
});

it("finds the field that the portal names", () => {
  expect(fieldOf("metadata.name")).toBe("name");
  expect(fieldOf("spec.tasks[1].template.spec.containers[0].image")).toBe("tasks.1.image");
  expect(fieldOf("spec.tasks[0].cards.count")).toBe("tasks.0.cards.count");
  expect(fieldOf("spec.tasks[0].template.spec.hostNetwork")).toBeUndefined();
});
