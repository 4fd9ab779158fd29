import { Autocomplete, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { UserLimits } from "../api/types";
import { cardChoices } from "../forms/choices";
import { ListInput } from "../forms/ListInput";
import { SmallForm } from "../forms/SmallForm";
import { useFaultTexts } from "../forms/useFaults";
import { useSend } from "../forms/useSend";
import type { Pair } from "../forms/values";
import { nodesQuery } from "../heatmap/queries";
import { Facts } from "../ui/Facts";
import { formatAmount } from "../ui/format";
import { PageHeader } from "../ui/PageHeader";
import { Panel } from "../ui/Panel";
import { inOrder, useResourceTitle } from "../ui/resources";
import { Loaded } from "../ui/states";
import { faultsOf, fieldOf, limitWords } from "./limits";
import { pairsOf, resourcesOf } from "./tree";
import { useUser } from "./user";

const limitsQuery = (id: string) =>
  queryOptions({
    queryKey: ["users", "limits", id],
    queryFn: () => take(client.GET("/api/v1/users/{id}/limits", { params: { path: { id } } })),
  });

/** The most that a user may have, whichever account pays. */
export function UserLimitsPage() {
  const { t } = useTranslation();
  const { id, name } = useUser();
  return (
    <>
      <PageHeader
        title={name ? t("users.limitsOf", { name }) : t("users.limits")}
        text={t("users.limitsText")}
        above={{ title: t("nav.users"), to: "/admin/users" }}
      />
      <Loaded query={useQuery(limitsQuery(id))}>
        {(limits) => (
          <Stack gap="lg" maw={820}>
            <Panel title={t("users.limitsSet")}>
              <LimitsForm key={JSON.stringify(limits.set)} id={id} limits={limits} />
            </Panel>
            <Holding limits={limits} />
          </Stack>
        )}
      </Loaded>
    </>
  );
}

/** What holds by now, also what nobody has said of this user. */
function Holding({ limits }: { limits: UserLimits }) {
  const { t } = useTranslation();
  const title = useResourceTitle();
  const held = inOrder(Object.entries(limits.limits as Record<string, string>));
  return (
    <section aria-label={t("users.limitsHold")}>
      <Panel title={t("users.limitsHold")}>
        <Facts facts={held.map(([what, amount]) => [title(what), formatAmount(what, amount)])} />
      </Panel>
    </section>
  );
}

function LimitsForm({ id, limits }: { id: string; limits: UserLimits }) {
  const { t } = useTranslation();
  const texts = useFaultTexts();
  const kinds = cardChoices(useQuery(nodesQuery).data ?? []).map((one) => one.resource);
  const form = useForm<{ rows: Pair[] }>({
    initialValues: { rows: pairsOf(limits.set) },
    validate: (values) => texts(faultsOf(values)),
  });
  const sending = useSend(form, {
    fieldOf: (field) => fieldOf(field, form.values.rows),
    run: ({ rows }) =>
      take(
        client.PUT("/api/v1/users/{id}/limits", {
          params: { path: { id } },
          body: { limits: resourcesOf(rows) },
        }),
      ),
    done: t("users.limitsSaved"),
    changes: [["users", "limits", id]],
  });
  return (
    <SmallForm sending={sending} submit={t("actions.save")}>
      <ListInput
        title={t("users.limits")}
        text={t("users.limitsSetText")}
        add={t("accounts.addAmount")}
        rows={form.values.rows}
        make={() => ({ name: "", value: "" })}
        onChange={(rows) => form.setFieldValue("rows", rows)}
      >
        {(_, index) => (
          <>
            <Autocomplete
              aria-label={t("accounts.resource")}
              data={[...kinds, ...limitWords]}
              {...form.getInputProps(`rows.${index}.name`)}
            />
            <TextInput aria-label={t("accounts.amount")} {...form.getInputProps(`rows.${index}.value`)} />
          </>
        )}
      </ListInput>
    </SmallForm>
  );
}
