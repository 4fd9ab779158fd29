// What a page shows while it has nothing to show: waiting, nothing there, refused, not possible, gone wrong.
import { Button, Center, Code, Group, Skeleton, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import {
  IconCloudOff,
  IconLock,
  IconMoodEmpty,
  IconPlugConnectedX,
  IconSearchOff,
  IconTools,
} from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import type { TFunction } from "i18next";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { type ApiError, asApiError } from "../api/error";

export function Loading({ rows = 4 }: { rows?: number }) {
  const { t } = useTranslation();
  return (
    <Stack gap="sm" role="status" aria-label={t("states.loading")}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows of a skeleton are all alike
        <Skeleton key={row} height={row === 0 ? 32 : 48} radius="md" width={row === 0 ? "40%" : "100%"} />
      ))}
    </Stack>
  );
}

interface NoticeProps {
  icon?: typeof IconLock;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  color?: string;
}

/** A calm page in the middle of the page: an icon, what is the case, and what can be done. */
export function Notice({ icon: Icon = IconMoodEmpty, title, children, action, color = "gray" }: NoticeProps) {
  return (
    <Center py={56} px="md">
      <Stack align="center" gap="sm" w="100%" maw={460}>
        <ThemeIcon size={56} radius="xl" variant="light" color={color} aria-hidden>
          <Icon size={28} stroke={1.5} />
        </ThemeIcon>
        <Title order={2} size="h4" ta="center">
          {title}
        </Title>
        {children && (
          <Text component="div" c="dimmed" ta="center" size="sm" maw="100%">
            {children}
          </Text>
        )}
        {action && <Group mt="xs">{action}</Group>}
      </Stack>
    </Center>
  );
}

export function Empty(props: Omit<NoticeProps, "color">) {
  return <Notice {...props} color="accent" />;
}

/** The sentence for an error: ours where the code says enough, with what the portal said. */
export function useErrorText(): (error: unknown) => string {
  const { t } = useTranslation();
  return (error) => {
    const { code, message, retryAfterSeconds } = asApiError(error);
    const ours = t(`errors.${code}`, { seconds: retryAfterSeconds ?? 60 });
    // These say all there is; the others carry what the portal found.
    const enough = ["signedOut", "wrongPassword", "tooMany", "offline", "notAvailable", "crossSite"];
    return message && !enough.includes(code) ? `${ours} ${message}` : ours;
  };
}

interface ErrorProps {
  error: unknown;
  retry?: () => void;
  /** What a 404 means here: the portal does not know such pages yet, or there is no such thing. */
  missing?: "route" | "object";
}

const looks = {
  forbidden: { icon: IconLock, key: "forbidden", color: "gray" },
  offline: { icon: IconCloudOff, key: "offline", color: "gray" },
  missing: { icon: IconSearchOff, key: "missing", color: "gray" },
  unavailable: { icon: IconTools, key: "notAvailable", color: "gray" },
  fault: { icon: IconPlugConnectedX, key: "error", color: "red" },
} as const;

function lookOf(error: ApiError, missing: "route" | "object") {
  if (error.code === "forbidden" || error.code === "scopeMissing") return looks.forbidden;
  if (error.code === "offline") return looks.offline;
  if (error.code === "notAvailable" || error.code === "methodNotAllowed") return looks.unavailable;
  if (error.code === "notFound") return missing === "route" ? looks.unavailable : looks.missing;
  return looks.fault;
}

/** Trying again helps only where something is broken; the rest has a way home, so that no page is a dead end. */
function wayOut(look: (typeof looks)[keyof typeof looks], t: TFunction, retry?: () => void) {
  if (look === looks.fault || look === looks.offline) {
    return (
      retry && (
        <Button variant="default" onClick={retry}>
          {t("actions.retry")}
        </Button>
      )
    );
  }
  if (look === looks.unavailable) return undefined;
  return (
    <Button variant="default" component="a" href="/">
      {t("states.noPage.home")}
    </Button>
  );
}

export function ErrorState({ error, retry, missing = "object" }: ErrorProps) {
  const { t } = useTranslation();
  const said = useErrorText();
  const found = asApiError(error);
  const look = lookOf(found, missing);
  return (
    <div role={look === looks.fault ? "alert" : "status"}>
      <Notice
        icon={look.icon}
        color={look.color}
        title={t(`states.${look.key}.title`)}
        action={wayOut(look, t, retry)}
      >
        {look === looks.fault ? said(error) : t(`states.${look.key}.text`)}
        {found.requestId && look === looks.fault && (
          <Text size="xs" mt="sm">
            {t("states.requestId")} <Code>{found.requestId}</Code>
          </Text>
        )}
      </Notice>
    </div>
  );
}

interface LoadedProps<T> {
  query: Pick<UseQueryResult<T>, "data" | "error" | "isPending" | "refetch">;
  children: (data: T) => ReactNode;
  missing?: "route" | "object";
  rows?: number;
}

/** What a query brought, or the state it is in. What was there before stays while it is asked for again. */
export function Loaded<T>({ query, children, missing, rows }: LoadedProps<T>) {
  if (query.data !== undefined && asApiError(query.error ?? "").code !== "notFound") {
    return <>{children(query.data)}</>;
  }
  if (query.error) {
    return <ErrorState error={query.error} retry={() => void query.refetch()} missing={missing} />;
  }
  return <Loading rows={rows} />;
}
