//! What each provider's schemas may hold.
//!
//! The facts are from the providers' references and from the refusals that they send:
//!
//! | | root | unions | null | lists of values | bounds |
//! |---|---|---|---|---|---|
//! | OpenAI strict | object, no `anyOf` | `anyOf` | in `type` | any | numbers, items, some formats; every object closed, every property required |
//! | OpenAI chat, and servers that speak it | the same | `anyOf` | left out: templates of small models fail on lists of types | any | numbers, items, lengths |
//! | Anthropic | the same | `anyOf` | in `type` | any | all of draft 2020-12; names of properties are `[a-zA-Z0-9_.-]{1,64}` |
//! | Gemini | object with properties, or nothing | `anyOf` and nothing beside it | `nullable` | texts only, none empty | numbers, items, format `date-time` |
//! | Ollama | object | none: one type | left out | any | none: what it doesn't know it drops |

use super::names;
use super::node::Types;
use serde_json::{Map, Value};

/// How a provider wants schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Chat completions, as OpenAI and most other servers take it.
    OpenAiChat,
    /// OpenAI's strict mode, in chat completions and responses. A tool that can't be told so is told as for
    /// [`Dialect::OpenAiChat`], without strictness.
    OpenAiStrict,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini's function declarations.
    Gemini,
    /// Ollama's own chat.
    Ollama,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::OpenAiChat, Self::OpenAiStrict, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// Its name in lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::OpenAiStrict => "openai_strict",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Whether it has a keyword for a bound on values of a type.
    pub(super) fn keeps(self, keyword: &str, types: Types, bound: &Value) -> bool {
        let is_number =
            matches!(keyword, "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf");
        let is_items = matches!(keyword, "minItems" | "maxItems");
        let is_format_of =
            |formats: &[&str]| keyword == "format" && bound.as_str().is_some_and(|f| formats.contains(&f));
        match self {
            Self::OpenAiStrict => is_number || is_items || types == Types::STRING && is_format_of(FORMATS),
            Self::OpenAiChat => {
                is_number && keyword != "multipleOf"
                    || is_items
                    || matches!(keyword, "minLength" | "maxLength")
                    || types == Types::STRING && is_format_of(&["date-time", "date", "time", "uuid"])
            }
            Self::Anthropic => keyword != "format" || types == Types::STRING && is_format_of(FORMATS),
            Self::Gemini => {
                matches!(keyword, "minimum" | "maximum")
                    || is_items
                    || types == Types::STRING && is_format_of(&["date-time"])
            }
            Self::Ollama => false,
        }
    }

    /// The name by which a property is sent. `None` if another has it already.
    pub(super) fn property_name(self, name: &str, taken: &Map<String, Value>) -> Option<String> {
        let is_legal = !name.is_empty()
            && name.len() <= names::MAX_NAME_BYTES
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
        let sent = if self == Self::Anthropic && !is_legal { names::legal(name) } else { name.to_owned() };
        (!taken.contains_key(&sent)).then_some(sent)
    }
}

/// Formats that the strict mode knows; JSON Schema knows them all.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
