/** A call's result: a table, a chart, a diff, a picture, lines or fields, as its shape asks for; or as JSON. */
import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { memo, useState } from "react";
import { api, messageOf } from "../../api/client";
import type { Json } from "../../api/types";
import { cx } from "../../lib/cx";
import { formatBytes } from "../../lib/format";
import { fileName, saveFile } from "../../lib/save";
import { Button, IconButton } from "../Button";
import { CopyButton } from "../Copy";
import { JsonTree } from "./JsonTree";
import { Output } from "./Output";
import { Piece } from "./Piece";

interface ResultViewProps {
  callId: string;
  result: Json | undefined;
  preview?: string | null;
  bytes?: number | null;
}

/** A result that is one text is saved and copied as that text. */
function wholeText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function save(callId: string, value: Json): void {
  const isText = typeof value === "string";
  saveFile(
    fileName(`result-${callId}`, isText ? "txt" : "json"),
    [wholeText(value)],
    isText ? "text/plain;charset=utf-8" : "application/json",
  );
}

export const ResultView = memo(function ResultView({ callId, result, preview, bytes }: ResultViewProps) {
  const [asJson, setAsJson] = useState(false);
  const whole = useMutation({ mutationFn: () => api.wholeResult(callId) });
  const stored = useMutation({
    mutationFn: async () =>
      saveFile(fileName(`result-${callId}`, "json"), await api.resultParts(callId), "application/json"),
  });
  const value = result ?? whole.data;
  if (value === undefined) {
    if (!preview && !bytes) return <p className="text-13 text-muted">No result.</p>;
    const error = whole.error ?? stored.error;
    return (
      <div className="flex flex-col gap-2">
        {preview && <Output text={preview} label="Beginning of the result" />}
        <div className="flex flex-wrap items-center gap-2 text-12 text-muted">
          {bytes ? <span>The whole result has {formatBytes(bytes)}.</span> : null}
          <Button size="small" busy={whole.isPending} onClick={() => whole.mutate()}>
            Load it
          </Button>
          <Button size="small" look="quiet" icon={Download} busy={stored.isPending} onClick={() => stored.mutate()}>
            Download
          </Button>
          {error && <span className="text-danger-text">{messageOf(error)}</span>}
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
          <CopyButton
            text={() => wholeText(value)}
            label={typeof value === "string" ? "Copy the result" : "Copy as JSON"}
            tipSide="left"
          />
          <IconButton
            icon={Download}
            label="Download the result"
            size={14}
            className="size-6"
            tipSide="left"
            onClick={() => save(callId, value)}
          />
        </span>
      </div>
      {asJson ? <JsonTree value={value} tools label="The result as JSON" /> : <Piece value={value} name="" depth={0} />}
    </div>
  );
});
