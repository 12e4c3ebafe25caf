-- Calls that aren't safe: their numbers on each host, and what hosts have confirmed of them.
-- Times are microseconds since the epoch.

-- The number of the dispatch on its host.
ALTER TABLE chat_tool_calls ADD COLUMN device_seq BIGINT;
-- When somebody wanted it stopped.
ALTER TABLE chat_tool_calls ADD COLUMN cancel_requested_at BIGINT;
CREATE UNIQUE INDEX chat_tool_calls_device_seq ON chat_tool_calls (device_id, device_seq) WHERE device_seq IS NOT NULL;

-- The highest number that the edge has said to have accepted.
ALTER TABLE edges ADD COLUMN confirmed_seq BIGINT NOT NULL DEFAULT 0;
-- Calls up to this number may have run without the edge knowing: its journal was replaced by an older one.
ALTER TABLE edges ADD COLUMN lost_through BIGINT NOT NULL DEFAULT 0;
