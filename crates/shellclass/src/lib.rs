//! Parses a bash command with a real grammar and tells its class, without running anything.
