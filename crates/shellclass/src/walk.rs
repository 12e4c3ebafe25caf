//! Walks the whole syntax tree. Deny by default: a construct that isn't handled here lifts the class.

use crate::arithmetic;
use crate::lexer::{MAX_DEPTH, Scanner, Unclear};
use crate::table::{self, Call};
use crate::value::{self, Value, Variables};
use crate::verdict::{Destination, Need, Reason};
use crate::word::{self, Part, Place};
use brush_parser::ast;
use brush_parser::{ParserOptions, SourceSpan, Token};
use model::Class;
use std::collections::{BTreeMap, BTreeSet};

/// Words that open a compound command. Their number bounds how deep the grammar and the walk recurse.
const MAX_OPENERS: usize = 24;
/// `case` without a final `;;` makes the grammar read its last branch twice, at each level.
const MAX_CASES: usize = 4;
const MAX_TOKENS: usize = 4_000;
/// Texts that are parsed: the command and each substitution.
const MAX_PROGRAMS: usize = 128;

/// A text that is walked: the command itself or one inside of it.
#[derive(Clone, Copy)]
pub(crate) struct Source<'t> {
    pub(crate) text: &'t str,
    /// Where it begins in the command.
    base: usize,
    /// Where it stands as a whole, if its own positions mean nothing in the command.
    fixed: Option<(usize, usize)>,
}

impl<'t> Source<'t> {
    pub(crate) fn whole(text: &'t str) -> Self {
        Self { text, base: 0, fixed: None }
    }

    pub(crate) fn inside(text: &'t str, place: (usize, usize)) -> Self {
        Self { text, base: 0, fixed: Some(place) }
    }

    pub(crate) fn place(&self, start: usize, end: usize) -> (usize, usize) {
        self.fixed.unwrap_or((self.base + start, self.base + end))
    }

    fn part(&self, text: &'t str, start: Option<usize>, place: (usize, usize)) -> Self {
        match (self.fixed, start) {
            (None, Some(start)) => Self { text, base: self.base + start, fixed: None },
            _ => Self::inside(text, place),
        }
    }
}

/// Collects what is found.
#[derive(Default)]
pub(crate) struct Walker {
    pub(crate) reasons: Vec<Reason>,
    pub(crate) needs: BTreeSet<Need>,
    pub(crate) destinations: Vec<Destination>,
    pub(crate) opaque: bool,
    pub(crate) variables: Variables,
    /// What this pass has seen being assigned.
    pub(crate) assigned: Variables,
    /// Functions that are certainly defined; the value tells whether its body is being walked.
    functions: BTreeMap<String, bool>,
    pub(crate) downloads: bool,
    pub(crate) interprets: bool,
    dynamic_reads: Vec<(usize, usize)>,
    depth: usize,
    /// More than none inside of anything that may not run or runs elsewhere.
    conditional: usize,
    openers: usize,
    cases: usize,
    tokens: usize,
    programs: usize,
}

impl Walker {
    /// Notes that a part of the text asks for `class`.
    pub(crate) fn lift(&mut self, class: Class, place: (usize, usize), text: impl Into<String>) {
        self.reasons.push(Reason { class, start: place.0, end: place.1, text: text.into() });
    }

    fn unclear(&mut self, source: &Source<'_>, unclear: &Unclear) {
        self.opaque = true;
        let place = source.place(unclear.at, source.text.len());
        self.lift(Class::Mutating, place, format!("can't be read with certainty: {}", unclear.why));
    }

    pub(crate) fn class(&self) -> Class {
        self.reasons.iter().map(|reason| reason.class).max().unwrap_or(Class::Safe)
    }

    /// Makes the findings that only the whole tells.
    pub(crate) fn finish(&mut self, end: usize) {
        if !self.needs.is_empty() {
            for place in std::mem::take(&mut self.dynamic_reads) {
                self.lift(
                    Class::Mutating,
                    place,
                    "reads a file that only running tells, beside something that leaves the sandbox",
                );
            }
        }
        if self.downloads && self.interprets {
            self.lift(Class::Dangerous, (0, end), "may feed what it downloads to an interpreter");
        }
    }

    /// Walks a text as a whole program.
    pub(crate) fn program(&mut self, source: Source<'_>) {
        self.depth += 1;
        self.programs += 1;
        if self.programs > MAX_PROGRAMS {
            self.unclear(&source, &Unclear { at: 0, why: "too many substitutions" });
        } else if self.depth > MAX_DEPTH {
            self.unclear(&source, &Unclear { at: 0, why: "too deeply nested" });
        } else {
            match self.parse(&source) {
                Ok(program) => {
                    for commands in &program.complete_commands {
                        self.list(&source, commands);
                    }
                }
                Err(unclear) => self.unclear(&source, &unclear),
            }
        }
        self.depth -= 1;
    }

    fn parse(&mut self, source: &Source<'_>) -> Result<ast::Program, Unclear> {
        let refuse = |why| Err(Unclear { at: 0, why });
        let tokens = Scanner::new(source.text).tokens()?;
        self.tokens += tokens.len();
        if self.tokens > MAX_TOKENS {
            return refuse("too long");
        }
        for (index, token) in tokens.iter().enumerate() {
            match token {
                Token::Word(word, _) => {
                    // The grammar recurses into brackets when it looks whether a word is an assignment.
                    if deepest_bracket(word) > MAX_DEPTH {
                        return refuse("too deeply nested");
                    }
                    if matches!(
                        word.as_str(),
                        "if" | "for"
                            | "while"
                            | "until"
                            | "{"
                            | "[["
                            | "!"
                            | "function"
                            | "coproc"
                            | "select"
                    ) {
                        self.openers += 1;
                    }
                    if word == "case" {
                        self.openers += 1;
                        self.cases += 1;
                    }
                    // The grammar gives up on numbers that its type can't hold.
                    if word.len() > 4
                        && word.bytes().all(|byte| byte.is_ascii_digit())
                        && matches!(tokens.get(index + 1), Some(Token::Operator(next, _)) if next.starts_with(['<', '>']))
                    {
                        return refuse("a file descriptor that is too large");
                    }
                }
                Token::Operator(operator, _) if operator == "(" => self.openers += 1,
                Token::Operator(..) => {}
            }
        }
        if self.openers > MAX_OPENERS || self.cases > MAX_CASES {
            return refuse("too deeply nested");
        }
        let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
        // The grammar is somebody else's code that reads hostile text: a panic in it is one more text that can't be read.
        let parsed = std::panic::catch_unwind(|| {
            let theirs =
                brush_parser::uncached_tokenize_str(source.text, &options.tokenizer_options()).ok()?;
            agree(&tokens, &theirs).then(|| brush_parser::parse_tokens(&tokens, &options).ok()).flatten()
        });
        match parsed {
            Ok(Some(program)) => Ok(program),
            Ok(None) => refuse("the grammar doesn't accept it"),
            Err(_) => refuse("the grammar fails on it"),
        }
    }

    fn list(&mut self, source: &Source<'_>, list: &ast::CompoundList) {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            if matches!(separator, ast::SeparatorOperator::Async) {
                self.lift(Class::Mutating, source.place(0, source.text.len()), "runs in the background");
            }
            let single = and_or.additional.is_empty();
            self.conditional += usize::from(!single);
            self.pipeline(source, &and_or.first);
            for next in &and_or.additional {
                let (ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline)) = next;
                self.pipeline(source, pipeline);
            }
            self.conditional -= usize::from(!single);
        }
    }

    fn pipeline(&mut self, source: &Source<'_>, pipeline: &ast::Pipeline) {
        let piped = pipeline.seq.len() > 1;
        if pipeline.seq.is_empty() {
            self.lift(Class::Mutating, source.place(0, source.text.len()), "no command");
        }
        self.conditional += usize::from(piped);
        for command in &pipeline.seq {
            self.command(source, command);
        }
        self.conditional -= usize::from(piped);
    }

    fn command(&mut self, source: &Source<'_>, command: &ast::Command) {
        match command {
            ast::Command::Simple(simple) => self.simple(source, simple),
            ast::Command::Compound(compound, redirects) => {
                self.conditional += 1;
                self.compound(source, compound);
                self.conditional -= 1;
                self.redirects(source, redirects.as_ref());
            }
            ast::Command::Function(function) => self.function(source, function),
            ast::Command::ExtendedTest(test, redirects) => {
                let place = at(&test.loc);
                self.test(source, &test.expr, source.place(place.0, place.1));
                self.redirects(source, redirects.as_ref());
            }
        }
    }

    fn compound(&mut self, source: &Source<'_>, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => self.list(source, &group.list),
            ast::CompoundCommand::Subshell(shell) => self.list(source, &shell.list),
            ast::CompoundCommand::ForClause(clause) => {
                let place = at(&clause.loc);
                let place = source.place(place.0, place.1);
                match &clause.values {
                    Some(values) => {
                        for word in values {
                            let value = self.word(source, word, place);
                            self.assign(&clause.variable_name, &value);
                        }
                    }
                    None => self.assign(&clause.variable_name, &Value::anything(true, place.0, place.1)),
                }
                self.list(source, &clause.body.list);
            }
            ast::CompoundCommand::CaseClause(clause) => {
                let place = at(&clause.loc);
                let place = source.place(place.0, place.1);
                self.word(source, &clause.value, place);
                for item in &clause.cases {
                    for pattern in &item.patterns {
                        self.word(source, pattern, place);
                    }
                    if let Some(list) = &item.cmd {
                        self.list(source, list);
                    }
                }
            }
            ast::CompoundCommand::IfClause(clause) => {
                self.list(source, &clause.condition);
                self.list(source, &clause.then);
                for branch in clause.elses.iter().flatten() {
                    if let Some(condition) = &branch.condition {
                        self.list(source, condition);
                    }
                    self.list(source, &branch.body);
                }
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.list(source, &clause.0);
                self.list(source, &clause.1.list);
            }
            ast::CompoundCommand::Arithmetic(command) => {
                let (start, end) = at(&command.loc);
                let text = source.text.get(start..end).unwrap_or("");
                // The grammar takes `( (…) )` for arithmetic too; bash runs what is inside.
                if text.starts_with("((") && text.ends_with("))") && text.len() >= 4 {
                    arithmetic::check(self, source, start + 2, end - 2);
                } else {
                    self.unclear(source, &Unclear { at: start, why: "arithmetic that may be a subshell" });
                }
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                let (start, end) = at(&clause.loc);
                let place = source.place(start, end);
                for expression in
                    [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten()
                {
                    let inner = Source::inside(&expression.value, place);
                    arithmetic::check(self, &inner, 0, expression.value.len());
                }
                self.list(source, &clause.body.list);
            }
            ast::CompoundCommand::Coprocess(process) => {
                let place = at(&process.loc);
                self.lift(Class::Mutating, source.place(place.0, place.1), "starts a coprocess");
                self.command(source, &process.body);
            }
        }
    }

    fn function(&mut self, source: &Source<'_>, function: &ast::FunctionDefinition) {
        let name = function.fname.value.clone();
        let place = function.fname.loc.as_ref().map_or((0, source.text.len()), at);
        let place = source.place(place.0, place.1);
        let plain = is_identifier(&name) && !self.functions.contains_key(&name);
        if !plain || table::find(&name).is_some() {
            self.lift(Class::Mutating, place, format!("defines a function over `{name}`"));
        }
        let certain = plain && self.conditional == 0 && self.depth == 1;
        if certain {
            self.functions.insert(name.clone(), true);
        }
        let bomb = self.reasons.len();
        self.conditional += 1;
        self.compound(source, &function.body.0);
        self.conditional -= 1;
        self.redirects(source, function.body.1.as_ref());
        if self.reasons.get(bomb..).unwrap_or(&[]).iter().any(|reason| reason.text.starts_with(RECURSION)) {
            self.lift(Class::Dangerous, place, "a function that calls itself may fill the process table");
        }
        if certain {
            self.functions.insert(name, false);
        }
    }

    fn test(&mut self, source: &Source<'_>, test: &ast::ExtendedTestExpr, place: (usize, usize)) {
        use ast::BinaryPredicate as Binary;
        use ast::UnaryPredicate as Unary;
        match test {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.test(source, left, place);
                self.test(source, right, place);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                self.test(source, inner, place)
            }
            ast::ExtendedTestExpr::UnaryTest(predicate, word) => {
                let value = self.word(source, word, place);
                if matches!(
                    predicate,
                    Unary::ShellVariableIsSetAndAssigned | Unary::ShellVariableIsSetAndNameRef
                ) && !is_identifier(value.text())
                {
                    self.lift(Class::Mutating, place, "evaluates a subscript");
                }
            }
            ast::ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                let left = self.word(source, left, place);
                let right = self.word(source, right, place);
                let numeric = matches!(
                    predicate,
                    Binary::ArithmeticEqualTo
                        | Binary::ArithmeticNotEqualTo
                        | Binary::ArithmeticLessThan
                        | Binary::ArithmeticLessThanOrEqualTo
                        | Binary::ArithmeticGreaterThan
                        | Binary::ArithmeticGreaterThanOrEqualTo
                );
                if numeric {
                    for value in [left, right] {
                        if !value.number {
                            self.lift(
                                Class::Mutating,
                                (value.start, value.end),
                                "`[[` evaluates this as arithmetic, which can run commands; use `[ … ]` with quotes",
                            );
                        }
                    }
                }
            }
        }
    }

    fn simple(&mut self, source: &Source<'_>, simple: &ast::SimpleCommand) {
        let mut assignments = Vec::new();
        let mut words: Vec<Value> = Vec::new();
        let everything = source.place(0, source.text.len());
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(source, redirect),
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                    assignments.push((assignment, self.assigned_value(source, assignment, word, everything)));
                }
                _ => self.lift(Class::Mutating, everything, "isn't known to only read"),
            }
        }
        if let Some(name) = &simple.word_or_name {
            words.push(self.word(source, name, everything));
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(source, redirect),
                ast::CommandPrefixOrSuffixItem::Word(word) => words.push(self.word(source, word, everything)),
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                    if matches!(assignment.value, ast::AssignmentValue::Array(_)) {
                        self.lift(Class::Mutating, everything, "gives an array to a command");
                    }
                    words.push(self.word(source, word, everything));
                }
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => {
                    let (start, end) = at(&shell.loc);
                    let place = source.place(start, end);
                    self.conditional += 1;
                    self.list(source, &shell.list);
                    self.conditional -= 1;
                    let mut value = Value::anything(false, place.0, place.1);
                    value.many = false;
                    value.prefix = "/dev/fd/".to_owned();
                    words.push(value);
                }
            }
        }
        let name = words.first().map(|name| name.text().to_owned());
        for (assignment, value) in &assignments {
            let ast::AssignmentName::VariableName(variable) = &assignment.name else {
                self.lift(Class::Mutating, (value.start, value.end), "evaluates a subscript");
                continue;
            };
            match &name {
                None => self.assign(variable, value),
                Some(command) => {
                    if !(variable == "IFS" && command == "read" || harmless_environment(variable, value)) {
                        self.lift(
                            Class::Mutating,
                            (value.start, value.end),
                            format!("`{variable}` in a command's environment can change what it does"),
                        );
                    }
                }
            }
        }
        if !words.is_empty() {
            self.conditional += 1;
            self.run(&words);
            self.conditional -= 1;
        }
    }

    /// Judges one command by its words.
    pub(crate) fn run(&mut self, words: &[Value]) {
        let Some((name, args)) = words.split_first() else { return };
        let end = args.iter().map(|arg| arg.end).max().unwrap_or(name.end).max(name.end);
        let place = (name.start, end);
        let Some(text) = name.exact.as_deref() else {
            self.opaque = true;
            self.lift(Class::Mutating, (name.start, name.end), "only running tells which command this is");
            return;
        };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.lift(Class::Mutating, place, "too deeply nested");
        } else if let Some(walking) = self.functions.get(text) {
            if *walking {
                self.lift(Class::Mutating, place, format!("{RECURSION} (`{text}`)"));
            }
        } else {
            table::judge(&mut Call { walker: self, name: text, args, place });
        }
        self.depth -= 1;
    }

    pub(crate) fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    fn assigned_value(
        &mut self,
        source: &Source<'_>,
        assignment: &ast::Assignment,
        word: &ast::Word,
        everything: (usize, usize),
    ) -> Value {
        let (start, end) = word.loc.as_ref().map_or((0, source.text.len()), at);
        let place = source.place(start, end);
        let text = source.text.get(start..end).unwrap_or("");
        let Some(equals) = text.find('=') else { return Value::anything(true, everything.0, everything.1) };
        if matches!(assignment.value, ast::AssignmentValue::Array(_)) {
            let mut elements = Vec::new();
            match Scanner::new(text.strip_suffix(')').unwrap_or(text)).words_from(equals + 2) {
                Ok(words) => elements = words,
                Err(unclear) => self.unclear(source, &unclear),
            }
            for (from, to) in elements {
                self.parts(source, start + from, start + to, Place::Open);
            }
            return Value::anything(true, place.0, place.1);
        }
        let mut value = self.parts(source, start + equals + 1, end, Place::Open);
        if assignment.append {
            value = Value::anything(true, place.0, place.1);
        }
        // An assignment neither splits nor globs; the variable does when it is used without quotes.
        (value.start, value.end) = place;
        value
    }

    /// Notes that a variable of the shell gets a value.
    pub(crate) fn assign(&mut self, name: &str, value: &Value) {
        if !is_identifier(name) || steers_the_shell(name) {
            self.lift(
                Class::Mutating,
                (value.start, value.end),
                format!("`{name}` steers the shell or its children"),
            );
        }
        self.assigned.put(name, value);
    }

    fn redirects(&mut self, source: &Source<'_>, redirects: Option<&ast::RedirectList>) {
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(source, redirect);
        }
    }

    fn redirect(&mut self, source: &Source<'_>, redirect: &ast::IoRedirect) {
        use ast::IoFileRedirectKind as Kind;
        let everything = source.place(0, source.text.len());
        match redirect {
            ast::IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion
                    && let Some((start, end)) = document.doc.loc.as_ref().map(at)
                {
                    self.parts(source, start, end, Place::Document);
                }
            }
            ast::IoRedirect::HereString(_, word) => {
                self.word(source, word, everything);
            }
            ast::IoRedirect::OutputAndError(word, _) => {
                let value = self.word(source, word, everything);
                self.writes(&value);
            }
            ast::IoRedirect::File(_, kind, target) => match target {
                ast::IoFileRedirectTarget::Fd(_) => {}
                ast::IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                    self.conditional += 1;
                    self.list(source, &shell.list);
                    self.conditional -= 1;
                }
                ast::IoFileRedirectTarget::Duplicate(word) => {
                    let value = self.word(source, word, everything);
                    let text = value.text();
                    let bare = text.strip_suffix('-').unwrap_or(text);
                    if text.is_empty() || !bare.bytes().all(|byte| byte.is_ascii_digit()) {
                        self.writes(&value);
                    }
                }
                ast::IoFileRedirectTarget::Filename(word) => {
                    let value = self.word(source, word, everything);
                    match kind {
                        Kind::Read => self.reads(&value),
                        _ => self.writes(&value),
                    }
                }
            },
        }
    }

    fn reads(&mut self, value: &Value) {
        let place = (value.start, value.end);
        let head = value.exact.as_deref().unwrap_or(&value.prefix);
        if let Some(rest) = head.strip_prefix("/dev/tcp").or_else(|| head.strip_prefix("/dev/udp")) {
            let mut parts = rest.trim_start_matches('/').split('/');
            let host = parts.next().filter(|host| !host.is_empty()).map(str::to_owned);
            let port = parts.next().and_then(|port| port.parse().ok());
            self.destinations.push(Destination { host, port, start: place.0, end: place.1 });
            self.lift(Class::Mutating, place, "opens a network connection");
        } else if value.exact.is_none() {
            if head.is_empty()
                || "/dev/tcp".starts_with(head)
                || "/dev/udp".starts_with(head)
                || head.starts_with("/dev")
            {
                self.dynamic_reads.push(place);
            }
            if value.many {
                self.lift(Class::Mutating, place, "a redirection that could name several files");
            }
        }
    }

    fn writes(&mut self, value: &Value) {
        let place = (value.start, value.end);
        let text = value.text();
        if matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/fd/1" | "/dev/fd/2") {
            return;
        }
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            self.reads(value);
        } else if crate::danger::is_precious_file(text) {
            self.lift(Class::Dangerous, place, format!("overwrites `{text}`"));
        } else if value.exact.is_some() {
            self.lift(Class::Mutating, place, format!("writes the file `{text}`"));
        } else {
            self.lift(Class::Mutating, place, "writes a file that only running tells");
        }
    }

    fn word(&mut self, source: &Source<'_>, word: &ast::Word, fallback: (usize, usize)) -> Value {
        match word.loc.as_ref().map(at) {
            Some((start, end)) => self.parts(source, start, end, Place::Open),
            None => {
                let inner = Source::inside(&word.value, fallback);
                self.parts(&inner, 0, word.value.len(), Place::Open)
            }
        }
    }

    /// Walks what a word runs and tells its value.
    pub(crate) fn parts(&mut self, source: &Source<'_>, start: usize, end: usize, kind: Place) -> Value {
        let place = source.place(start, end);
        match word::parts(source.text, start, end, kind) {
            Ok(parts) => {
                self.visit(source, &parts, place);
                value::evaluate(&parts, &self.variables, place, &arithmetic::prints_number)
            }
            Err(unclear) => {
                self.unclear(source, &Unclear { at: start, why: unclear.why });
                Value::anything(true, place.0, place.1)
            }
        }
    }

    fn visit(&mut self, source: &Source<'_>, parts: &[Part], place: (usize, usize)) {
        for part in parts {
            match part {
                Part::Text { .. } | Part::Tilde | Part::Glob | Part::Brace { .. } | Part::Variable { .. } => {
                }
                Part::Assigns { name } => self.assign(name, &Value::anything(true, place.0, place.1)),
                Part::Command { text, start, .. } => {
                    let inner = source.part_of(text, *start, place);
                    self.conditional += 1;
                    self.program(inner);
                    self.conditional -= 1;
                }
                Part::Arithmetic { start, end } => arithmetic::check(self, source, *start, *end),
                Part::Operand(parts) => self.visit(source, parts, place),
            }
        }
    }
}

impl Source<'_> {
    fn part_of<'p>(&self, text: &'p str, start: Option<usize>, place: (usize, usize)) -> Source<'p> {
        let outer = Source { text, base: self.base, fixed: self.fixed };
        outer.part(text, start, place)
    }
}

const RECURSION: &str = "a function that calls itself";

fn at(span: &SourceSpan) -> (usize, usize) {
    (span.start.index, span.end.index)
}

/// Whether both tokenizers see the same words and operators, blanks and joined lines aside.
fn agree(ours: &[Token], theirs: &[Token]) -> bool {
    let squeeze = |text: &str| text.replace("\\\n", "").split([' ', '\t', '\n']).collect::<String>();
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|pair| match pair {
            (Token::Word(ours, _), Token::Word(theirs, _)) => squeeze(ours) == squeeze(theirs),
            (Token::Operator(ours, _), Token::Operator(theirs, _)) => ours == theirs,
            _ => false,
        })
}

/// How deep square brackets nest in a word.
fn deepest_bracket(word: &str) -> usize {
    let mut depth = 0usize;
    let mut deepest = 0;
    for byte in word.bytes() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

pub(crate) fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// Variables that bash itself reads, or that are in the environment of what it starts.
pub(crate) fn steers_the_shell(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "PATH",
        "HOME",
        "TERM",
        "LANG",
        "USER",
        "SHELL",
        "TMPDIR",
        "IFS",
        "ENV",
        "PS0",
        "PS1",
        "PS2",
        "PS3",
        "PS4",
        "PWD",
        "OLDPWD",
        "CDPATH",
        "OPTIND",
        "OPTARG",
        "OPTERR",
        "SHELLOPTS",
        "SHLVL",
        "GLOBIGNORE",
        "GLOBSORT",
        "TIMEFORMAT",
        "TMOUT",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "MANPAGER",
        "FCEDIT",
        "FIGNORE",
        "FUNCNEST",
        "FUNCNAME",
        "HOSTFILE",
        "IGNOREEOF",
        "INPUTRC",
        "MAIL",
        "MAILPATH",
        "MAILCHECK",
        "POSIXLY_CORRECT",
        "CHILD_MAX",
        "EXECIGNORE",
        "auto_resume",
        "histchars",
        "DIRSTACK",
        "GROUPS",
        "UID",
        "EUID",
        "PPID",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "LINENO",
        "EPOCHSECONDS",
        "EPOCHREALTIME",
        "PIPESTATUS",
        "PROMPT_COMMAND",
        "PROMPT_DIRTRIM",
        "MAPFILE",
        "READLINE_LINE",
        "COPROC",
        "LOCALDOMAIN",
        "RES_OPTIONS",
        "HOSTALIASES",
        "NLSPATH",
        "http_proxy",
        "https_proxy",
        "ftp_proxy",
        "all_proxy",
        "no_proxy",
    ];
    const STARTS: &[&str] = &[
        "BASH", "LD_", "LC_", "GIT_", "SSH_", "PYTHON", "PERL", "RUBY", "NODE_", "DOCKER_", "KUBE", "PG",
        "HIST", "COMP_", "MALLOC_", "GCONV", "LOCPATH", "SYSTEMD_",
    ];
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

/// Variables that may stand before a command: how it formats, nothing else.
fn harmless_environment(name: &str, value: &Value) -> bool {
    let plain = |text: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '/' | '+'))
            && !text.starts_with(['/', '.'])
            && !text.contains("..")
    };
    let known = matches!(
        name,
        "LC_ALL"
            | "LC_TIME"
            | "LC_COLLATE"
            | "LC_NUMERIC"
            | "LC_CTYPE"
            | "LC_MESSAGES"
            | "LANG"
            | "LANGUAGE"
            | "TZ"
            | "COLUMNS"
            | "LINES"
            | "NO_COLOR"
    );
    known && value.exact.as_deref().is_some_and(plain)
}
