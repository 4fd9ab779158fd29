import { Button, Center } from "@mantine/core";
import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

type Props = {
  query: Pick<UseInfiniteQueryResult, "hasNextPage" | "isFetchingNextPage" | "fetchNextPage">;
};

/** Asks for the next page of a list, where there is one. */
export function More({ query }: Props) {
  const { t } = useTranslation();
  if (!query.hasNextPage) return null;
  return (
    <Center mt="md">
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {t("actions.more")}
      </Button>
    </Center>
  );
}
