import { client, take } from "../api/client";
import { useAction } from "../ui/useAction";
import type { Kind, Work } from "../work/work";
import { goTo } from "./visit";

/** Opens a port. The page that it comes into is made by the click itself: browsers refuse those that come later. */
export function useOpenPort(kind: Kind, { namespace, name }: Work) {
  const open = useAction({
    run: async ({ port, page }: { port: number; page: Window | null }) => {
      const answer = client.POST(`/api/v1/${kind}/{namespace}/{name}/ports/{port}/open`, {
        params: { path: { namespace, name, port: String(port) } },
      });
      const { url } = await take(answer).catch((error: unknown) => {
        page?.close();
        throw error;
      });
      goTo(url, page);
    },
  });
  return {
    busy: open.isPending,
    run: (port: number) => open.mutate({ port, page: window.open("", "_blank") }),
  };
}
