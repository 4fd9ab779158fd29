import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconBookmarkPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { accountsQuery } from "../api/shared";
import type { TemplateKind, TemplateView } from "../api/types";
import { useMe } from "../app/session";
import { SmallForm } from "../forms/SmallForm";
import { useSend } from "../forms/useSend";
import { Dialog } from "../ui/Dialog";
import { sharedWith } from "./rights";

interface Props {
  kind: TemplateKind;
  /** What is kept, as it stands in the form now; nothing where it cannot be read, which the form says. */
  body: () => Record<string, unknown> | undefined;
  /** The template that is changed; without, another is made. */
  template?: TemplateView;
}

/** Keeps a form for the next time, for oneself or for an account. */
export function SaveTemplate({ kind, body, template }: Props) {
  const { t } = useTranslation();
  const [opened, modal] = useDisclosure();
  const navigate = useNavigate();
  const onDone = () => (template ? void navigate({ to: "/templates" }) : modal.close());
  return (
    <>
      <Button
        variant={template ? "filled" : "subtle"}
        leftSection={<IconBookmarkPlus size={18} />}
        onClick={() => body() && modal.open()}
      >
        {template ? t("templates.change") : t("templates.save")}
      </Button>
      <Dialog
        opened={opened}
        onClose={modal.close}
        title={template ? t("templates.change") : t("templates.save")}
      >
        <TemplateForm kind={kind} body={body} template={template} onBack={modal.close} onDone={onDone} />
      </Dialog>
    </>
  );
}

interface FormProps extends Props {
  onBack: () => void;
  onDone: () => void;
}

export function TemplateForm({ kind, body, template, onBack, onDone }: FormProps) {
  const { t } = useTranslation();
  const me = useMe();
  const form = useForm({
    initialValues: {
      name: template?.name ?? "",
      description: template?.description ?? "",
      account: template?.account ?? "",
    },
    validate: { name: (value) => (value.trim() ? null : t("forms.required")) },
  });
  const save = useSend(form, {
    run: ({ name, description, account }) => {
      const request = {
        kind,
        name: name.trim(),
        description: description.trim(),
        body: JSON.parse(JSON.stringify(body() ?? {})) as Record<string, unknown>,
        account: account || null,
      };
      if (!template) return take(client.POST("/api/v1/templates", { body: request }));
      const params = { path: { id: template.id } };
      return take(client.PUT("/api/v1/templates/{id}", { params, body: request }));
    },
    done: t("templates.saved"),
    changes: [["templates"]],
    onDone,
  });
  // Who looks after everything may share with every account; the others know theirs.
  const all = useQuery({ ...accountsQuery, enabled: me.platformAdmin }).data?.items ?? [];
  const accounts = sharedWith(
    me,
    template,
    all.map((one) => one.name),
  );
  const alone = !template || template.mine ? t("templates.onlyMe") : t("templates.onlyOwner");
  return (
    <SmallForm sending={save} submit={t("actions.save")} onBack={onBack}>
      <TextInput label={t("fields.name")} data-autofocus required {...form.getInputProps("name")} />
      <Textarea label={t("fields.description")} autosize minRows={2} {...form.getInputProps("description")} />
      <NativeSelect
        label={t("templates.who")}
        data={[
          { value: "", label: alone },
          ...accounts.map((account) => ({ value: account, label: t("templates.account", { account }) })),
        ]}
        {...form.getInputProps("account")}
      />
    </SmallForm>
  );
}
