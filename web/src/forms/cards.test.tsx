// Cards by their numbers, in both forms and where they are told of.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { initialValues as newJob } from "../jobs/form";
import { cardNumbers } from "../jobs/JobCards";
import { JobForm } from "../jobs/JobForm";
import { portal, show, showPage, wrong } from "../testing/render";
import { CardsAsked } from "../ui/CardsAsked";
import { initialValues as newWorkspace } from "../workspaces/form";
import { WorkspaceForm } from "../workspaces/WorkspaceForm";
import { cardsOf, cardValuesOf, faultOfIndices, indicesOf, noCards } from "./values";

const gpu = "nvidia.com/gpu";
const cards = { ...noCards, resource: gpu, count: 2 };
const card = (index: number, holders: object[]) => ({ index, holders, exclusive: true });
const nodes = {
  items: [
    {
      name: "a100-0",
      ready: true,
      schedulable: true,
      cards: [{ resource: gpu, cards: [card(0, [{}]), card(1, []), card(2, []), card(3, [])] }],
    },
  ],
};
const withNodes = (routes = {}) => portal({ "GET /api/v1/nodes": { status: 200, body: nodes }, ...routes });

describe("numbers of cards", () => {
  it.each([
    ["", []],
    ["2,3", [2, 3]],
    [" 0 , 2-4 ", [0, 2, 3, 4]],
    ["1 2", [1, 2]],
    ["127", [127]],
    ["128", undefined],
    ["1,1", undefined],
    ["3-2", undefined],
    ["a", undefined],
    ["-1", undefined],
    ["1.5", undefined],
  ])("are read from %j as %j", (text, wanted) => {
    expect(indicesOf(text)).toEqual(wanted);
  });

  it("say how many there are, and are said again", () => {
    const values = { ...cards, count: 7, indices: "2, 3" };
    expect(cardsOf(values)).toEqual({ resource: gpu, count: 2, indices: [2, 3] });
    expect(cardValuesOf(cardsOf(values))).toMatchObject({ how: "count", count: 2, indices: "2, 3" });
    expect(cardsOf({ ...values, indices: " " })).toEqual({ resource: gpu, count: 7 });
    // A part of a card has a number of its own.
    expect(cardsOf({ ...values, how: "share" })).toEqual({ resource: gpu, share: "0.5" });
    expect(faultOfIndices({ ...values, indices: "x" })).toBe("indices");
    expect(faultOfIndices({ ...values, indices: "x", how: "share" })).toBeUndefined();
    expect(faultOfIndices({ ...values, indices: "x", resource: "" })).toBeUndefined();
  });

  it("are told with the cards that were asked for", () => {
    show(
      <>
        <p>
          <CardsAsked cards={{ resource: gpu, count: 2, indices: [2, 3] }} />
        </p>
        <p>
          <CardsAsked cards={{ resource: gpu, share: "0.5", index: 1 }} />
        </p>
      </>,
    );
    expect(screen.getByText("2 × NVIDIA GPU (2, 3)")).toBeDefined();
    expect(screen.getByText("0.5 of one NVIDIA GPU (1)")).toBeDefined();
    const tasks = [
      { name: "head", cards: null },
      { name: "worker", cards: { count: 2, indices: [2, 3] } },
      { name: "cache", cards: { share: "0.5", index: 0 } },
    ];
    expect(cardNumbers(tasks)).toBe("worker: 2, 3; cache: 0");
    expect(cardNumbers([{ name: "main", cards: { indices: [1] } }])).toBe("1");
    expect(cardNumbers([{ name: "main", cards: { count: 1 } }])).toBe("");
  });
});

describe("the form of a workspace", () => {
  const form = (node = "") => (
    <WorkspaceForm initial={{ ...newWorkspace, name: "desk", image: "busybox", cards, node }} />
  );

  it("takes numbers of cards on whichever node", async () => {
    const changes = withNodes();
    showPage(form());
    const input = await screen.findByLabelText("Which cards");
    await userEvent.type(input, "2-x");
    await userEvent.click(screen.getByRole("button", { name: "Create workspace" }));
    expect(await screen.findByText(/Numbers from 0 to 127/)).toBeDefined();
    expect(changes).toHaveLength(0);
    await userEvent.clear(input);
    expect(screen.queryByText(/Numbers from 0 to 127/)).toBeNull();
    await userEvent.type(input, "1, 3");
    await userEvent.click(screen.getByRole("button", { name: "Create workspace" }));
    await waitFor(() => expect(changes).toHaveLength(1));
    expect(changes[0]?.body).toMatchObject({ cards: { resource: gpu, count: 2, indices: [1, 3] } });
  });

  it("shows the cards of the node that was chosen", async () => {
    const changes = withNodes();
    showPage(form("a100-0"));
    const taken = (await screen.findByRole("checkbox", { name: /^0/ })) as HTMLInputElement;
    expect(taken.disabled).toBe(true);
    await userEvent.click(screen.getByRole("checkbox", { name: /^3/ }));
    await userEvent.click(screen.getByRole("checkbox", { name: /^1/ }));
    await userEvent.click(screen.getByRole("button", { name: "Create workspace" }));
    await waitFor(() => expect(changes).toHaveLength(1));
    expect(changes[0]?.body).toMatchObject({
      nodes: ["a100-0"],
      cards: { count: 2, indices: [1, 3] },
    });
  });

  it("puts what the portal finds wrong with them where they are said", async () => {
    withNodes({ "POST /api/v1/workspaces": wrong("cards.indices", "are as many as cards.count") });
    showPage(form());
    await userEvent.type(await screen.findByLabelText("Which cards"), "2");
    await userEvent.click(screen.getByRole("button", { name: "Create workspace" }));
    expect(await screen.findByText(/as many as cards.count/)).toBeDefined();
    expect(screen.queryByRole("alert")).toBeNull();
  });
});

it("the form of a job takes numbers of cards for each task", async () => {
  const changes = withNodes();
  const [task] = newJob.tasks;
  const tasks = [{ ...task, image: "busybox", cards }] as typeof newJob.tasks;
  showPage(<JobForm initial={{ ...newJob, name: "train", tasks }} onValues={() => {}} />);
  await userEvent.type(await screen.findByLabelText("Which cards"), "0");
  await userEvent.click(screen.getByRole("button", { name: "Submit" }));
  await waitFor(() => expect(changes).toHaveLength(1));
  expect(changes[0]?.body).toMatchObject({ spec: { tasks: [{ cards: { count: 1, indices: [0] } }] } });
});
