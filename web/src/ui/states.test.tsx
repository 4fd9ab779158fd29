import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { ApiError } from "../api/error";
import { show } from "../testing/render";
import { Confirm } from "./Confirm";
import { ErrorState, Loaded } from "./states";

it("tells a fault with the number of its request, and lets the reader try again", async () => {
  const retry = vi.fn();
  show(<ErrorState error={new ApiError("internal", "it broke", { requestId: "r-42" })} retry={retry} />);
  expect(screen.getByRole("alert").textContent).toContain("it broke");
  expect(screen.getByText("r-42")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(retry).toHaveBeenCalledOnce();
});

it("does not blame the reader for what the portal cannot do yet", () => {
  show(<ErrorState error={new ApiError("notFound", "no such route")} missing="route" retry={() => {}} />);
  expect(screen.getByText("Not available here")).toBeTruthy();
  expect(screen.queryByRole("button")).toBeNull();
});

it("says who may change it where something is forbidden", () => {
  show(<ErrorState error={new ApiError("forbidden", "")} />);
  expect(screen.getByText("You cannot see this")).toBeTruthy();
});

it("keeps what it has while it is asked for again, and drops what is gone", () => {
  const query = { data: "old", isPending: false, refetch: vi.fn() };
  const { unmount } = show(
    <Loaded query={{ ...query, error: new ApiError("offline", "") } as never}>
      {(data) => <p>{String(data)}</p>}
    </Loaded>,
  );
  expect(screen.getByText("old")).toBeTruthy();
  unmount();
  show(
    <Loaded query={{ ...query, error: new ApiError("notFound", "") } as never}>
      {(data) => <p>{String(data)}</p>}
    </Loaded>,
  );
  expect(screen.queryByText("old")).toBeNull();
});

it("names what will be lost, and does nothing on the way back", async () => {
  const [confirm, close] = [vi.fn(), vi.fn()];
  show(
    <Confirm
      opened
      onClose={close}
      onConfirm={confirm}
      title="Delete desk?"
      lost={["The volume home"]}
      confirm="Delete"
    />,
  );
  expect((await screen.findByRole("dialog")).textContent).toContain("The volume home");
  await userEvent.click(screen.getByRole("button", { name: "Back" }));
  expect(close).toHaveBeenCalled();
  expect(confirm).not.toHaveBeenCalled();
});
