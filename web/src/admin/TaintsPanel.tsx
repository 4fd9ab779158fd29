import { Button, Group, NativeSelect, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { NodeDetail, Taint } from "../api/types";
import { ListInput } from "../forms/ListInput";
import { useFaultTexts } from "../forms/useFaults";
import { useSend } from "../forms/useSend";
import { rowFaults } from "../forms/values";
import { Panel } from "../ui/Panel";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function TaintsPanel({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const texts = useFaultTexts();
  const form = useForm<{ taints: Taint[] }>({
    initialValues: { taints: node.taints ?? [] },
    validate: ({ taints }) =>
      texts(rowFaults("taints", taints, (row) => ({ key: row.key ? undefined : "required" }))),
  });
  const take = (taints: Taint[]) => {
    form.setInitialValues({ taints });
    form.setValues({ taints });
    form.resetDirty({ taints });
  };
  // What others change meanwhile is shown, unless something is being typed here.
  const now = JSON.stringify(node.taints ?? []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the node has others
  useEffect(() => {
    if (!form.isDirty()) take(JSON.parse(now) as Taint[]);
  }, [now]);
  const save = useSend(form, {
    run: ({ taints }) =>
      client.PUT("/api/v1/nodes/{name}/taints", { params: { path: { name: node.name } }, body: taints }),
    done: t("nodes.taintsDone"),
    changes: [["nodes"]],
    onDone: (_, values) => take(values.taints),
    fieldOf: (field) => field.replace(/^\[(\d+)\]\./, "taints.$1."),
  });
  if (!node.taints) return null;
  return (
    <Panel>
      <form onSubmit={save.onSubmit} noValidate>
        {save.problem}
        <ListInput
          title={t("nodes.taints")}
          text={t("nodes.taintsText")}
          add={t("nodes.addTaint")}
          rows={form.values.taints}
          make={(): Taint => ({ key: "", value: "", effect: "NoSchedule" })}
          onChange={(rows) => form.setFieldValue("taints", rows)}
        >
          {(row, index, change) => (
            <>
              <TextInput
                aria-label={t("nodes.taintKey")}
                placeholder="dedicated"
                value={row.key}
                error={form.errors[`taints.${index}.key`]}
                onChange={(event) => change({ key: event.currentTarget.value })}
              />
              <TextInput
                aria-label={t("forms.envValue")}
                value={row.value ?? ""}
                error={form.errors[`taints.${index}.value`]}
                onChange={(event) => change({ value: event.currentTarget.value })}
              />
              <NativeSelect
                aria-label={t("nodes.taintEffect")}
                value={row.effect}
                error={form.errors[`taints.${index}.effect`]}
                data={effects}
                onChange={(event) => change({ effect: event.currentTarget.value })}
              />
            </>
          )}
        </ListInput>
        {form.isDirty() && (
          <Group justify="flex-end" mt="md">
            <Button variant="default" onClick={form.reset}>
              {t("actions.back")}
            </Button>
            <Button type="submit" loading={save.busy}>
              {t("actions.save")}
            </Button>
          </Group>
        )}
      </form>
    </Panel>
  );
}
