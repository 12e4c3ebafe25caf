/** A call's result: tables where it is tabular, lines where it is text, otherwise names and values; or as JSON. */
import { useMutation } from "@tanstack/react-query";
import { ChevronRight, Download } from "lucide-react";
import { memo, useState } from "react";
import { api, messageOf } from "../../api/client";
import type { Json, JsonObject } from "../../api/types";
import { cx } from "../../lib/cx";
import { formatBytes } from "../../lib/format";
import { Button } from "../Button";
import { CopyButton } from "../Copy";
import { StateWord } from "../Words";
import { foldEqual, type HostResult, hostResults } from "./hosts";
import { JsonTree } from "./JsonTree";
import { Output } from "./Output";
import { formatValue, labelOf, shapeOf } from "./shape";

interface ResultViewProps {
  callId: string;
  result: Json | undefined;
  preview?: string | null;
  bytes?: number | null;
}

export const ResultView = memo(function ResultView({ callId, result, preview, bytes }: ResultViewProps) {
  const [asJson, setAsJson] = useState(false);
  const whole = useMutation({ mutationFn: () => api.wholeResult(callId) });
  const value = result ?? whole.data;
  if (value === undefined) {
    if (!preview && !bytes) return <p className="text-13 text-muted">No result.</p>;
    return (
      <div className="flex flex-col gap-2">
        {preview && <Output text={preview} label="Beginning of the result" />}
        <div className="flex flex-wrap items-center gap-2 text-12 text-muted">
          {bytes ? <span>The whole result has {formatBytes(bytes)}.</span> : null}
          <Button size="small" icon={Download} busy={whole.isPending} onClick={() => whole.mutate()}>
            Load it
          </Button>
          {whole.error && <span className="text-danger-text">{messageOf(whole.error)}</span>}
        </div>
      </div>
    );
  }
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex items-center justify-between gap-2">
        <div
          className="inline-flex rounded-control border border-line p-0.5"
          role="group"
          aria-label="How to show the result"
        >
          {[false, true].map((json) => (
            <button
              key={String(json)}
              type="button"
              aria-pressed={asJson === json}
              onClick={() => setAsJson(json)}
              className={cx(
                "rounded-[4px] px-2 text-12 leading-5",
                asJson === json ? "bg-raised text-text" : "text-muted hover:text-text",
              )}
            >
              {json ? "JSON" : "View"}
            </button>
          ))}
        </div>
        <span className="flex items-center gap-1 text-12 text-muted">
          {bytes ? formatBytes(bytes) : null}
          <CopyButton text={JSON.stringify(value, null, 2)} label="Copy as JSON" tipSide="left" />
        </span>
      </div>
      {asJson ? <JsonTree value={value} /> : <Piece value={value} name="" depth={0} />}
    </div>
  );
});

function Piece({ name, value, depth }: { name: string; value: Json; depth: number }) {
  const shape = shapeOf(value, name);
  const hosts = depth === 0 ? hostResults(value) : null;
  if (hosts) return <HostResults hosts={hosts} />;
  if (depth > 4) return <JsonTree value={value} depth={1} />;
  switch (shape.kind) {
    case "value":
      return <Value name={name} value={value} />;
    case "text":
      return <Output text={shape.text} label={name ? labelOf(name) : undefined} />;
    case "table":
      return <ResultTable name={name} columns={shape.columns} rows={shape.rows} />;
    case "list":
      return (
        <div className="flex flex-col gap-2">
          {shape.items.slice(0, 50).map((each, index) => (
            <div key={index} className="border-l border-line pl-3">
              <Piece name={name} value={each} depth={depth + 1} />
            </div>
          ))}
          {shape.items.length > 50 && (
            <p className="text-12 text-muted">{shape.items.length - 50} more in the JSON view.</p>
          )}
        </div>
      );
    case "fields":
      return (
        <div className="flex min-w-0 flex-col gap-3">
          {shape.small.length > 0 && (
            <dl className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,200px),1fr))] gap-x-6 gap-y-0.5 text-13">
              {shape.small.map(([key, each]) => (
                <div
                  key={key}
                  className={cx(
                    "flex min-w-0 items-baseline justify-between gap-3 border-b border-line/60 py-0.5",
                    String(each).length > 28 && "col-span-full",
                  )}
                >
                  <dt className="shrink-0 text-muted">{labelOf(key)}</dt>
                  <dd className="min-w-0 text-right break-words">
                    <Value name={key} value={each} parent={name} />
                  </dd>
                </div>
              ))}
            </dl>
          )}
          {shape.large.map(([key, each]) => (
            <div key={key} role="group" aria-label={labelOf(key)} className="min-w-0">
              <div className="mb-1 text-12 font-medium text-muted">{labelOf(key)}</div>
              <Piece name={key} value={each} depth={depth + 1} />
            </div>
          ))}
          {shape.small.length === 0 && shape.large.length === 0 && (
            <p className="text-13 text-muted">An empty result.</p>
          )}
        </div>
      );
  }
}

function HostResults({ hosts }: { hosts: HostResult[] }) {
  const [only] = hosts;
  if (only && hosts.length === 1) return <OneHost host={only} />;
  return (
    <div className="flex flex-col">
      {foldEqual(hosts).map((group) => (
        <details
          key={group[0]?.edge_id}
          className="group border-b border-line/60 last:border-b-0"
          open={hosts.length <= 3}
        >
          <summary className="flex min-h-8 items-center gap-2 text-13">
            <ChevronRight
              aria-hidden
              size={12}
              className="shrink-0 text-muted transition-transform group-open:rotate-90"
            />
            <span className="min-w-0 truncate font-medium">{group.map((host) => host.name).join(", ")}</span>
            {group.length > 1 && <span className="text-12 text-muted">{group.length} the same</span>}
            <span className="ml-auto flex">{group[0] && <StateWord value={group[0].state} />}</span>
          </summary>
          <div className="pb-3 pl-5">{group[0] && <OneHost host={group[0]} />}</div>
        </details>
      ))}
    </div>
  );
}

function OneHost({ host }: { host: HostResult }) {
  if (host.result !== undefined && host.result !== null) return <Piece name="" value={host.result} depth={1} />;
  return <p className="text-13 text-muted">{host.error ?? "No result."}</p>;
}

function Value({ name, value, parent }: { name: string; value: Json | undefined; parent?: string }) {
  const { text, exact } = formatValue(name, value, parent);
  return (
    <span title={exact} className={cx("tabular", typeof value === "string" && "break-words")}>
      {text}
    </span>
  );
}

/** Short words stay on one line, long ones get room; the rest is cut and whole on hover and in the JSON view. */
function cellLook(value: Json | undefined): string {
  const length = typeof value === "string" ? value.length : 0;
  if (length <= 24) return "whitespace-nowrap";
  return length <= 400 ? "min-w-64 max-w-[560px] break-words" : "max-w-[420px] truncate";
}

const FIRST_ROWS = 50;

function ResultTable({ name, columns, rows }: { name: string; columns: string[]; rows: JsonObject[] }) {
  const label = name ? labelOf(name) : "Result";
  const [all, setAll] = useState(false);
  const numeric = new Set(
    columns.filter(
      (key) =>
        rows.some((row) => typeof row[key] === "number") &&
        rows.every((row) => row[key] === null || row[key] === undefined || typeof row[key] === "number"),
    ),
  );
  return (
    <>
      <div
        className="max-h-[480px] overflow-auto rounded-control border border-line"
        tabIndex={0}
        role="group"
        aria-label={label}
      >
        <table className="w-full text-12">
          <thead className="sticky top-0 bg-raised">
            <tr>
              {columns.map((key) => (
                <th
                  key={key}
                  scope="col"
                  className={cx(
                    "px-2 py-1 font-medium whitespace-nowrap text-muted",
                    numeric.has(key) ? "text-right" : "text-left",
                  )}
                >
                  {labelOf(key)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, all ? undefined : FIRST_ROWS).map((row, index) => (
              <tr key={index} className="border-t border-line/60 hover:bg-raised/50">
                {columns.map((key) => (
                  <td
                    key={key}
                    className={cx(
                      "px-2 py-0.5 align-top",
                      numeric.has(key) ? "num whitespace-nowrap" : cellLook(row[key]),
                    )}
                  >
                    <Value name={key} value={row[key]} parent={name} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > FIRST_ROWS && !all && (
        <Button size="small" look="quiet" className="mt-1" onClick={() => setAll(true)}>
          Show all {rows.length} rows
        </Button>
      )}
    </>
  );
}
