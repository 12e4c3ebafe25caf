import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { GivenSignature, Signing } from "../../../api/signing";
import { Slots } from "./Slots";

const by = (person: string, kind: GivenSignature["kind"]): GivenSignature => ({
  person,
  kind,
  key: "1122334455667788",
  at: "2026-11-30T15:00:00Z",
});

function shown(change: Partial<Signing>, waiting = true, again: string | null = null): string {
  const signing: Signing = {
    needed: 2,
    independent_needed: 0,
    statement_open: false,
    signatures: [],
    host_name_required: false,
    my_keys: [],
    may_sign: true,
    ...change,
  };
  return renderToStaticMarkup(<Slots signing={signing} waiting={waiting} again={again} />)
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&#x27;", "'")
    .replace(/\s+/g, " ");
}

describe("the places for signatures", () => {
  it("are open until somebody signs, and then name who, how and with which key", () => {
    expect(shown({})).toMatch(/^ Open Open 0 of 2 signatures/);
    expect(shown({ signatures: [by("ana", "webauthn")] })).toMatch(
      /ana signed passkey 1122334455667788 , .* Open 1 of 2 signatures/,
    );
    expect(shown({ needed: 1, signatures: [by("ben", "ed25519")] })).toMatch(/ben signed key file .*1 of 1 signature /);
  });

  it("say where the host takes only a key file", () => {
    expect(shown({ independent_needed: 1 })).toMatch(/^ Open Open a key file's only /);
  });

  it("say why signatures are asked for again", () => {
    expect(shown({}, true, "The agent restarted.")).toContain("The agent restarted.");
  });

  it("say after the decision that nobody signed there", () => {
    const text = shown({ signatures: [by("ana", "webauthn")] }, false, "The agent restarted.");
    expect(text).toMatch(/ana signed .* Nobody signed $/);
    expect(text).not.toContain("restarted");
  });
});
