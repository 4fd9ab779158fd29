import { Text } from "@mantine/core";
import { IconTerminal2 } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { CardsAsked } from "../ui/CardsAsked";
import { useSearching, WorkList } from "../work/WorkList";
import { workspacesQuery } from "./queries";

export function WorkspacesPage() {
  const { t } = useTranslation();
  const searching = useSearching();
  const query = useInfiniteQuery(workspacesQuery(searching.filter));
  return (
    <WorkList
      kind="workspaces"
      icon={IconTerminal2}
      searching={searching}
      query={query}
      columns={[
        [t("fields.cards"), (one) => <CardsAsked cards={one.cards} />],
        [
          t("fields.image"),
          (one) => (
            <Text size="sm" truncate maw={240} title={one.image}>
              {one.image}
            </Text>
          ),
        ],
      ]}
    />
  );
}
