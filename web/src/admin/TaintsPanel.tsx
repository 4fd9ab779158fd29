import { Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { NodeDetail, Taint } from "../api/types";
import { ListInput } from "../forms/ListInput";
import { Panel } from "../ui/Panel";
import { useAction } from "../ui/useAction";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function TaintsPanel({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const [changed, setChanged] = useState<Taint[]>();
  const save = useAction({
    run: (body: Taint[]) =>
      client.PUT("/api/v1/nodes/{name}/taints", { params: { path: { name: node.name } }, body }),
    done: t("nodes.taintsDone"),
    changes: [["nodes"]],
    onDone: () => setChanged(undefined),
  });
  if (!node.taints) return null;
  const rows = changed ?? node.taints;
  return (
    <Panel>
      <ListInput
        title={t("nodes.taints")}
        text={t("nodes.taintsText")}
        add={t("nodes.addTaint")}
        rows={rows}
        make={(): Taint => ({ key: "", value: "", effect: "NoSchedule" })}
        onChange={setChanged}
      >
        {(row, _, change) => (
          <>
            <TextInput
              aria-label={t("nodes.taintKey")}
              placeholder="dedicated"
              value={row.key}
              onChange={(event) => change({ key: event.currentTarget.value })}
            />
            <TextInput
              aria-label={t("forms.envValue")}
              value={row.value ?? ""}
              onChange={(event) => change({ value: event.currentTarget.value })}
            />
            <NativeSelect
              aria-label={t("nodes.taintEffect")}
              value={row.effect}
              data={effects}
              onChange={(event) => change({ effect: event.currentTarget.value })}
            />
          </>
        )}
      </ListInput>
      {changed && (
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={() => setChanged(undefined)}>
            {t("actions.back")}
          </Button>
          <Button
            loading={save.isPending}
            disabled={changed.some((one) => !one.key)}
            onClick={() => save.mutate(changed)}
          >
            {t("actions.save")}
          </Button>
        </Group>
      )}
    </Panel>
  );
}
