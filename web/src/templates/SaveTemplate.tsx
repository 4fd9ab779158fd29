import { Button, Group, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconBookmarkPlus } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import { useMe } from "../app/session";
import { Dialog } from "../ui/Dialog";
import { useAction } from "../ui/useAction";

interface Props {
  kind: "workspace" | "job";
  /** What is kept, as it stands in the form now. */
  body: () => Record<string, unknown>;
}

/** Keeps a form for the next time, for oneself or for an account. */
export function SaveTemplate({ kind, body }: Props) {
  const { t } = useTranslation();
  const [opened, modal] = useDisclosure();
  const me = useMe();
  const form = useForm({
    initialValues: { name: "", description: "", account: "" },
    validate: { name: (value) => (value.trim() ? null : t("forms.required")) },
  });
  const save = useAction({
    run: (values: typeof form.values) => {
      const kept = JSON.parse(JSON.stringify(body())) as Record<string, unknown>;
      return take(
        client.POST("/api/v1/templates", {
          body: {
            kind,
            name: values.name.trim(),
            description: values.description.trim(),
            body: kept,
            account: values.account || null,
          } as never,
        }),
      );
    },
    done: t("templates.saved"),
    changes: [["templates"]],
    onDone: modal.close,
  });
  const accounts = Object.entries(me.accounts).filter(([, role]) => role === "member" || role === "admin");
  return (
    <>
      <Button variant="subtle" leftSection={<IconBookmarkPlus size={18} />} onClick={modal.open}>
        {t("templates.save")}
      </Button>
      <Dialog opened={opened} onClose={modal.close} title={t("templates.save")}>
        <form
          onSubmit={(event) => {
            // React lets it rise to the form that this one is shown from, which must not be sent by it.
            event.stopPropagation();
            form.onSubmit((values) => save.mutate(values))(event);
          }}
          noValidate
        >
          <Stack>
            <TextInput label={t("fields.name")} data-autofocus required {...form.getInputProps("name")} />
            <Textarea
              label={t("fields.description")}
              autosize
              minRows={2}
              {...form.getInputProps("description")}
            />
            <NativeSelect
              label={t("templates.who")}
              data={[
                { value: "", label: t("templates.onlyMe") },
                ...accounts.map(([value]) => ({ value, label: t("templates.account", { account: value }) })),
              ]}
              {...form.getInputProps("account")}
            />
            <Group justify="flex-end">
              <Button variant="default" onClick={modal.close}>
                {t("actions.back")}
              </Button>
              <Button type="submit" loading={save.isPending}>
                {t("actions.save")}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  );
}
