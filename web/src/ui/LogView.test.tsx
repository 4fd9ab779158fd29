import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { show } from "../testing/render";
import { LogView } from "./LogView";

/** A log that remembers what was asked of it. */
function log(): URLSearchParams[] {
  const asked: URLSearchParams[] = [];
  globalThis.fetch = async (input) => {
    const url = input instanceof Request ? input.url : String(input);
    asked.push(new URL(url, "http://x").searchParams);
    return new Response("hello\n");
  };
  return asked;
}

it("asks for a container and a time where they were chosen", async () => {
  const asked = log();
  show(<LogView path="/api/v1/jobs/a/b/logs?pod=p" file="p.log" containers={["main", "side"]} />);
  await screen.findByText("hello");
  expect(Object.fromEntries(asked[0] ?? [])).toEqual({
    pod: "p",
    tail: "1000",
    follow: "true",
    previous: "false",
  });
  await userEvent.selectOptions(screen.getByLabelText("Container"), "side");
  await userEvent.selectOptions(screen.getByLabelText("Since when"), "Last 1 hr");
  await waitFor(() => expect(asked.at(-1)?.get("sinceSeconds")).toBe("3600"));
  expect(asked.at(-1)?.get("container")).toBe("side");
});

it("offers no choice of one container", async () => {
  log();
  show(<LogView path="/logs" file="p.log" containers={["main"]} />);
  await screen.findByText("hello");
  expect(screen.queryByLabelText("Container")).toBeNull();
});
