import { Badge, Button, CloseButton, Group, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { NodeDetail } from "../api/types";
import { useSend } from "../forms/useSend";
import { Panel } from "../ui/Panel";
import { useAction } from "../ui/useAction";

export function LabelsPanel({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const path = { name: node.name };
  const put = (body: { set: Record<string, string>; remove: string[] }) =>
    client.PUT("/api/v1/nodes/{name}/labels", { params: { path }, body });
  const told = { done: t("nodes.labelsDone"), changes: [["nodes"]] };
  const remove = useAction({ ...told, run: (key: string) => put({ set: {}, remove: [key] }) });
  const form = useForm({
    initialValues: { set: "" },
    validate: { set: (value) => (/^[^=\s]+=\S*$/.test(value.trim()) ? null : t("nodes.labelFault")) },
  });
  const add = useSend(form, {
    ...told,
    run: ({ set }) => {
      const [key = "", ...value] = set.trim().split("=");
      return put({ set: { [key]: value.join("=") }, remove: [] });
    },
    onDone: () => form.reset(),
  });
  if (!node.labels) return null;
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
                  onClick={() => remove.mutate(key)}
                />
              )
            }
          >
            {value ? `${key}=${value}` : key}
          </Badge>
        ))}
      </Group>
      <form onSubmit={add.onSubmit} noValidate>
        {add.problem}
        <Group align="flex-start" gap="xs">
          <TextInput
            aria-label={t("nodes.addLabel")}
            placeholder="key=value"
            {...form.getInputProps("set")}
          />
          <Button type="submit" variant="default" loading={add.busy}>
            {t("nodes.addLabel")}
          </Button>
        </Group>
      </form>
    </Panel>
  );
}
