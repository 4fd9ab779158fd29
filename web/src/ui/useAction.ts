// Doing something: shows that it was done or why not, and reads again what it may have changed.
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { asApiError } from "../api/error";
import { useErrorText } from "./states";
import { toast } from "./toast";

interface Options<Input, Output> {
  run: (input: Input) => Promise<Output>;
  /** Said when it is done; nothing where the page itself shows it. */
  done?: string;
  changes?: QueryKey[];
  onDone?: (output: Output, input: Input) => void;
  /** The page shows errors itself, as forms do at their fields. */
  quiet?: boolean;
}

export function useAction<Input = void, Output = unknown>(options: Options<Input, Output>) {
  const { run, done, changes = [], onDone, quiet } = options;
  const queries = useQueryClient();
  const said = useErrorText();
  const { t } = useTranslation();
  return useMutation({
    mutationFn: run,
    onSuccess: (output, input) => {
      if (done) toast(done);
      for (const queryKey of changes) void queries.invalidateQueries({ queryKey });
      onDone?.(output, input);
    },
    onError: (error) => {
      if (quiet) return;
      const id = asApiError(error).requestId;
      const message = id ? `${said(error)} (${t("states.requestId")} ${id})` : said(error);
      toast(message, { title: t("states.notDone"), bad: true });
    },
  });
}
