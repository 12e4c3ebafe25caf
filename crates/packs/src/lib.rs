//! Loads packs (a `skill.json` and an executable) and runs their skills in the sandbox.
