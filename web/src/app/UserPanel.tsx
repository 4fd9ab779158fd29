import {
  ActionIcon,
  Avatar,
  Button,
  Group,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { IconLogout, IconMoon, IconSun } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client } from "../api/client";
import type { Me } from "../api/types";
import { currentLanguage, type Language, languages, setLanguage } from "../i18n";
import { useAction } from "../ui/useAction";
import { usePreferences } from "./preferences";
import { live } from "./queries";
import classes from "./shell.module.css";

/** Who is signed in, with what he changes most: colours, language, and leaving. */
export function UserPanel({ me }: { me: Me }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { save } = usePreferences();
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  const other = (Object.keys(languages) as Language[]).find((one) => one !== currentLanguage()) ?? "en";
  const logout = useAction({
    run: () => client.POST("/api/v1/logout"),
    onDone: () => {
      live.stop();
      void navigate({ to: "/login", search: {} }).then(() => queries.clear());
    },
  });
  const theme = dark ? "light" : "dark";
  return (
    <div className={classes.user}>
      <Link to="/settings" className={classes.link}>
        <Avatar size={30} radius="xl" color="accent" aria-hidden>
          {(me.displayName || me.name).slice(0, 1).toUpperCase()}
        </Avatar>
        <span>
          <Text component="span" display="block" size="sm" fw={600} lh={1.3}>
            {me.displayName || me.name}
          </Text>
          <Text component="span" display="block" size="xs" c="dimmed" lh={1.3}>
            {t("nav.settings")}
          </Text>
        </span>
      </Link>
      <Group justify="space-between" mt={6} px={4} wrap="nowrap">
        <Button
          variant="subtle"
          color="gray"
          c="dimmed"
          size="compact-sm"
          lang={other}
          onClick={() => {
            void setLanguage(other);
            save({ language: other });
          }}
        >
          {languages[other]}
        </Button>
        <Group gap={2} wrap="nowrap">
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={t(`app.${theme}`)}
            title={t(`app.${theme}`)}
            onClick={() => {
              setColorScheme(theme);
              save({ theme });
            }}
          >
            {dark ? <IconSun size={18} /> : <IconMoon size={18} />}
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={t("actions.logout")}
            title={t("actions.logout")}
            onClick={() => logout.mutate()}
          >
            <IconLogout size={18} />
          </ActionIcon>
        </Group>
      </Group>
    </div>
  );
}
