import { Badge, Button, CloseButton, Group, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { NodeDetail } from "../api/types";
import { Panel } from "../ui/Panel";
import { useAction } from "../ui/useAction";

export function LabelsPanel({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const [pair, setPair] = useState("");
  const change = useAction({
    run: (body: { set: Record<string, string>; remove: string[] }) =>
      client.PUT("/api/v1/nodes/{name}/labels", { params: { path: { name: node.name } }, body }),
    done: t("nodes.labelsDone"),
    changes: [["nodes"]],
    onDone: () => setPair(""),
  });
  if (!node.labels) return null;
  const add = (event: FormEvent) => {
    event.preventDefault();
    const [key = "", ...value] = pair.split("=");
    change.mutate({ set: { [key.trim()]: value.join("=").trim() }, remove: [] });
  };
  return (
    <Panel title={t("nodes.labels")}>
      <Group gap="xs" mb="md">
        {Object.entries(node.labels).map(([key, value]) => (
          <Badge
            key={key}
            variant="default"
            tt="none"
            fw={500}
            size="lg"
            rightSection={
              // Kubernetes writes its own again by itself.
              key.includes("kubernetes.io/") ? null : (
                <CloseButton
                  size="xs"
                  aria-label={t("nodes.removeLabel", { key })}
                  onClick={() => change.mutate({ set: {}, remove: [key] })}
                />
              )
            }
          >
            {value ? `${key}=${value}` : key}
          </Badge>
        ))}
      </Group>
      <form onSubmit={add}>
        <Group align="flex-end">
          <TextInput
            label={t("nodes.addLabel")}
            placeholder="key=value"
            value={pair}
            onChange={(event) => setPair(event.currentTarget.value)}
          />
          <Button
            type="submit"
            variant="default"
            disabled={!/^[^=\s]+=/.test(pair)}
            loading={change.isPending}
          >
            {t("actions.add")}
          </Button>
        </Group>
      </form>
    </Panel>
  );
}
