//! One entry of the catalogue.

use crate::{Definition, InvalidArguments, Metadata, SchemaError, Skill, Validator, schema_of};
use model::{Class, ClassReason, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where a capability comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "name")]
pub enum Source {
    /// Compiled in.
    Builtin,
    /// A pack, by name.
    Pack(String),
}

/// One entry of the catalogue: a definition, what checks its arguments, and what classes them.
#[derive(Debug)]
pub struct Capability {
    definition: Definition,
    hash: String,
    validator: Validator,
    classify: fn(&Value) -> Class,
    class_reasons: fn(&Value) -> Vec<ClassReason>,
    source: Source,
    program: Option<String>,
    subprocess: bool,
    settles_by_boot: bool,
    classed_by: Option<&'static str>,
    least: Class,
    unmet: Vec<String>,
}

impl Capability {
    /// The capability of a builtin skill.
    ///
    /// # Panics
    ///
    /// If the derived schema is not valid, which the contract test over all skills rules out.
    #[expect(clippy::expect_used, reason = "derived schemas of compiled-in types; a test builds every one")]
    pub fn of_skill<S: Skill>() -> Self {
        let new =
            Self::new(Definition::new(&S::METADATA, schema_of::<S::Params>()), S::classify, Source::Builtin)
                .expect("a derived schema is valid");
        Self { classed_by: S::CLASSED_BY, ..new }
            .with_class_reasons(S::class_reasons)
            .with_subprocess(S::SUBPROCESS)
            .with_settles_by_boot(S::SETTLES_BY_BOOT)
    }

    /// The capability of a builtin tool with a hand-written schema.
    ///
    /// # Errors
    ///
    /// Fails if `params` is not valid JSON Schema.
    pub fn of_tool(
        metadata: &Metadata,
        params: Value,
        classify: fn(&Value) -> Class,
    ) -> Result<Self, SchemaError> {
        Self::new(Definition::new(metadata, params), classify, Source::Builtin)
    }

    /// Joins the parts.
    ///
    /// # Errors
    ///
    /// Fails if the definition's schema is not valid JSON Schema.
    pub fn new(
        definition: Definition,
        classify: fn(&Value) -> Class,
        source: Source,
    ) -> Result<Self, SchemaError> {
        let validator = Validator::new(&definition.params)?;
        Ok(Self {
            hash: definition.hash(),
            least: definition.class,
            definition,
            validator,
            classify,
            class_reasons: |_| Vec::new(),
            source,
            program: None,
            subprocess: false,
            settles_by_boot: false,
            classed_by: None,
            unmet: Vec::new(),
        })
    }

    /// Says what tells why its calls have their class, as [`Skill::class_reasons`] does.
    #[must_use]
    pub fn with_class_reasons(mut self, class_reasons: fn(&Value) -> Vec<ClassReason>) -> Self {
        self.class_reasons = class_reasons;
        self
    }

    /// Why a call with these arguments has its class, part by part; empty where the definition alone says it.
    pub fn class_reasons(&self, args: &Value) -> Vec<ClassReason> {
        // Only shown to people; nothing is decided by it.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.class_reasons)(args)))
            .unwrap_or_default()
    }

    /// Lifts every call of it to at least this class, for example where nothing holds what it starts.
    #[must_use]
    pub fn with_least_class(mut self, least: Class) -> Self {
        self.least = self.least.max(least);
        self
    }

    /// The least class that any call of it has here: the definition's, or what it was lifted to.
    pub fn least_class(&self) -> Class {
        self.least
    }

    /// Says what the manager's own machine lacks for it, in words. Of host skills each host tells that itself.
    #[must_use]
    pub fn with_unmet(mut self, unmet: Vec<String>) -> Self {
        self.unmet = unmet;
        self
    }

    /// What the manager's own machine lacks for it; empty if it can run.
    pub fn unmet(&self) -> &[String] {
        &self.unmet
    }

    /// Says whether it starts programs that its arguments choose, as [`Skill::SUBPROCESS`] does.
    #[must_use]
    pub fn with_subprocess(mut self, subprocess: bool) -> Self {
        self.subprocess = subprocess;
        self
    }

    /// Binds it to the digest of the program that it runs: its hash then changes with the program too, and with it
    /// falls whatever people approved of the old one.
    #[must_use]
    pub fn with_program(mut self, digest: impl Into<String>) -> Self {
        let digest = digest.into();
        self.hash = canonical::digest(&json!({"definition": self.definition.hash(), "program": digest}));
        self.program = Some(digest);
        self
    }

    /// The digest of the program that it runs; `None` if that is compiled in.
    pub fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// Whether its safe calls need a sandbox that holds the read-only profile.
    pub fn is_subprocess(&self) -> bool {
        self.subprocess
    }

    /// Says whether the host's boot settles it, as [`Skill::SETTLES_BY_BOOT`] does.
    #[must_use]
    pub fn with_settles_by_boot(mut self, settles: bool) -> Self {
        self.settles_by_boot = settles;
        self
    }

    /// Whether the boot of the host settles a call whose edge died before it ended.
    pub fn settles_by_boot(&self) -> bool {
        self.settles_by_boot
    }

    /// The parameter by which its calls are classed; `None` if all of them have its own class.
    pub fn classed_by(&self) -> Option<&'static str> {
        self.classed_by
    }

    /// What it is.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// [`Definition::hash`], with the program's digest where there is one; computed once.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Where it comes from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Checks arguments against the full schema.
    ///
    /// # Errors
    ///
    /// Tells everything that is wrong.
    pub fn check(&self, args: &Value) -> Result<(), InvalidArguments> {
        self.validator.check(args)
    }

    /// The class of a call with these arguments: never below [`Capability::least_class`].
    pub fn class_of(&self, args: &Value) -> Class {
        (self.classify)(args).max(self.least)
    }

    /// As [`Capability::class_of`], for whoever must go on when it panics: `None` then.
    pub fn try_class_of(&self, args: &Value) -> Option<Class> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.class_of(args))).ok()
    }
}
