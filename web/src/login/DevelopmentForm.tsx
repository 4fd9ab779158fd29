import { Button, Group, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import { useAction } from "../ui/useAction";

/** Lets anybody be anybody; only there where the portal runs in development mode. */
export function DevelopmentForm({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const [user, setUser] = useState("ada");
  const login = useAction({
    run: (name: string) => client.POST("/api/v1/login/development", { body: { user: name } }),
    onDone,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    login.mutate(user.trim());
  };
  return (
    <form onSubmit={submit}>
      <Group mt="sm" align="flex-end" wrap="nowrap">
        <TextInput
          label={t("login.developmentUser")}
          value={user}
          onChange={(event) => setUser(event.currentTarget.value)}
          flex={1}
        />
        <Button type="submit" color="grape" loading={login.isPending} disabled={!user.trim()}>
          {t("actions.enter")}
        </Button>
      </Group>
    </form>
  );
}
