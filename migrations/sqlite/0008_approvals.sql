-- Questions to people whether a call may run, and standing approvals.
-- Times are microseconds since the epoch; UUIDs are 16 bytes; JSON is text.

-- What the card shows that isn't in the call's row, as it was when the question was asked.
CREATE TABLE approvals (
    id          BLOB    NOT NULL PRIMARY KEY,
    call_id     BLOB    NOT NULL UNIQUE REFERENCES chat_tool_calls (id),
    -- The person behind the call.
    person_id   BIGINT  NOT NULL,
    tool_label  TEXT    NOT NULL,
    -- Why a person is asked, and why although there is a grant.
    why         TEXT    NOT NULL,
    grant_note  TEXT,
    reasons     TEXT    NOT NULL,
    -- Whether redaction hides a part of the arguments.
    has_hidden  INTEGER NOT NULL,
    edge_labels TEXT,
    -- SHA-256 (hex) over everything that the decision is about.
    binding     TEXT    NOT NULL,
    -- What the call itself may take, once it runs.
    timeout_ms  BIGINT  NOT NULL,
    -- The keys that the turn was narrowed to; NULL if to none.
    narrowed_to TEXT,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'withdrawn')),
    asked_at    BIGINT  NOT NULL,
    decide_by   BIGINT  NOT NULL,
    decided_at  BIGINT,
    decided_by  BIGINT,
    decision    TEXT,
    note        TEXT,
    valid_until BIGINT
);
CREATE INDEX approvals_time ON approvals (asked_at, id);
CREATE INDEX approvals_person ON approvals (person_id, asked_at, id);
CREATE INDEX approvals_pending ON approvals (asked_at, id) WHERE state = 'pending';

CREATE TABLE grants (
    id              BLOB   NOT NULL PRIMARY KEY,
    -- Whose calls it covers.
    person_id       BIGINT NOT NULL,
    tool            TEXT   NOT NULL,
    scope           TEXT   NOT NULL,
    -- The highest class that it covers; never dangerous.
    class           TEXT   NOT NULL CHECK (class IN ('safe', 'mutating')),
    definition_hash TEXT   NOT NULL,
    -- Only in this chat.
    session_id      BLOB,
    -- Only on this host, or only on hosts with all of these labels.
    edge_id         BIGINT,
    edge_name       TEXT,
    labels          TEXT,
    -- Only with these arguments: their digest, keyed by the grant, and what may be shown of them.
    args_digest     TEXT,
    args_json       TEXT,
    -- The question that it answered.
    approval_id     BLOB   NOT NULL REFERENCES approvals (id),
    created_at      BIGINT NOT NULL,
    created_by      BIGINT NOT NULL,
    expires_at      BIGINT,
    uses            BIGINT NOT NULL DEFAULT 0,
    uses_left       BIGINT,
    last_used_at    BIGINT,
    revoked_at      BIGINT,
    revoked_by      BIGINT
);
CREATE INDEX grants_person ON grants (person_id, tool, created_at);
CREATE INDEX grants_time ON grants (created_at, id);
