-- Which API token a call or a turn came through, and attempts to sign in, so that a restart forgets none of them.
-- Times are microseconds since the epoch.

ALTER TABLE chat_tool_calls ADD COLUMN token_id BIGINT;
ALTER TABLE chat_tool_calls ADD COLUMN token_name TEXT;
ALTER TABLE turns ADD COLUMN token_id BIGINT;
ALTER TABLE turns ADD COLUMN token_name TEXT;

-- Per name and per address, when attempts are free again. Keys are keyed digests: people type passwords as names.
CREATE TABLE sign_in_throttle (
    key     TEXT   NOT NULL PRIMARY KEY,
    full_at BIGINT NOT NULL
);
CREATE INDEX sign_in_throttle_full_at ON sign_in_throttle (full_at);
