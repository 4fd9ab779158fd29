import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { theme } from "../app/theme";

/** Renders what needs the providers of the pages, and no routes. */
export function show(children: ReactNode) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return render(
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </MantineProvider>,
  );
}

/** The portal's answers, in the order in which they are asked for. */
export function answers(...list: { status: number; body?: unknown }[]): Request[] {
  const asked: Request[] = [];
  globalThis.fetch = async (input) => {
    asked.push(input as Request);
    const { status, body } = list.shift() ?? { status: 404 };
    return new Response(body === undefined ? null : JSON.stringify(body), {
      status,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
    });
  };
  return asked;
}
