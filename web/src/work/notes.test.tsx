import { screen } from "@testing-library/react";
import { afterAll, describe, expect, it } from "vitest";
import { MyWork } from "../home/MyWork";
import { setLanguage } from "../i18n";
import { portal, showAt, showPage } from "../testing/render";

afterAll(() => setLanguage("en"));

const cleanup = (rule: string, ending = false) => ({
  rule,
  account: "physics",
  endTime: "2099-01-01T00:00:00Z",
  ending,
});

const workspace = (part: object) => ({
  namespace: "user-ada-1",
  name: "desk",
  type: "Terminal",
  state: "Suspended",
  phase: "Suspended",
  image: "busybox",
  account: "physics",
  serviceLevel: "Guaranteed",
  resources: { cpu: "1", memory: "4Gi" },
  restarts: 0,
  created: "2026-11-01T00:00:00Z",
  ...part,
});

const job = (part: object) => ({
  namespace: "user-ada-1",
  name: "train",
  type: "Single",
  phase: "Running",
  account: "physics",
  serviceLevel: "Guaranteed",
  cards: {},
  givenCards: [],
  pods: [],
  tasks: [],
  replicas: 1,
  attempt: 1,
  preemptions: 0,
  priority: 0,
  suspended: false,
  ...part,
});

const idle = workspace({
  reason: "CleanedUpIdle",
  message: "its cards were not used; its volumes stay; set state to Running to go on",
});
const night = workspace({
  reason: "CleanedUpNightly",
  message: "the nightly clean-up suspended it; its volumes stay; set state to Running to go on",
});
const longest = workspace({
  reason: "MaxRunTimeExceeded",
  message: "it ran longer than maxRunSeconds; its volumes stay; set state to Running to go on",
});
const wished = workspace({
  reason: "Suspended",
  message: "its volumes stay; set state to Running to go on",
});

const one = (body: object) => ({ "GET /api/v1/workspaces/user-ada-1/desk": { status: 200, body } });
const list = (...items: object[]) => ({ status: 200, body: { items } });
const oneJob = (body: object) => ({ "GET /api/v1/jobs/user-ada-1/train": { status: 200, body } });

describe("the page of a workspace", () => {
  it("says which rule suspended it", async () => {
    portal(one(idle));
    showAt("/workspaces/user-ada-1/desk");
    expect(await screen.findByText("A clean-up policy ended it: its cards were not used.")).toBeTruthy();
    expect(screen.queryByText(/set state to Running/)).toBeNull();
  });

  it("says that it was the night", async () => {
    portal(one(night));
    showAt("/workspaces/user-ada-1/desk");
    expect(await screen.findByText("The nightly clean-up suspended it.")).toBeTruthy();
  });

  it("says that it ran as long as it was to", async () => {
    portal(one(longest));
    showAt("/workspaces/user-ada-1/desk");
    expect(await screen.findByText(/It ran for as long as it was to\./)).toBeTruthy();
  });

  it("blames nobody where its owner wanted it so", async () => {
    portal(one(wished));
    showAt("/workspaces/user-ada-1/desk");
    expect(await screen.findByText(/Its volumes are kept: resume it to go on\./)).toBeTruthy();
    expect(screen.queryByText(/clean-up/)).toBeNull();
  });

  it("warns only before it is ended", async () => {
    portal(one({ ...idle, cleanup: cleanup("Idle", true) }));
    showAt("/workspaces/user-ada-1/desk");
    await screen.findByText("A clean-up policy ended it: its cards were not used.");
    expect(screen.queryByText("This is going to be suspended")).toBeNull();
  });
});

describe("the page of a job", () => {
  it("warns of a clean-up", async () => {
    portal(oneJob(job({ cleanup: cleanup("LongRunning") })));
    showAt("/jobs/user-ada-1/train");
    expect(await screen.findByText("This is going to be cancelled")).toBeTruthy();
    expect(screen.getByText(/the policy of physics ends it/)).toBeTruthy();
  });

  it("says that a clean-up ended it, in Chinese too", async () => {
    portal(oneJob(job({ phase: "Aborted", reason: "CleanedUpWaiting", message: "it waited" })));
    await setLanguage("zh-CN");
    showAt("/jobs/user-ada-1/train");
    expect(await screen.findByText("已被回收策略结束：排队时间超过了账户允许的上限。")).toBeTruthy();
    await setLanguage("en");
  });
});

it("the page of a workspace names the others on its card, also where it has memory of one", async () => {
  const cards = { resource: "nvidia.com/gpu", memory: "8Gi" };
  const body = {
    items: [
      { card: "gpu-1 2", user: "bob", share: "0.25", kind: "job", namespace: "user-bob-1", name: "fold" },
      { card: "gpu-1 2" },
    ],
  };
  portal({
    ...one({ ...workspace({ phase: "Running", state: "Running" }), cards }),
    "GET /api/v1/workspaces/user-ada-1/desk/neighbours": { status: 200, body },
  });
  showAt("/workspaces/user-ada-1/desk");
  expect((await screen.findByRole("link", { name: "fold" })).getAttribute("href")).toBe(
    "/jobs/user-bob-1/fold",
  );
  expect(screen.getByText("gpu-1 2 · somebody")).toBeTruthy();
});

describe("why a job waits", () => {
  const waits = job({ phase: "Pending", message: "no card is free" });
  const why = "GET /api/v1/jobs/user-ada-1/train/why";

  it("is told with its place in the queue", async () => {
    const body = { waits: true, sentences: ["It waits.", "All cards are taken."], position: 3, waitsFor: [] };
    portal({ ...oneJob(waits), [why]: { status: 200, body } });
    showAt("/jobs/user-ada-1/train");
    expect(await screen.findByText("It is number 3 in the queue of its account.")).toBeTruthy();
  });

  it("is what the job says itself where the portal does not answer", async () => {
    portal({ ...oneJob(waits), [why]: { status: 503, body: { code: "unavailable", message: "no" } } });
    showAt("/jobs/user-ada-1/train");
    expect(await screen.findByText("Why it waits")).toBeTruthy();
    expect(screen.getByText(/no card is free/i)).toBeTruthy();
  });
});

describe("lists", () => {
  it("say of each workspace why it does not run", async () => {
    portal({ "GET /api/v1/workspaces": list(idle, { ...wished, name: "mine" }) });
    showAt("/workspaces");
    expect(await screen.findByText("A clean-up policy ended it: its cards were not used.")).toBeTruthy();
    expect(screen.queryByText(/set state to Running/)).toBeNull();
  });

  it("warn of what is about to end", async () => {
    portal({ "GET /api/v1/jobs": list(job({ cleanup: cleanup("Idle") })) });
    showAt("/jobs");
    expect(await screen.findByText(/Clean-up cancels it/)).toBeTruthy();
  });
});

it("the first page says why work of mine does not run", async () => {
  portal({ "GET /api/v1/workspaces": list(idle) });
  showPage(<MyWork />);
  expect(await screen.findByText("A clean-up policy ended it: its cards were not used.")).toBeTruthy();
});
