import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, KeyRound, Plus, Server, Trash2, UserRoundCheck, UserRoundX } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, messageOf } from "../../api/client";
import { hostsQuery, usersQuery } from "../../api/queries";
import type { Role, User } from "../../api/types";
import { Button } from "../../components/Button";
import { Confirm } from "../../components/Confirm";
import { Dialog } from "../../components/Dialog";
import { CheckBox, Field, TextInput } from "../../components/Field";
import { Card } from "../../components/Page";
import { MenuItem, Popover } from "../../components/Popover";
import { Failed, SkeletonRows } from "../../components/States";
import { Time } from "../../components/Time";
import { toast } from "../../components/toasts";
import { Chip } from "../../components/Words";
import { useMe } from "../../frame/session";
import { reachWords } from "../../lib/reach";
import { HostsForm } from "./UserHosts";

const ROLES: { role: Role; what: string }[] = [
  { role: "viewer", what: "looks, chats, runs safe calls" },
  { role: "operator", what: "also enrols hosts and starts calls that need an approval" },
  { role: "approver", what: "a viewer who decides approvals" },
  { role: "admin", what: "everything but deciding approvals" },
];

export function Users() {
  const users = useQuery(usersQuery);
  const [adding, setAdding] = useState(false);
  return (
    <Card
      title="Accounts"
      actions={
        <Button size="small" look="quiet" icon={Plus} onClick={() => setAdding(true)}>
          Add an account
        </Button>
      }
    >
      {users.error && (
        <Failed what="The accounts could not be read." error={users.error} onRetry={() => void users.refetch()} />
      )}
      {users.isPending && <SkeletonRows rows={3} />}
      <ul className="text-13">
        {users.data?.map((user) => (
          <UserRow key={user.id} user={user} />
        ))}
      </ul>
      <Dialog open={adding} onClose={() => setAdding(false)} title="Add an account">
        <UserForm onDone={() => setAdding(false)} />
      </Dialog>
    </Card>
  );
}

function UserRow({ user }: { user: User }) {
  const me = useMe();
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: usersQuery.queryKey });
  const [asking, setAsking] = useState<"roles" | "hosts" | "password" | "delete" | null>(null);
  const hosts = useQuery(hostsQuery).data ?? [];
  const reach = reachWords(user.hosts, hosts);
  const update = useMutation({
    mutationFn: (change: Parameters<typeof api.updateUser>[1]) => api.updateUser(user.id, change),
    onSuccess: refresh,
    onError: (error) => toast(messageOf(error), "error"),
  });
  return (
    <li className="flex min-h-11 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line/60 px-4 py-1 last:border-b-0">
      <span className="min-w-32 flex-1">
        <span className="font-medium">{user.name}</span>{" "}
        {user.display_name && <span className="text-muted">{user.display_name}</span>}
        {user.kind === "service" && <span className="text-muted"> · no sign-in</span>}
        {user.disabled && <span className="text-mutating"> disabled</span>}
        {reach && (
          <span className="block text-12 text-muted" data-reach>
            only {reach}
          </span>
        )}
      </span>
      <span className="flex flex-wrap gap-1">
        {user.roles.map((role) => (
          <Chip key={role}>{role}</Chip>
        ))}
      </span>
      <span className="num w-48 text-12 text-muted max-md:hidden">
        {user.created_at && (
          <>
            since <Time at={user.created_at} />
          </>
        )}
      </span>
      {user.kind === "service" ? (
        <span className="w-8" />
      ) : (
        <Popover
          label={`Actions for ${user.name}`}
          button={(button) => (
            <button
              type="button"
              {...button}
              aria-label={`Actions for ${user.name}`}
              className="flex size-8 items-center justify-center rounded-control text-muted hover:bg-raised hover:text-text"
            >
              <Ellipsis aria-hidden size={16} />
            </button>
          )}
        >
          <MenuItem icon={<UserRoundCheck aria-hidden size={14} />} onSelect={() => setAsking("roles")}>
            Roles…
          </MenuItem>
          <MenuItem icon={<Server aria-hidden size={14} />} onSelect={() => setAsking("hosts")}>
            Hosts…
          </MenuItem>
          <MenuItem icon={<KeyRound aria-hidden size={14} />} onSelect={() => setAsking("password")}>
            New password…
          </MenuItem>
          <MenuItem
            icon={<UserRoundX aria-hidden size={14} />}
            disabled={user.id === me.user.id}
            onSelect={() => update.mutate({ disabled: !user.disabled })}
          >
            {user.disabled ? "Enable" : "Disable"}
          </MenuItem>
          <MenuItem
            danger
            icon={<Trash2 aria-hidden size={14} />}
            disabled={user.id === me.user.id}
            onSelect={() => setAsking("delete")}
          >
            Delete…
          </MenuItem>
        </Popover>
      )}
      <Dialog open={asking === "roles"} onClose={() => setAsking(null)} title={`Roles of ${user.name}`}>
        <RolesForm
          user={user}
          onSave={(roles) => {
            update.mutate({ roles });
            setAsking(null);
          }}
        />
      </Dialog>
      <Dialog open={asking === "hosts"} onClose={() => setAsking(null)} title={`Hosts of ${user.name}`}>
        <HostsForm
          user={user}
          onSave={(chosen) => {
            update.mutate({ hosts: chosen });
            setAsking(null);
          }}
        />
      </Dialog>
      <Dialog open={asking === "password"} onClose={() => setAsking(null)} title={`New password for ${user.name}`}>
        <PasswordForm
          onSave={(password) => {
            update.mutate({ password });
            setAsking(null);
          }}
        />
      </Dialog>
      <Confirm
        open={asking === "delete"}
        onClose={() => setAsking(null)}
        title={`Delete ${user.name}?`}
        action="Delete"
        onConfirm={async () => {
          await api.deleteUser(user.id);
          await refresh();
        }}
      >
        <p>The account's sessions and tokens end at once. What it did stays in the audit under its name.</p>
      </Confirm>
    </li>
  );
}

function RoleBoxes({ roles, onChange }: { roles: Role[]; onChange: (roles: Role[]) => void }) {
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-2 text-13 font-medium">Roles</legend>
      {ROLES.map(({ role, what }) => (
        <CheckBox
          key={role}
          label={role}
          hint={what}
          checked={roles.includes(role)}
          onChange={(event) =>
            onChange(event.target.checked ? [...roles, role] : roles.filter((each) => each !== role))
          }
        />
      ))}
    </fieldset>
  );
}

function RolesForm({ user, onSave }: { user: User; onSave: (roles: Role[]) => void }) {
  const [roles, setRoles] = useState(user.roles);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(roles);
      }}
    >
      <RoleBoxes roles={roles} onChange={setRoles} />
      <Button type="submit" look="primary" className="self-end" disabled={roles.length === 0}>
        Save
      </Button>
    </form>
  );
}

function PasswordForm({ onSave }: { onSave: (password: string) => void }) {
  const [password, setPassword] = useState("");
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(password);
      }}
    >
      <Field label="First password" hint="They must change it when they sign in. At least 12 characters.">
        {(field) => (
          <TextInput
            {...field}
            type="password"
            required
            minLength={12}
            autoComplete="new-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        )}
      </Field>
      <Button type="submit" look="primary" className="self-end">
        Set
      </Button>
    </form>
  );
}

function UserForm({ onDone }: { onDone: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [display, setDisplay] = useState("");
  const [password, setPassword] = useState("");
  const [roles, setRoles] = useState<Role[]>(["viewer"]);
  const add = useMutation({
    mutationFn: () =>
      api.createUser({
        name: name.trim(),
        roles,
        password,
        ...(display.trim() ? { display_name: display.trim() } : {}),
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: usersQuery.queryKey });
      onDone();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <Field label="Name">
        {(field) => <TextInput {...field} required value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label="Shown as" hint="Optional.">
        {(field) => <TextInput {...field} value={display} onChange={(event) => setDisplay(event.target.value)} />}
      </Field>
      <Field label="First password" hint="They must change it when they sign in. At least 12 characters.">
        {(field) => (
          <TextInput
            {...field}
            required
            minLength={12}
            type="password"
            autoComplete="new-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        )}
      </Field>
      <RoleBoxes roles={roles} onChange={setRoles} />
      {add.error && (
        <p role="alert" className="text-13 text-danger-text">
          {messageOf(add.error)}
        </p>
      )}
      <Button type="submit" look="primary" className="self-end" busy={add.isPending} disabled={roles.length === 0}>
        Add
      </Button>
    </form>
  );
}
