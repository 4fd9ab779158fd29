import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
  useLocation,
} from "@tanstack/react-router";
import { render } from "@testing-library/react";
import { type ReactNode, Suspense } from "react";
import { queries } from "../app/queries";
import { tree } from "../app/router";
import { theme } from "../app/theme";

function Providers({ children }: { children: ReactNode }) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return (
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </MantineProvider>
  );
}

/** Renders what needs the providers of the pages, and no routes. */
export function show(children: ReactNode) {
  return render(<Providers>{children}</Providers>);
}

function Elsewhere() {
  return <p>at {useLocation().pathname}</p>;
}

/** Renders the page at an address, with the routes that the pages have. */
export function showAt(address: string) {
  queries.clear();
  queries.setDefaultOptions({ queries: { retry: false } });
  const history = createMemoryHistory({ initialEntries: [address] });
  const router = createRouter({ routeTree: tree, history });
  render(
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return history;
}

/** Renders what also leads to other pages; of those only the address is shown, as `at /jobs`. */
export function showPage(children: ReactNode) {
  const root = createRootRoute({ component: Outlet });
  const here = createRoute({
    getParentRoute: () => root,
    path: "/",
    component: () => <Suspense fallback={null}>{children}</Suspense>,
  });
  const others = createRoute({ getParentRoute: () => root, path: "$", component: Elsewhere });
  const router = createRouter({
    routeTree: root.addChildren([here, others]),
    history: createMemoryHistory({ initialEntries: ["/"] }),
  });
  return render(
    <Providers>
      <RouterProvider router={router as never} />
    </Providers>,
  );
}

type Answer = { status: number; body?: unknown };

function response({ status, body }: Answer) {
  return new Response(body === undefined ? null : JSON.stringify(body), {
    status,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
  });
}

/** The portal's answers, in the order in which they are asked for. */
export function answers(...list: Answer[]): Request[] {
  const asked: Request[] = [];
  globalThis.fetch = async (input) => {
    asked.push(input as Request);
    return response(list.shift() ?? { status: 404 });
  };
  return asked;
}

export const ada = {
  id: "u-1",
  name: "ada",
  displayName: "Ada",
  namespace: "user-ada-1",
  platformAdmin: true,
  accounts: { physics: "admin" },
  mustChangePassword: false,
};

interface Asked {
  /** Method and path, such as `POST /api/v1/jobs`. */
  what: string;
  body: unknown;
}

/**
 * A portal that answers by method and path; what is not said is an empty list, or nothing where something is changed.
 * It remembers what was asked of it to change.
 */
export function portal(routes: Record<string, Answer> = {}): Asked[] {
  const changes: Asked[] = [];
  globalThis.fetch = async (input, init) => {
    const request = input instanceof Request ? input : new Request(new URL(String(input), "http://x"), init);
    const what = `${request.method} ${new URL(request.url, "http://x").pathname}`;
    if (request.method !== "GET") {
      const text = await request.text();
      const json = request.headers.get("Content-Type")?.includes("json");
      changes.push({ what, body: text && json ? JSON.parse(text) : text });
    }
    const usual = what === "GET /api/v1/me" ? ada : { items: [] };
    return response(routes[what] ?? { status: 200, body: usual });
  };
  return changes;
}

/** What the portal says of a field that is wrong. */
export const wrong = (field: string, message: string): Answer => ({
  status: 422,
  body: { code: "invalid", field, message, requestId: "r-1" },
});
