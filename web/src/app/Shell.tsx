// The frame around all pages behind the sign-in.
import { Alert, Burger, Text } from "@mantine/core";
import { IconFlask, IconWifiOff } from "@tabler/icons-react";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { Loading } from "../ui/states";
import { Logo } from "./Logo";
import { adminPlaces, type Place, places } from "./navigation";
import { useApplyPreferences } from "./preferences";
import { live } from "./queries";
import { useDevelopment, useMe } from "./session";
import classes from "./shell.module.css";
import { UserPanel } from "./UserPanel";

function Links({ of }: { of: Place[] }) {
  const { t } = useTranslation();
  const path = useRouterState({ select: (state) => state.location.pathname });
  return (
    <ul className={classes.links}>
      {of.map(({ to, text, icon: Icon }) => {
        const active = to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`);
        return (
          <li key={to}>
            <Link to={to} className={classes.link} aria-current={active ? "page" : undefined}>
              <Icon size={19} stroke={1.7} aria-hidden />
              {t(text)}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

function Disconnected() {
  const { t } = useTranslation();
  const state = useSyncExternalStore(live.subscribe, () => live.state);
  if (state !== "lost") return null;
  return (
    <Alert icon={<IconWifiOff size={18} />} color="yellow" mb="md" role="status" p="sm">
      {t("live.lost")}
    </Alert>
  );
}

function Development() {
  const { t } = useTranslation();
  if (!useDevelopment()) return null;
  return (
    <Alert icon={<IconFlask size={18} />} color="grape" mb="md" p="sm">
      {t("login.developmentNote")}
    </Alert>
  );
}

export function Shell() {
  const { t } = useTranslation();
  const me = useMe();
  const path = useRouterState({ select: (state) => state.location.pathname });
  // The page on which the menu was opened: going to another closes it.
  const [openedOn, setOpenedOn] = useState<string>();
  const opened = openedOn === path;
  useApplyPreferences();
  useEffect(() => {
    live.start();
  }, []);
  const admin = adminPlaces(me);
  return (
    <div className={classes.shell}>
      <a href="#main" className="skip">
        {t("app.skip")}
      </a>
      <header className={classes.side} data-opened={opened || undefined}>
        <div className={classes.top}>
          <Link to="/" className={classes.brand} aria-label={t("app.home")}>
            <Logo size={28} />
            <Text fw={700} size="lg">
              {t("app.name")}
            </Text>
          </Link>
          <Burger
            opened={opened}
            onClick={() => setOpenedOn(opened ? undefined : path)}
            size="sm"
            className={classes.burger}
            aria-label={t("app.menu")}
            aria-expanded={opened}
          />
        </div>
        <div className={classes.menu}>
          <nav aria-label={t("app.navigation")} className={classes.nav}>
            <Links of={places} />
            {admin.length > 0 && (
              <>
                <Text size="xs" fw={600} c="dimmed" mt="lg" mb={6} px="sm">
                  {t("nav.admin")}
                </Text>
                <Links of={admin} />
              </>
            )}
          </nav>
          <UserPanel me={me} />
        </div>
      </header>
      <main id="main" tabIndex={-1} className={classes.main}>
        <div className={classes.page}>
          <Disconnected />
          <Development />
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </div>
      </main>
    </div>
  );
}
