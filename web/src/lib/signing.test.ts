import { describe, expect, it } from "vitest";
import type { Approvers, GivenSignature, HostSigning, Procedure, Signing } from "../api/signing";
import {
  askedAgain,
  keyFileCommands,
  mayNeedProcedure,
  mismatches,
  peopleOf,
  signedCount,
  slotsOf,
  stepOf,
  targetsOf,
  whenRevoked,
  whyDangerousOff,
  whyNoPasskeyNow,
} from "./signing";

const by = (person: string, kind: GivenSignature["kind"] = "webauthn"): GivenSignature => ({
  person,
  kind,
  key: "aaaa000000000000",
  at: "2026-11-30T16:00:00Z",
});

function signing(change: Partial<Signing> = {}): Signing {
  return {
    needed: 2,
    independent_needed: 0,
    statement_open: false,
    signatures: [],
    host_name_required: false,
    my_keys: [{ key: "k1", kind: "webauthn", credential_id: "AQID", label: "phone" }],
    may_sign: true,
    ...change,
  };
}

describe("slots", () => {
  it("are as many as are needed, filled from the first", () => {
    expect(slotsOf(signing()).map((each) => each.by?.person)).toEqual([undefined, undefined]);
    expect(slotsOf(signing({ signatures: [by("ana")] })).map((each) => each.by?.person)).toEqual(["ana", undefined]);
    expect(slotsOf(signing({ needed: 1, signatures: [by("ana")] }))).toHaveLength(1);
  });

  it("say which takes a key file only, until one has signed", () => {
    const only = (change: Partial<Signing>) => slotsOf(signing(change)).map((each) => each.keyFileOnly);
    expect(only({ independent_needed: 1 })).toEqual([false, true]);
    expect(only({ independent_needed: 2 })).toEqual([true, true]);
    expect(only({ independent_needed: 1, signatures: [by("ana")] })).toEqual([false, true]);
    expect(only({ independent_needed: 1, signatures: [by("ana", "ed25519")] })).toEqual([false, false]);
  });

  it("are told in words", () => {
    expect(signedCount(signing({ signatures: [by("ana")] }))).toBe("1 of 2 signatures");
    expect(signedCount(signing({ needed: 1 }))).toBe("0 of 1 signature");
    expect(peopleOf([by("ana"), by("ben")])).toBe("ana and ben");
    expect(peopleOf([by("ana")])).toBe("ana");
    expect(peopleOf([])).toBe("nobody");
  });
});

describe("signatures that are asked for again", () => {
  const row = (void_signatures_of: string[]) => ({
    kind: "approval.reopened",
    payload: { approval_id: "a", why: "the host's edge has restarted", void_signatures_of },
  });

  it("say why, and who had signed, until they have signed again", () => {
    const rows = [{ kind: "approval.signed", payload: {} }, row(["ana", "ben"])];
    const told = "The host's edge has restarted. It had been signed by ana and ben.";
    expect(askedAgain(rows, signing())).toBe(told);
    expect(askedAgain(rows, signing({ signatures: [by("ana")] }))).toBe(told);
    expect(askedAgain(rows, signing({ signatures: [by("ana"), by("ben")] }))).toBeNull();
  });

  it("say nothing where nothing was lost", () => {
    expect(askedAgain([], signing())).toBeNull();
    expect(askedAgain([row([])], signing())).toBeNull();
    expect(askedAgain([row(["ana"]), row([])], signing())).toBeNull();
    expect(askedAgain([{ kind: "approval.reopened", payload: null }], signing())).toBeNull();
  });
});

describe("one's own keys", () => {
  it("sign as passkeys unless the host wants a key file in this place", () => {
    expect(whyNoPasskeyNow(signing())).toBeNull();
    expect(whyNoPasskeyNow(signing({ independent_needed: 1 }))).toBeNull();
    expect(whyNoPasskeyNow(signing({ independent_needed: 1, signatures: [by("ana")] }))).toMatch(/key file/);
    expect(whyNoPasskeyNow(signing({ independent_needed: 1, signatures: [by("ana", "ed25519")] }))).toBeNull();
  });

  it("are named as what they are when none is a passkey", () => {
    expect(whyNoPasskeyNow(signing({ my_keys: [] }))).toMatch(/^No key of yours/);
    const file = { key: "k", kind: "ed25519" as const, credential_id: null, label: "" };
    expect(whyNoPasskeyNow(signing({ my_keys: [file] }))).toMatch(/^No passkey of yours/);
  });

  it("sign on a command line with the host's name where it is asked for", () => {
    const id = "0197a4c2-0000-7001-8a00-5d3f00000000";
    expect(keyFileCommands({ id, edge_name: "web-1", signing: signing() }, "ana")).toEqual({
      show: `steadyhand approve ${id} --show`,
      sign: `steadyhand approve ${id} --key ana.key.pem`,
    });
    const last = signing({ host_name_required: true });
    expect(keyFileCommands({ id, edge_name: "web 1; rm", signing: last }, "ana b").sign).toBe(
      `steadyhand approve ${id} --key 'ana b.key.pem' --host-name 'web 1; rm'`,
    );
  });
});

describe("the procedure of a call", () => {
  const web = { id: "reboot-web", step: "reboot", version: 3, title: "Reboot a web server" };
  const all = { id: "reboot-all", step: "now", version: 1, title: "Reboot anything" };

  it("is the only one that covers a dangerous call, else the chosen one", () => {
    expect(stepOf(null, [web], true)).toEqual({ id: "reboot-web", step: "reboot" });
    expect(stepOf(null, [web, all], true)).toBeUndefined();
    expect(stepOf({ id: "reboot-all", step: "now" }, [web, all], true)).toEqual({ id: "reboot-all", step: "now" });
    expect(stepOf(null, [], true)).toBeUndefined();
  });

  it("is none when the chosen one covers it no more", () => {
    expect(stepOf({ id: "reboot-all", step: "now" }, [], true)).toBeUndefined();
    expect(stepOf({ id: "reboot-web", step: "other" }, [web, all], true)).toBeUndefined();
  });

  it("is none by itself where a call may well not be dangerous", () => {
    expect(stepOf(null, [web], false)).toBeUndefined();
    expect(stepOf({ id: "reboot-web", step: "reboot" }, [web], false)).toEqual({ id: "reboot-web", step: "reboot" });
  });

  it("is offered for skills of hosts that are or may be dangerous", () => {
    expect(mayNeedProcedure({ class: "dangerous", scope: "host" })).toBe(true);
    expect(mayNeedProcedure({ class: "safe", scope: "host", classed_by: "command" })).toBe(true);
    expect(mayNeedProcedure({ class: "mutating", scope: "host" })).toBe(false);
    expect(mayNeedProcedure({ class: "dangerous", scope: "manager" })).toBe(false);
  });

  it("takes the versions before it along when it is revoked, and none after it", () => {
    const version = (number: number, state: Procedure["state"], id = "reboot-web") =>
      ({ id, version: number, state }) as Procedure;
    const all = [
      version(4, "active"),
      version(3, "revoked"),
      version(1, "superseded"),
      version(2, "superseded"),
      version(3, "superseded", "other"),
    ];
    expect(whenRevoked(version(4, "active"), all)).toMatch(/^The versions before it are revoked with it/);
    expect(whenRevoked(version(4, "active"), all)).not.toContain("goes on counting");
    expect(whenRevoked(version(2, "superseded"), all)).toMatch(/higher version. Version 4 goes on counting.$/);
    expect(whenRevoked(version(1, "superseded"), all)).toBe("Version 4 goes on counting.");
    expect(whenRevoked(version(3, "active", "other"), all)).toBeNull();
  });

  it("tells where it holds", () => {
    expect(targetsOf({ any_host: true, labels: {} })).toBe("every host");
    expect(targetsOf({ any_host: false, labels: { role: "web" } })).toBe("hosts with role=web");
  });
});

describe("what a host pins", () => {
  const host: HostSigning = {
    approval_proof: "mixed",
    dangerous: true,
    sop_keys: ["aaaa"],
    approver_root: "bbbb",
    list_version: 3,
    origin: "https://ops.example",
    rp_id: "ops.example",
    min_independent_signatures: 0,
    labels: {},
  };
  const approvers: Approvers = {
    configured: true,
    root_fingerprint: "bbbb",
    list: { version: 3, expires: "", people: [], imported_at: "", imported_by: { id: 1, name: "ana" } },
    origin: "https://ops.example",
    rp_id: "ops.example",
  };

  it("says why nothing dangerous runs there", () => {
    expect(whyDangerousOff(host)).toEqual([]);
    expect(whyDangerousOff({ ...host, dangerous: false, sop_keys: [], approver_root: null })).toHaveLength(2);
    expect(whyDangerousOff({ ...host, dangerous: false, sop_keys: [] })[0]).toMatch(/trusted_keys/);
    expect(whyDangerousOff({ ...host, dangerous: false })).toEqual(["its own configuration says so"]);
  });

  it("is held against what this manager has", () => {
    expect(mismatches(host, approvers)).toEqual([]);
    expect(mismatches(host, undefined)).toEqual([]);
    expect(mismatches({ ...host, approver_root: "cccc" }, approvers)[0]).toMatch(/cccc/);
    expect(mismatches({ ...host, list_version: 4 }, approvers)[0]).toMatch(/version 4.*version 3/);
    expect(mismatches({ ...host, origin: "https://old.example" }, approvers)[0]).toMatch(/old\.example/);
    expect(mismatches({ ...host, origin: null, rp_id: null }, approvers)[0]).toMatch(/only key files/);
    expect(mismatches({ ...host, approver_root: null }, approvers)).toEqual([]);
  });
});
