// A plain editor with numbered lines. An editor of half a megabyte would do more, and nobody writes novels here.
import { useRef } from "react";
import { Panel } from "./Panel";
import classes from "./ui.module.css";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** The line that is wrong, from 1. */
  wrong?: number;
  describedBy?: string;
}

export function CodeEditor({ label, value, onChange, wrong, describedBy }: Props) {
  const gutter = useRef<HTMLDivElement>(null);
  const lines = value.split("\n").length;
  return (
    <Panel p={0}>
      <div className={classes.editor}>
        <div ref={gutter} className={`${classes.gutter} ${classes.mono}`} aria-hidden>
          {Array.from({ length: lines }, (_, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
            <div key={line} data-wrong={wrong === line + 1 || undefined}>
              {line + 1}
            </div>
          ))}
        </div>
        <textarea
          className={`${classes.area} ${classes.mono}`}
          aria-label={label}
          aria-invalid={wrong !== undefined}
          aria-describedby={describedBy}
          spellCheck={false}
          autoCapitalize="off"
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
    </Panel>
  );
}
