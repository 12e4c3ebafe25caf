import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CircleX, FlaskConical, Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, messageOf } from "../../api/client";
import { modelsQuery } from "../../api/queries";
import type { Model, ModelKind } from "../../api/types";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { Dialog } from "../../components/Dialog";
import { Field, Select, TextInput } from "../../components/Field";
import { Card, Page } from "../../components/Page";
import { Failed, SkeletonRows } from "../../components/States";
import { toast } from "../../components/toasts";
import { Chip } from "../../components/Words";
import { useMe } from "../../frame/session";
import { formatDuration } from "../../lib/format";
import { may } from "../../lib/may";

const KINDS: Record<ModelKind, string> = {
  builtin: "Built-in router",
  openai_chat: "OpenAI-compatible chat completions",
  anthropic: "Anthropic Messages",
};
const SOURCES: Record<Model["source"], string> = {
  builtin: "compiled in",
  config: "configuration file",
  environment: "environment",
  database: "added here",
};

export function ModelsPage() {
  const reason = may.administer(useMe());
  const models = useQuery(modelsQuery);
  const [adding, setAdding] = useState(false);
  return (
    <Page
      title="Models"
      actions={
        <Button look="primary" icon={Plus} reason={reason} onClick={() => setAdding(true)}>
          Add a provider
        </Button>
      }
    >
      <div className="flex max-w-3xl flex-col gap-3 px-4 pb-6 md:px-6">
        <p className="text-13 text-muted">
          Chats use the default unless a chat says otherwise. A model never gets a key to a host: it proposes calls, the
          gate decides.
        </p>
        {models.error && (
          <Failed what="The models could not be read." error={models.error} onRetry={() => void models.refetch()} />
        )}
        {models.isPending && <SkeletonRows rows={3} height={64} />}
        {models.data?.map((model) => (
          <ModelCard key={model.name} model={model} reason={reason} />
        ))}
      </div>
      <Dialog open={adding} onClose={() => setAdding(false)} title="Add a provider">
        <AddModel onDone={() => setAdding(false)} />
      </Dialog>
    </Page>
  );
}

function ModelCard({ model, reason }: { model: Model; reason: string | null }) {
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: modelsQuery.queryKey });
  const [removing, setRemoving] = useState(false);
  const test = useMutation({ mutationFn: () => api.testModel(model.name) });
  const makeDefault = useMutation({
    mutationFn: () => api.makeDefaultModel(model.name),
    onSuccess: refresh,
    onError: (error) => toast(messageOf(error), "error"),
  });
  return (
    <Card>
      <div className="flex flex-col gap-2 p-4" data-model={model.name}>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h2 className="font-medium">{model.name}</h2>
          {model.default && <Chip className="border-accent/60 text-text">default</Chip>}
          <span className="text-12 text-muted">{SOURCES[model.source] ?? model.source}</span>
          <span className="ml-auto flex flex-wrap gap-2">
            <Button
              size="small"
              icon={FlaskConical}
              busy={test.isPending}
              reason={reason}
              onClick={() => test.mutate()}
            >
              Test
            </Button>
            {!model.default && (
              <Button size="small" busy={makeDefault.isPending} reason={reason} onClick={() => makeDefault.mutate()}>
                Make default
              </Button>
            )}
            {model.source === "database" && (
              <Button size="small" look="danger" reason={reason} onClick={() => setRemoving(true)}>
                Remove
              </Button>
            )}
          </span>
        </div>
        <p className="text-13 text-muted">
          {KINDS[model.kind] ?? model.kind}
          {model.kind === "builtin"
            ? ": rules that match words to the catalogue. Not a language model; it works offline and costs nothing."
            : ""}
        </p>
        {model.kind !== "builtin" && (
          <p className="font-mono text-12 break-all text-muted">
            {model.model} {model.base_url ? `· ${model.base_url}` : ""} · {model.has_key ? "key set" : "no key"}
          </p>
        )}
        {test.error && (
          <p role="alert" className="text-13 text-danger-text">
            {messageOf(test.error)}
          </p>
        )}
        {test.data && (
          <p role="status" className="flex items-start gap-2 text-13" data-model-test={test.data.ok ? "ok" : "failed"}>
            {test.data.ok ? (
              <CircleCheck aria-hidden size={14} className="mt-[3px] shrink-0 text-safe" />
            ) : (
              <CircleX aria-hidden size={14} className="mt-[3px] shrink-0 text-dangerous" />
            )}
            <span className="min-w-0 break-words">
              {test.data.ok
                ? `Answered in ${formatDuration(test.data.latency_ms)}${test.data.tool_call ? " and called a tool" : ", but called no tool"}${test.data.usage ? ` (${test.data.usage.input_tokens} + ${test.data.usage.output_tokens} tokens)` : ""}.`
                : (test.data.error ?? "It did not answer.")}
            </span>
          </p>
        )}
      </div>
      <Confirm
        open={removing}
        onClose={() => setRemoving(false)}
        title={`Remove ${model.name}?`}
        action="Remove"
        onConfirm={async () => {
          await api.deleteModel(model.name);
          await refresh();
        }}
      >
        <p>Its key is deleted. Chats that use it go on with the default.</p>
      </Confirm>
    </Card>
  );
}

function AddModel({ onDone }: { onDone: () => void }) {
  const client = useQueryClient();
  const [kind, setKind] = useState<ModelKind>("openai_chat");
  const [name, setName] = useState("");
  const [model, setModel] = useState("");
  const [baseUrl, setBaseUrl] = useState("");
  const [key, setKey] = useState("");
  const add = useMutation({
    mutationFn: () =>
      api.createModel({
        name: name.trim(),
        kind,
        model: model.trim(),
        ...(baseUrl ? { base_url: baseUrl.trim() } : {}),
        ...(key ? { api_key: key } : {}),
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: modelsQuery.queryKey });
      onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <Field label="Kind">
        {(field) => (
          <Select {...field} value={kind} onChange={(event) => setKind(event.target.value as ModelKind)}>
            <option value="openai_chat">{KINDS.openai_chat}</option>
            <option value="anthropic">{KINDS.anthropic}</option>
          </Select>
        )}
      </Field>
      <Field label="Name" hint="How it is called here.">
        {(field) => <TextInput {...field} required value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label="Model">
        {(field) => (
          <TextInput
            {...field}
            required
            className="font-mono"
            value={model}
            onChange={(event) => setModel(event.target.value)}
          />
        )}
      </Field>
      <Field
        label="Address"
        hint={
          kind === "openai_chat"
            ? "For example http://127.0.0.1:11434/v1 for Ollama."
            : "Left empty: the provider's own."
        }
      >
        {(field) => (
          <TextInput
            {...field}
            type="url"
            className="font-mono"
            value={baseUrl}
            onChange={(event) => setBaseUrl(event.target.value)}
          />
        )}
      </Field>
      <Field label="Key" hint="Kept encrypted; never shown again.">
        {(field) => (
          <TextInput
            {...field}
            type="password"
            autoComplete="off"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        )}
      </Field>
      {add.error && (
        <p role="alert" className="text-13 text-danger-text">
          {messageOf(add.error)}
        </p>
      )}
      <Button type="submit" look="primary" className="self-end" busy={add.isPending}>
        Add
      </Button>
    </form>
  );
}
