// Why something waits, in plain words.
import { Alert, Anchor, List, Skeleton, Text } from "@mantine/core";
import { IconClockHour4 } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Why } from "../api/types";
import { say } from "../i18n/say";
import { When } from "./When";

interface Props {
  /** What was asked of the portal; the work itself may say something before that is there, or where it fails. */
  query: Pick<UseQueryResult<Why>, "data" | "isPending">;
  message?: string | null;
}

export function WhyCard({ query, message }: Props) {
  const { t } = useTranslation();
  const why = query.data;
  if (!why) {
    return (
      <WhyAlert>
        {query.isPending && !message ? (
          <Skeleton height={20} width="60%" role="status" aria-label={t("states.loading")} />
        ) : (
          <Text size="sm">{message ? say(message) : t("why.unknown")}</Text>
        )}
      </WhyAlert>
    );
  }
  if (!why.waits) return null;
  // The first sentence says the state, which stands beside the title already.
  const sentences = why.sentences.slice(1);
  return (
    <WhyAlert>
      {sentences.length === 0 && <Text size="sm">{message ? say(message) : t("why.unknown")}</Text>}
      <List size="sm" spacing={4}>
        {sentences.map((sentence) => (
          <List.Item key={sentence}>{say(sentence)}</List.Item>
        ))}
        {why.position != null && <List.Item>{t("why.position", { count: why.position })}</List.Item>}
        {why.waitsFor.length > 0 && (
          <List.Item>
            {t("why.waitsFor")}{" "}
            {why.waitsFor.map((one, index) => (
              <span key={one}>
                {index > 0 && ", "}
                <WorkLink place={one} />
              </span>
            ))}
          </List.Item>
        )}
        {why.estimatedStart && (
          <List.Item>
            {t("why.start")} <When at={why.estimatedStart} />
          </List.Item>
        )}
      </List>
    </WhyAlert>
  );
}

function WhyAlert({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Alert icon={<IconClockHour4 size={20} />} title={t("why.title")} color="yellow" variant="light">
      {children}
    </Alert>
  );
}

function WorkLink({ place }: { place: string }) {
  const [namespace, name] = place.split("/");
  if (!namespace || !name) return <>{place}</>;
  return (
    <Anchor component={Link} to="/jobs/$namespace/$name" params={{ namespace, name } as never} inherit>
      {name}
    </Anchor>
  );
}
