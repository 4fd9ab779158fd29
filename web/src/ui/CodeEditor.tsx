import { lazy, Suspense } from "react";
import { Panel } from "./Panel";
import { Loading } from "./states";
import classes from "./ui.module.css";

export interface EditorProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** The line that is wrong, from 1. */
  wrong?: number;
  describedBy?: string;
}

const CodeMirror = lazy(() => import("./CodeMirror"));

/** YAML with numbered and coloured lines. */
export function CodeEditor(props: EditorProps) {
  return (
    <Panel p={0}>
      <div className={classes.editor}>
        <Suspense fallback={<Loading />}>
          <CodeMirror {...props} />
        </Suspense>
      </div>
    </Panel>
  );
}
