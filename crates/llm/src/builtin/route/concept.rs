//! What a word may mean to an operator's assistant.

/// Defines the enum and the list of all its variants together.
macro_rules! concepts {
    ($($name:ident),* $(,)?) => {
        /// One meaning. A word may have several.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Concept { $($name),* }
    };
}

concepts! {
    // things
    Load, Cpu, Mem, Swap, Disk, Io, Fds, Net, Temp, Uptime, Process, Service, Log, Journal, Kernel, File, Config,
    Port, Tcp, Dns, Record, Web, Cert, Host, Hosts, Fleet, Edge, Login, Oom, User, Label, Mail, Database, Result, Redirect, Timeout, Server53,
    // severities
    Emerg, Alert, Crit, Error, Warn, Notice, Info, Debug,
    // looking
    Show, Check, Read, Tail, Grep, Reach, Open, Resolve, Ping, Status, Running, Fail, Why, Who, What, How, When, Which, HowMany,
    Space, Large, Listing, Stat, Listen, Netns,
    Eat, Most, Free, Online, Offline, LastSeen, Slow, High, Answer, Curl, PerProcess, HeadMethod,
    // changing
    Restart, Reload, Start, Stop, Kill, Reboot, Restarted, Need, Shutdown, Unsupported, Force, Hup,
    // talking
    Greet, Thanks, Help, Bye, Identity, Yes, No,
    // grammar
    All, Here, Not, Without, Only, Its, Polite, Please, Should,
    // time and number
    Since, Until, Ago, LastN, Boot, Yesterday, Today, Now, Lines, Times, Bytes, More, Recent,
    // where
    From, On, To, Of, Using,
}

/// A set of meanings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Concepts(u128, u128);

impl Concepts {
    pub(super) fn of(concept: Concept) -> Self {
        let mut set = Self::default();
        set.add(concept);
        set
    }

    pub(super) fn add(&mut self, concept: Concept) {
        let bit = concept as u32;
        if bit < 128 { self.0 |= 1 << bit } else { self.1 |= 1 << (bit - 128) }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.0 |= other.0;
        self.1 |= other.1;
    }

    pub(super) fn has(self, concept: Concept) -> bool {
        let bit = concept as u32;
        if bit < 128 { self.0 >> bit & 1 == 1 } else { self.1 >> (bit - 128) & 1 == 1 }
    }

    pub(super) fn any(self, concepts: &[Concept]) -> bool {
        concepts.iter().any(|concept| self.has(*concept))
    }

    /// Whether there is nothing beside `concepts`.
    pub(super) fn only(self, concepts: &[Concept]) -> bool {
        let mut all = Self::default();
        for concept in concepts {
            all.add(*concept);
        }
        self.0 & !all.0 == 0 && self.1 & !all.1 == 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0 && self.1 == 0
    }
}
