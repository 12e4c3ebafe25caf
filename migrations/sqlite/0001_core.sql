-- The audit chain, its projection, and stored results.
-- Times are microseconds since the epoch; UUIDs are 16 bytes; JSON is text.

-- One row per chain; a database has one, a cluster one per manager. The head is kept beside the log so that rows cut
-- off its end are noticed.
CREATE TABLE audit_chains (
    chain_id BLOB NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    head_seq BIGINT NOT NULL,
    head_hash BLOB NOT NULL
);

CREATE TABLE audit_log (
    chain_id BLOB NOT NULL REFERENCES audit_chains (chain_id),
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    call_id BLOB,
    actor TEXT NOT NULL,
    payload TEXT NOT NULL,
    prev_hash BLOB NOT NULL,
    row_hash BLOB NOT NULL,
    PRIMARY KEY (chain_id, seq)
);
CREATE INDEX audit_log_call ON audit_log (call_id, seq) WHERE call_id IS NOT NULL;
CREATE INDEX audit_log_kind ON audit_log (kind, seq);
CREATE INDEX audit_log_at ON audit_log (at, seq);

CREATE TRIGGER audit_log_is_append_only_update BEFORE UPDATE ON audit_log
BEGIN
    SELECT RAISE(ABORT, 'audit_log is append-only');
END;
CREATE TRIGGER audit_log_is_append_only_delete BEFORE DELETE ON audit_log
BEGIN
    SELECT RAISE(ABORT, 'audit_log is append-only');
END;

-- The projection of the chain: one row per call from any entry point.
CREATE TABLE chat_tool_calls (
    id BLOB NOT NULL PRIMARY KEY,
    session_id BLOB,
    turn_id BLOB,
    parent_call_id BLOB,
    tool_name TEXT NOT NULL,
    class TEXT NOT NULL,
    scope TEXT NOT NULL,
    args_json TEXT NOT NULL,
    -- The exact arguments, encrypted, until the call is final.
    args_sealed BLOB,
    args_digest TEXT NOT NULL,
    definition_hash TEXT NOT NULL,
    result_json TEXT,
    result_artifact_id BLOB,
    result_bytes BIGINT NOT NULL DEFAULT 0,
    result_digest TEXT,
    status TEXT NOT NULL,
    error TEXT,
    error_kind TEXT,
    device_id BIGINT,
    device_name TEXT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    deadline_at BIGINT,
    finished_at BIGINT,
    duration_ms BIGINT,
    caller_user_id BIGINT NOT NULL,
    caller_role TEXT NOT NULL,
    on_behalf_of BIGINT,
    origin TEXT NOT NULL,
    approval_id BLOB,
    sop_id TEXT,
    policy_decision TEXT NOT NULL,
    sandbox TEXT
);
CREATE INDEX chat_tool_calls_time ON chat_tool_calls (created_at, id);
CREATE INDEX chat_tool_calls_tool ON chat_tool_calls (tool_name, created_at, id);
CREATE INDEX chat_tool_calls_class ON chat_tool_calls (class, created_at, id);
CREATE INDEX chat_tool_calls_status ON chat_tool_calls (status, created_at, id);
CREATE INDEX chat_tool_calls_device ON chat_tool_calls (device_id, created_at, id) WHERE device_id IS NOT NULL;
CREATE INDEX chat_tool_calls_session ON chat_tool_calls (session_id, created_at, id) WHERE session_id IS NOT NULL;
CREATE INDEX chat_tool_calls_turn ON chat_tool_calls (turn_id, created_at, id) WHERE turn_id IS NOT NULL;
CREATE INDEX chat_tool_calls_parent ON chat_tool_calls (parent_call_id, created_at, id) WHERE parent_call_id IS NOT NULL;
-- The person behind a call: the one on whose behalf a model called, else the caller.
CREATE INDEX chat_tool_calls_person ON chat_tool_calls (COALESCE(on_behalf_of, caller_user_id), created_at, id);

-- Whole results that are too large for their row, in pieces, so that a window can be read without the rest.
CREATE TABLE artifacts (
    id BLOB NOT NULL PRIMARY KEY,
    call_id BLOB,
    media_type TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX artifacts_call ON artifacts (call_id) WHERE call_id IS NOT NULL;

CREATE TABLE artifact_pieces (
    artifact_id BLOB NOT NULL REFERENCES artifacts (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (artifact_id, position)
);
