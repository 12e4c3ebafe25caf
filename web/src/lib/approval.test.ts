import { describe, expect, it } from "vitest";
import type { Approval, ClassReason, Grant } from "../api/approvals";
import {
  arrange,
  askerOf,
  countdownTo,
  decisionLine,
  expiriesFor,
  fits,
  grantSentence,
  partOf,
  piecesOf,
  placeOfGrant,
  whyNot,
  whyNotSign,
} from "./approval";

function approval(change: Partial<Approval> = {}): Approval {
  return {
    id: "p1",
    call_id: "c1",
    tool: "restart_service",
    tool_name: "Restart a service",
    scope: "host",
    class: "mutating",
    edge_id: 1,
    edge_name: "web-1",
    edge_labels: { role: "web" },
    args: { service: "nginx.service" },
    has_hidden: false,
    reasons: [],
    why: "",
    definition_hash: "",
    binding: "",
    requested_by: { id: 1, name: "ada" },
    by_model: false,
    origin: "api",
    state: "pending",
    created_at: "2026-05-01T10:00:00Z",
    decide_by: "2026-05-01T10:02:00Z",
    call_state: "awaiting_approval",
    may_decide: true,
    may_always: true,
    args_scope_fixed: false,
    ...change,
  };
}

describe("the marks in a command", () => {
  const marked = (command: string, reasons: ClassReason[]) =>
    piecesOf(command, reasons).filter((piece) => piece.reasons.length > 0);

  it("stand where the manager's offsets say, also after characters of two code units", () => {
    const command = "cd grün/😀 && rm -rf x";
    const start = "cd grün/😀 && ".length;
    const reasons = [{ text: "removes files", start, end: start + "rm -rf x".length }];
    expect(marked(command, reasons).map((piece) => piece.text)).toEqual(["rm -rf x"]);
    expect(partOf(command, reasons[0] as ClassReason)).toBe("rm -rf x");
  });

  it("are cut where ranges overlap, and nothing of the command is lost", () => {
    const reasons = [
      { text: "a", start: 0, end: 6 },
      { text: "b", start: 3, end: 9 },
    ];
    const pieces = piecesOf("abcdefghijk", reasons);
    expect(pieces.map((piece) => [piece.text, piece.reasons])).toEqual([
      ["abc", [0]],
      ["def", [0, 1]],
      ["ghi", [1]],
      ["jk", []],
    ]);
    expect(pieces.map((piece) => piece.text).join("")).toBe("abcdefghijk");
  });

  it("leave out what doesn't fit the text", () => {
    for (const [start, end] of [
      [5, 2],
      [0, 99],
      [-1, 2],
      [null, null],
      [undefined, undefined],
    ]) {
      expect(piecesOf("ls", [{ text: "x", start, end }])).toEqual([{ text: "ls", reasons: [], hidden: false }]);
    }
  });

  it("name characters that wouldn't show or would turn the order", () => {
    expect(piecesOf("rm \u202ea\u200bb\n", []).map((piece) => piece.text)).toEqual([
      "rm ",
      "U+202E",
      "a",
      "U+200B",
      "b\n",
    ]);
    expect(piecesOf("a\rb", []).map((piece) => piece.text)).toEqual(["a", "U+000D", "b"]);
    expect(piecesOf("\u{e0041}", [])).toEqual([{ text: "U+E0041", reasons: [], hidden: true }]);
  });

  it("repeat no part that is the whole command", () => {
    expect(partOf("reboot", { text: "x", start: 0, end: 6 })).toBeNull();
    expect(partOf("reboot", { text: "x" })).toBeNull();
  });
});

describe("the countdown", () => {
  const at = (iso: string) => countdownTo("2026-05-01T10:02:00Z", Date.parse(iso));

  it("counts down to the end and says when it is near", () => {
    expect(at("2026-05-01T10:00:00Z")).toEqual({ text: "2:00", urgent: false, over: false });
    expect(at("2026-05-01T10:01:30Z")).toEqual({ text: "0:30", urgent: true, over: false });
    expect(at("2026-05-01T10:02:00Z").over).toBe(true);
    expect(at("2026-05-01T11:00:00Z").over).toBe(true);
  });

  it("tells hours in words", () => {
    expect(at("2026-05-01T07:00:00Z").text).toBe("3 h 2 min");
  });

  it("is over when the time can't be read", () => {
    expect(countdownTo("soon", Date.now()).over).toBe(true);
  });
});

describe("whether one may decide", () => {
  const now = Date.parse("2026-05-01T10:01:00Z");

  it("is what the manager says, with its reason", () => {
    expect(whyNot(approval(), now)).toBeNull();
    expect(whyNot(approval({ may_decide: false, may_not_because: "only approvers" }), now)).toBe("only approvers");
    expect(whyNot(approval({ may_decide: false }), now)).toBe("You may not decide this");
  });

  it("ends with the decision and with the time", () => {
    expect(whyNot(approval({ state: "denied", decision: "deny" }), now)).toBe("Denied");
    expect(whyNot(approval(), Date.parse("2026-05-01T10:02:01Z"))).toBeNull();
    expect(whyNot(approval(), Date.parse("2026-05-01T10:02:03Z"))).toBe("The time to decide is over");
  });
});

describe("the words of a card", () => {
  it("say whose wish it is", () => {
    expect(askerOf(approval())).toBe("ada");
    expect(askerOf(approval({ by_model: true }))).toBe("the model for ada");
    expect(askerOf(approval({ token_name: "ci" }))).toBe("the token “ci” of ada");
  });

  it("say who decided what", () => {
    const by = { id: 2, name: "kim" };
    expect(decisionLine(approval({ state: "approved", decision: "allow_once", decided_by: by }))).toBe(
      "Allowed once by kim",
    );
    expect(decisionLine(approval({ state: "denied", decision: "deny", decided_by: by }))).toBe("Denied by kim");
    expect(decisionLine(approval({ state: "expired" }))).toBe("Nobody decided in time");
  });
});

describe("a standing grant", () => {
  it("is told in one sentence before it is made", () => {
    expect(grantSentence(approval(), { edges: "this", arguments: "any", expires_in_hours: 24 })).toBe(
      "Runs restart_service on web-1 with any arguments without asking, for 1 day.",
    );
    expect(
      grantSentence(approval({ tool: "bash", args_scope_fixed: true }), {
        edges: "labels",
        labels: { role: "web" },
        arguments: "exact",
        expires_in_hours: 720,
        uses: 3,
      }),
    ).toBe(
      "Runs bash on every host with role=web with exactly this command without asking, for 30 days, 3 times at most.",
    );
    expect(
      grantSentence(approval({ scope: "manager" }), { edges: "any", arguments: "exact", expires_in_hours: 1, uses: 1 }),
    ).toBe("Runs restart_service in the manager with exactly these arguments without asking, for 1 hour, once.");
  });

  it("of a command lasts 30 days at most", () => {
    expect(Math.max(...expiriesFor(approval({ args_scope_fixed: true })).map((each) => each.hours))).toBe(720);
    expect(Math.max(...expiriesFor(approval()).map((each) => each.hours))).toBe(8760);
  });

  it("says where it holds", () => {
    const grant = { scope: "host", edge_id: null, labels: null } as Partial<Grant> as Grant;
    expect(placeOfGrant(grant)).toBe("on every host");
    expect(placeOfGrant({ ...grant, labels: { role: "db" } })).toBe("on hosts with role=db");
    expect(placeOfGrant({ ...grant, edge_id: 3, edge_name: "db-1" })).toBe("on db-1");
    expect(placeOfGrant({ ...grant, scope: "manager" })).toBe("in the manager");
  });
});

describe("the history's filter", () => {
  const denied = approval({ state: "denied", note: "Not on Fridays", decided_by: { id: 2, name: "kim" } });

  it("takes the outcome, the tool and words from anywhere on the card", () => {
    expect(fits(denied, {})).toBe(true);
    expect(fits(denied, { outcome: "denied", tool: "restart_service", q: "fridays NGINX kim" })).toBe(true);
    expect(fits(denied, { outcome: "allowed" })).toBe(false);
    expect(fits(denied, { tool: "bash" })).toBe(false);
    expect(fits(denied, { q: "nginx mondays" })).toBe(false);
  });
});

describe("the inbox", () => {
  it("puts new cards on top while nobody is at it", () => {
    expect(arrange(["b", "a"], ["c", "b", "a"], false)).toEqual({ shown: ["c", "b", "a"], held: 0 });
  });

  it("moves nothing under a finger, and says what waits above", () => {
    expect(arrange(["b", "a"], ["d", "c", "b", "a"], true)).toEqual({ shown: ["b", "a"], held: 2 });
    expect(arrange([], ["a"], true)).toEqual({ shown: ["a"], held: 0 });
  });

  it("keeps what was decided where it is", () => {
    expect(arrange(["b", "a"], ["a"], false)).toEqual({ shown: ["b", "a"], held: 0 });
  });
});

describe("a decision by signatures", () => {
  const signing = {
    needed: 2,
    independent_needed: 0,
    statement_open: true,
    signatures: [
      { person: "ben", key: "k1", kind: "webauthn" as const, at: "" },
      { person: "ana", key: "k2", kind: "ed25519" as const, at: "" },
    ],
    host_name_required: false,
    my_keys: [],
    may_sign: false,
  };

  it("names everybody who signed, not only the last", () => {
    const change = { state: "approved" as const, decision: "allow_once" as const, decided_by: { id: 2, name: "ana" } };
    expect(decisionLine(approval({ ...change, signing }))).toBe("Signed by ben and ana");
  });

  it("says how far it came when the time was over", () => {
    const late = { ...signing, signatures: signing.signatures.slice(0, 1) };
    expect(decisionLine(approval({ state: "expired", signing: late }))).toBe("Only 1 of 2 signatures in time");
  });

  it("can be signed while it waits, by who may", () => {
    const now = Date.parse("2026-05-01T10:01:00Z");
    const mine = { ...signing, may_sign: true };
    expect(whyNotSign(approval({ signing: mine }), now)).toBeNull();
    expect(whyNotSign(approval({ signing: mine }), now + 120_000)).toMatch(/over/);
    expect(whyNotSign(approval({ signing: { ...signing, may_not_because: "your own call" } }), now)).toBe(
      "your own call",
    );
    expect(whyNotSign(approval({ signing }), now)).toBe("You may not sign this");
    expect(whyNotSign(approval({ signing: mine, state: "withdrawn" }), now)).toBe("Withdrawn");
  });

  it("is denied by one person, as any other", () => {
    const change = { state: "denied" as const, decision: "deny" as const, decided_by: { id: 2, name: "ana" } };
    expect(decisionLine(approval({ ...change, signing }))).toBe("Denied by ana");
  });

  it("is found by who signed and by its procedure", () => {
    const sop = {
      id: "reboot-web",
      version: 1,
      step: "s",
      title: "",
      valid_until: "",
      signer: "",
      runs_used: 0,
      maximum_runs: 1,
    };
    const each = approval({ signing: { ...signing, sop } });
    expect(fits(each, { q: "ben reboot-web" })).toBe(true);
    expect(fits(each, { q: "carl" })).toBe(false);
  });
});
