//! The closed sets of words of the API, for its document. The values themselves are those of `model`.

use utoipa::ToSchema;

/// How much harm a call can do.
#[derive(ToSchema)]
#[schema(as = Class, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum ClassWord {
    /// Reads only.
    Safe,
    /// Changes something that can be put right.
    Mutating,
    /// Can destroy.
    Dangerous,
}

/// Where a capability runs.
#[derive(ToSchema)]
#[schema(as = Scope, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum ScopeWord {
    /// On a host.
    Host,
    /// Inside the manager.
    Manager,
}

/// Where a call stands.
#[derive(ToSchema)]
#[schema(as = CallState, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum CallStateWord {
    /// The arguments did not fit the schema; nothing ran.
    Invalid,
    /// Policy, class or a prerequisite forbade it; nothing ran.
    Refused,
    /// Waits for a person.
    AwaitingApproval,
    /// A person said no; nothing ran.
    Denied,
    /// Nobody decided in time; nothing ran.
    Expired,
    /// Allowed, not yet sent.
    Queued,
    /// Sent.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Its deadline passed.
    TimedOut,
    /// Stopped by a person or with its turn.
    Cancelled,
    /// The effect may have happened; changes once, when the edge tells.
    Unknown,
}

/// The entry point through which a call came.
#[derive(ToSchema)]
#[schema(as = Origin, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum OriginWord {
    /// A chat.
    Chat,
    /// The REST run endpoint and the console's form.
    Api,
    /// A schedule.
    Schedule,
    /// A sub-agent.
    Agent,
    /// The MCP server.
    Mcp,
    /// `steadyhand call`.
    Cli,
    /// On the host itself.
    Local,
}

/// What policy and class together said about a call.
#[derive(ToSchema)]
#[schema(as = PolicyDecision, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum PolicyDecisionWord {
    /// May run.
    Allow,
    /// Needs a person.
    Supervised,
    /// May not run.
    Deny,
}

/// A role that a person holds.
#[derive(ToSchema)]
#[schema(as = Role, rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum RoleWord {
    /// Looks, chats, and starts safe calls.
    Viewer,
    /// Also starts mutating and dangerous calls.
    Operator,
    /// A viewer who also decides approvals.
    Approver,
    /// Everything but approving.
    Admin,
}

/// Who may chat.
#[derive(ToSchema)]
#[schema(as = AccessMode, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum AccessModeWord {
    /// Nobody.
    Off,
    /// Admins.
    Admins,
    /// Everybody with an account.
    AllUsers,
}
