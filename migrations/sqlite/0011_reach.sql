-- Which hosts an account may see and use: JSON with `edges` (ids) and `labels` (selectors). Neither named is all hosts.
ALTER TABLE users ADD COLUMN reach TEXT NOT NULL DEFAULT '{}';
