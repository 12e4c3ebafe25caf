import type { CapabilityHost } from "../api/types";
import { Select } from "./Field";

interface HostPickerProps {
  id?: string;
  hosts: CapabilityHost[];
  value: number | null;
  /** Every host can be chosen. */
  any?: boolean;
  onChange: (host: number | null) => void;
  "aria-describedby"?: string;
  "aria-invalid"?: boolean;
}

/** Hosts with their state; one that can't run the skill says why and can't be chosen. */
export function HostPicker({ hosts, value, any, onChange, ...field }: HostPickerProps) {
  return (
    <Select
      {...field}
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value ? Number(event.target.value) : null)}
    >
      <option value="">Choose a host…</option>
      {hosts.map((host) => (
        <option key={host.edge_id} value={host.edge_id} disabled={!any && (!host.online || host.unmet.length > 0)}>
          {host.name} ·{" "}
          {host.online ? (host.unmet.length > 0 ? `lacks ${host.unmet.join(", ")}` : "online") : "offline"}
        </option>
      ))}
    </Select>
  );
}

/** The host that a form starts with: the one that can run it, if there is no choice. */
export function onlyChoice(hosts: CapabilityHost[]): number | null {
  const able = hosts.filter((host) => host.online && host.unmet.length === 0);
  return able[0]?.edge_id ?? null;
}
