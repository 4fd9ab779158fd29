// The form of a job: which tasks a type has, what is wrong, and the manifest it becomes. Pure.
import type { JobType } from "../api/types";
import {
  type CardValues,
  cardsOf,
  commandOf,
  type Fault,
  faultOfAmount,
  faultOfCards,
  faultOfIndices,
  faultOfName,
  faultOfPath,
  faultOfVariable,
  type MountValues,
  noCards,
  type Pair,
  rowFaults,
} from "../forms/values";

export interface TaskValues {
  name: string;
  replicas: number;
  image: string;
  command: string;
  cpu: string;
  memory: string;
  cards: CardValues;
}

export interface JobValues {
  name: string;
  type: JobType;
  account: string;
  priority: number;
  serviceLevel: string;
  tasks: TaskValues[];
  mounts: MountValues[];
  env: Pair[];
  pool: string;
  maxRunHours: number | string;
  retries: number;
}

export const jobTypes: JobType[] = [
  "Single",
  "PyTorch",
  "TensorFlow",
  "MPI",
  "DeepSpeed",
  "Ray",
  "Jupyter",
  "CodeServer",
];

interface Part {
  name: string;
  /** There is one of it and no more. */
  alone?: boolean;
  /** It can be left out. */
  optional?: boolean;
  cards?: boolean;
}

/** The tasks that a type knows, in the order in which people think of them. */
export const partsOf: Record<JobType, Part[]> = {
  Single: [{ name: "main", cards: true }],
  Jupyter: [{ name: "main", alone: true, cards: true }],
  CodeServer: [{ name: "main", alone: true, cards: true }],
  PyTorch: [
    { name: "worker", cards: true },
    { name: "master", alone: true, optional: true, cards: true },
  ],
  TensorFlow: [
    { name: "worker", cards: true },
    { name: "chief", alone: true, optional: true, cards: true },
    { name: "ps", optional: true },
    { name: "evaluator", alone: true, optional: true, cards: true },
  ],
  MPI: [
    { name: "launcher", alone: true },
    { name: "worker", cards: true },
  ],
  DeepSpeed: [
    { name: "launcher", alone: true },
    { name: "worker", cards: true },
  ],
  Ray: [
    { name: "head", alone: true },
    { name: "worker", cards: true },
  ],
};

export function newTask(part: Part, image = ""): TaskValues {
  const several = part.name === "worker" && !part.alone;
  return {
    name: part.name,
    replicas: several ? 2 : 1,
    image,
    command: "",
    cpu: "1",
    memory: "4Gi",
    cards: noCards,
  };
}

/** The tasks of a type, with what was already said about tasks of the same name. */
export function tasksFor(type: JobType, before: TaskValues[]): TaskValues[] {
  const image = before[0]?.image ?? "";
  return partsOf[type]
    .filter((part) => !part.optional)
    .map((part) => {
      const same = before.find((task) => task.name === part.name);
      const made = same ?? {
        ...newTask(part, image),
        command: before.length === 1 ? (before[0]?.command ?? "") : "",
      };
      return part.alone ? { ...made, replicas: 1 } : made;
    });
}

export const initialValues: JobValues = {
  name: "",
  type: "Single",
  account: "",
  priority: 0,
  serviceLevel: "",
  tasks: tasksFor("Single", []),
  mounts: [],
  env: [],
  pool: "",
  maxRunHours: "",
  retries: 0,
};

/** Types whose Pods start something by themselves when no command is given. */
export const startsAlone = (type: JobType, task: string) =>
  type === "Jupyter" ||
  type === "CodeServer" ||
  type === "Ray" ||
  ((type === "MPI" || type === "DeepSpeed") && task === "worker");

export function faultsOf(values: JobValues): Record<string, Fault> {
  const faults: Record<string, Fault | undefined> = {
    name: faultOfName(values.name, 40),
    ...rowFaults("tasks", values.tasks, (task) => ({
      image: task.image.trim() ? undefined : "required",
      replicas: Number.isInteger(task.replicas) && task.replicas >= 1 ? undefined : "whole",
      cpu: faultOfAmount(task.cpu),
      memory: faultOfAmount(task.memory),
    })),
    ...rowFaults("mounts", values.mounts, (row) => ({
      claim: row.claim ? undefined : "required",
      path: faultOfPath(row.path),
    })),
    ...rowFaults("env", values.env, (row) => ({ name: faultOfVariable(row.name) })),
  };
  values.tasks.forEach((task, index) => {
    faults[`tasks.${index}.cards.${task.cards.how}`] = faultOfCards(task.cards);
    faults[`tasks.${index}.cards.indices`] = faultOfIndices(task.cards);
  });
  return Object.fromEntries(Object.entries(faults).filter(([, fault]) => fault)) as Record<string, Fault>;
}

function taskOf(task: TaskValues, env: Pair[]) {
  const amounts = { cpu: task.cpu.trim(), memory: task.memory.trim() };
  return {
    name: task.name,
    replicas: task.replicas,
    cards: cardsOf(task.cards),
    template: {
      spec: {
        containers: [
          {
            name: "main",
            image: task.image.trim(),
            command: commandOf(task.command),
            env: env.length ? env.map(({ name, value }) => ({ name, value })) : undefined,
            resources: { requests: amounts, limits: { memory: amounts.memory } },
          },
        ],
      },
    },
  };
}

/** The AIJob that the form means. */
export function manifestOf(values: JobValues) {
  const hours = Number(values.maxRunHours);
  return {
    apiVersion: "maar.io/v1alpha1",
    kind: "AIJob",
    metadata: { name: values.name },
    spec: {
      type: values.type,
      account: values.account || undefined,
      serviceLevel: values.serviceLevel || undefined,
      priority: values.priority || undefined,
      retries: values.retries || undefined,
      maxRunSeconds: hours > 0 ? Math.round(hours * 3600) : undefined,
      nodes: values.pool ? { pools: [values.pool] } : undefined,
      mounts: values.mounts.length ? values.mounts : undefined,
      tasks: values.tasks.map((task) => taskOf(task, values.env)),
    },
  };
}

/** The field of the form that a field of the manifest is about. */
export function fieldOf(field: string): string | undefined {
  if (field === "metadata.name") return "name";
  const path = field.replace(/^spec\./, "").replace(/\[(\d+)\]/g, ".$1");
  const inTask = /^tasks\.(\d+)\.template\.spec\.containers\.\d+\.(image|command)/.exec(path);
  if (inTask) return `tasks.${inTask[1]}.${inTask[2]}`;
  if (/^tasks\.\d+\.(cards\.(count|share|memory|index|indices|resource)|replicas)$/.test(path)) return path;
  if (/^tasks\.\d+\.cards$/.test(path)) return `${path}.resource`;
  if (path === "maxRunSeconds") return "maxRunHours";
  if (/^mounts\.\d+\.path$/.test(path)) return path;
  return ["account", "priority", "retries", "type"].includes(path) ? path : undefined;
}

/** The manifest of a job that is to be made once more: what the cluster and the owner's name added is left out. */
export function cloneOf(name: string, spec: Record<string, unknown>) {
  const { user: _user, suspend: _suspend, cancel: _cancel, ...kept } = spec;
  return { apiVersion: "maar.io/v1alpha1", kind: "AIJob", metadata: { name }, spec: kept };
}
