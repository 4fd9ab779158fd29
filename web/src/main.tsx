import "./app/mantine.css";
import "./app/app.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { live, onSignedOut, queries } from "./app/queries";
import { router } from "./app/router";
import { theme } from "./app/theme";
import { startLanguages } from "./i18n";
import { Toasts } from "./ui/toast";

onSignedOut(() => {
  const { pathname, href } = router.state.location;
  if (pathname === "/login") return;
  live.stop();
  void router.navigate({ to: "/login", search: { back: href } }).then(() => queries.clear());
});

await startLanguages();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto">
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
          <Toasts />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
