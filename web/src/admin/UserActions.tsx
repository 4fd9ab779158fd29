import { ActionIcon, Menu } from "@mantine/core";
import {
  IconCalendarOff,
  IconDeviceDesktop,
  IconDots,
  IconGauge,
  IconKey,
  IconShield,
  IconShieldOff,
  IconUserCheck,
  IconUserOff,
} from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, take } from "../api/client";
import type { UserView } from "../api/types";
import { useMe } from "../app/session";
import { Confirm } from "../ui/Confirm";
import { Dialog } from "../ui/Dialog";
import { useAction } from "../ui/useAction";
import { UserEnd } from "./UserEnd";

interface Props {
  user: UserView;
  onPassword: (made: { name: string; password: string }) => void;
}

export function UserActions({ user, onPassword }: Props) {
  const { t } = useTranslation();
  const me = useMe();
  const [asking, setAsking] = useState<"disable" | "reset" | "end">();
  const params = { path: { id: user.id } };
  const change = useAction({
    run: (body: { disabled?: boolean; platformAdmin?: boolean }) =>
      client.PUT("/api/v1/users/{id}", { params, body }),
    done: t("users.changed"),
    changes: [["users"]],
    onDone: () => setAsking(undefined),
  });
  const reset = useAction({
    run: () => take(client.POST("/api/v1/users/{id}/password", { params })),
    changes: [["users"]],
    onDone: ({ password }) => {
      setAsking(undefined);
      onPassword({ name: user.name, password });
    },
  });
  const self = me.id === user.id;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t("users.actions", { name: user.name })}>
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            component={Link}
            to="/admin/users/$user/sessions"
            params={{ user: user.id } as never}
            search={{ name: user.name } as never}
            leftSection={<IconDeviceDesktop size={16} />}
          >
            {t("users.sessions")}
          </Menu.Item>
          <Menu.Item
            component={Link}
            to="/admin/users/$user/limits"
            params={{ user: user.id } as never}
            search={{ name: user.name } as never}
            leftSection={<IconGauge size={16} />}
          >
            {t("users.limits")}
          </Menu.Item>
          <Menu.Item leftSection={<IconKey size={16} />} onClick={() => setAsking("reset")}>
            {t("users.reset")}
          </Menu.Item>
          <Menu.Item
            leftSection={user.platformAdmin ? <IconShieldOff size={16} /> : <IconShield size={16} />}
            disabled={self}
            onClick={() => change.mutate({ platformAdmin: !user.platformAdmin })}
          >
            {user.platformAdmin ? t("users.takeAdmin") : t("users.makeAdmin")}
          </Menu.Item>
          <Menu.Item leftSection={<IconCalendarOff size={16} />} onClick={() => setAsking("end")}>
            {t("users.end")}
          </Menu.Item>
          {user.disabled ? (
            <Menu.Item
              leftSection={<IconUserCheck size={16} />}
              onClick={() => change.mutate({ disabled: false })}
            >
              {t("users.enable")}
            </Menu.Item>
          ) : (
            <Menu.Item
              color="red"
              disabled={self}
              leftSection={<IconUserOff size={16} />}
              onClick={() => setAsking("disable")}
            >
              {t("users.disable")}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <Dialog
        opened={asking === "end"}
        onClose={() => setAsking(undefined)}
        title={t("users.endTitle", { name: user.name })}
      >
        <UserEnd user={user} onClose={() => setAsking(undefined)} />
      </Dialog>
      <Confirm
        opened={asking === "disable"}
        onClose={() => setAsking(undefined)}
        onConfirm={() => change.mutate({ disabled: true })}
        busy={change.isPending}
        danger
        title={t("users.disableTitle", { name: user.name })}
        lost={[t("users.disableLost")]}
        confirm={t("users.disable")}
      />
      <Confirm
        opened={asking === "reset"}
        onClose={() => setAsking(undefined)}
        onConfirm={() => reset.mutate()}
        busy={reset.isPending}
        danger
        title={t("users.resetTitle", { name: user.name })}
        lost={[t("users.resetLost")]}
        confirm={t("users.reset")}
      />
    </>
  );
}
