-- Chats: sessions, what was said in them, turns as durable jobs, and the events that every view of a chat is made of.
-- Times are microseconds since the epoch; UUIDs are 16 bytes; JSON is text.

CREATE TABLE sessions (
    id BLOB NOT NULL PRIMARY KEY,
    owner_id BIGINT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    pinned INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    -- The name of a model's configuration; NULL follows the default.
    model TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    last_position BIGINT NOT NULL DEFAULT 0,
    last_seq BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX sessions_owner ON sessions (owner_id, updated_at, id);

CREATE TABLE turns (
    id BLOB NOT NULL PRIMARY KEY,
    session_id BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL,
    roles TEXT NOT NULL,
    -- 'running', or how it ended.
    state TEXT NOT NULL,
    reason TEXT,
    -- The lease: only its holder, with this epoch, may write to the turn or start a call for it.
    worker BLOB NOT NULL,
    epoch BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    stop_requested INTEGER NOT NULL DEFAULT 0,
    -- Whether free text from outside is in what the model has read.
    untrusted INTEGER NOT NULL DEFAULT 0,
    requests BIGINT NOT NULL DEFAULT 0,
    input_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    started_at BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX turns_session ON turns (session_id, started_at);
CREATE UNIQUE INDEX turns_one_running ON turns (session_id) WHERE state = 'running';
CREATE INDEX turns_running ON turns (lease_until) WHERE state = 'running';

CREATE TABLE messages (
    id BLOB NOT NULL PRIMARY KEY,
    session_id BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn_id BLOB NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    body TEXT NOT NULL,
    untrusted INTEGER NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    UNIQUE (session_id, position)
);

-- `id` rises in the order of commits, because there is one writer, and is never used again after a delta is dropped.
CREATE TABLE turn_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn_id BLOB,
    owner_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    at BIGINT NOT NULL,
    payload TEXT NOT NULL,
    -- Set on deltas: the message that will replace them.
    delta_of BLOB,
    UNIQUE (session_id, seq)
);
CREATE INDEX turn_events_owner ON turn_events (owner_id, id);
CREATE INDEX turn_events_deltas ON turn_events (turn_id, delta_of) WHERE delta_of IS NOT NULL;
