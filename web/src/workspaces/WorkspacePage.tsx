import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { ConnectTab } from "../access/ConnectTab";
import { isOffered, sshQuery } from "../access/offer";
import { portsQuery } from "../access/ports";
import { LogView } from "../ui/LogView";
import { Terminal, WorkPage } from "../work/WorkPage";
import { below } from "../work/work";
import { Actions } from "./Actions";
import { Overview } from "./Overview";
import { workspaceQuery } from "./queries";

export function WorkspacePage() {
  const path = useParams({ from: "/inside/workspaces/$namespace/$name" });
  const query = useQuery(workspaceQuery(path));
  const waysIn = [useQuery(sshQuery), useQuery(portsQuery("workspaces", path))].some((one) => isOffered(one));
  return (
    <WorkPage
      kind="workspaces"
      query={query}
      actions={(workspace, go) => <Actions workspace={workspace} onTerminal={() => go("terminal")} />}
      own={{
        overview: (workspace) => <Overview workspace={workspace} />,
        terminal: ({ phase }) => (
          <Terminal path={below("workspaces", path, "terminal")} running={phase === "Running"} />
        ),
        connect: waysIn ? (workspace) => <ConnectTab kind="workspaces" work={workspace} /> : undefined,
        logs: () => <LogView path={below("workspaces", path, "logs")} file={`${path.name}.log`} />,
      }}
    />
  );
}
