//! Gives every token its meanings: words, phrases, Korean stems, and mistyped forms of all of them.

use super::concept::{Concept, Concepts};
use super::names;
use super::spell;
use super::token::{Kind, Token};
use super::{words_en, words_ko};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Longest phrase, in words.
const MAX_PHRASE: usize = 6;
/// Longest Korean stem, in syllables.
const MAX_STEM: usize = 10;
/// How many unknown words are tried as mistyped ones: a text with more of them is no question.
const MAX_CORRECTIONS: usize = 40;

struct Lexicon {
    words: HashMap<&'static str, Concepts>,
    /// By first word.
    phrases: HashMap<&'static str, Vec<(Vec<&'static str>, Concepts)>>,
    stems: HashMap<Vec<char>, Concepts>,
    common: HashSet<&'static str>,
    /// Words of phrases.
    vocabulary: HashSet<&'static str>,
    /// Words that a mistyped one may stand for.
    targets: Vec<&'static str>,
    korean_targets: Vec<&'static str>,
}

/// Meanings whose words are too short or too frequent to be guessed from a mistyped form.
const NEVER_GUESSED: &[Concept] = &[
    Concept::Polite,
    Concept::Greet,
    Concept::Thanks,
    Concept::Bye,
    Concept::Yes,
    Concept::No,
    Concept::Help,
    Concept::Identity,
    Concept::On,
    Concept::To,
    Concept::Of,
    Concept::From,
    Concept::Only,
    Concept::Its,
    Concept::Unsupported,
    Concept::Need,
];

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut lexicon = Lexicon {
        words: HashMap::new(),
        phrases: HashMap::new(),
        stems: HashMap::new(),
        common: words_en::COMMON.split_whitespace().collect(),
        vocabulary: HashSet::new(),
        targets: Vec::new(),
        korean_targets: Vec::new(),
    };
    let mut targets = HashSet::new();
    for (concept, list) in words_en::WORDS {
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let parts: Vec<&'static str> = entry.split_whitespace().collect();
            if let [word] = parts.as_slice() {
                lexicon.words.entry(word).or_default().add(*concept);
                if word.len() >= 4 && !NEVER_GUESSED.contains(concept) && targets.insert(*word) {
                    lexicon.targets.push(word);
                }
            } else {
                for part in &parts {
                    lexicon.vocabulary.insert(part);
                    if part.len() >= 5 && !NEVER_GUESSED.contains(concept) && targets.insert(*part) {
                        lexicon.targets.push(part);
                    }
                }
                let same_start = lexicon.phrases.entry(parts[0]).or_default();
                match same_start.iter_mut().find(|(known, _)| *known == parts) {
                    Some((_, concepts)) => concepts.add(*concept),
                    None => same_start.push((parts, Concepts::of(*concept))),
                }
            }
        }
    }
    for name in names::SERVICES.iter().flat_map(|service| service.names.split(',')) {
        if name.is_ascii() && name.len() >= 4 && targets.insert(name) {
            lexicon.targets.push(name);
        }
    }
    for (concept, list) in words_ko::WORDS {
        for entry in list.split(',').map(str::trim) {
            lexicon.stems.entry(entry.chars().collect()).or_default().add(*concept);
            if !NEVER_GUESSED.contains(concept) {
                lexicon.korean_targets.push(entry);
            }
        }
    }
    lexicon.korean_targets.extend(names::korean_names());
    lexicon
});

/// Whether `word` is a frequent word, which names nothing.
pub(super) fn is_common(word: &str) -> bool {
    LEXICON.common.contains(word)
}

/// Meanings of Korean endings, which a mistyped stem may carry.
const ENDINGS: &[Concept] = &[Concept::Please, Concept::Only, Concept::Ago, Concept::Times, Concept::Lines];

/// Gives every token its meanings.
pub(super) fn annotate(tokens: &mut Vec<Token>) {
    name_korean_services(tokens);
    let mut corrections = 0;
    for token in tokens.iter_mut().filter(|token| token.kind == Kind::Word) {
        let known = meanings_of_word(&token.low);
        if !known.is_empty() {
            token.concepts = known;
        } else if may_be_mistyped(&token.low) && corrections < MAX_CORRECTIONS {
            corrections += 1;
            if let Some(right) = spell::closest(&token.low, LEXICON.targets.iter().copied()) {
                right.clone_into(&mut token.low);
                token.concepts = LEXICON.words.get(right).copied().unwrap_or_default();
                token.corrected = true;
            }
        }
    }
    find_phrases(tokens);
    find_split_verbs(tokens);
    find_stems(tokens, &mut corrections);
}

/// The meanings of one word, with its regular endings.
fn meanings_of_word(word: &str) -> Concepts {
    if let Some(concepts) = LEXICON.words.get(word) {
        return *concepts;
    }
    if LEXICON.common.contains(word) || names::service(word).is_some() || names::program(word).is_some() {
        return Concepts::default();
    }
    let doubled = |stem: &str| {
        let mut letters = stem.chars().rev();
        (letters.next() == letters.next())
            .then(|| stem[..stem.len() - stem.chars().next_back().map_or(0, char::len_utf8)].to_owned())
    };
    let mut forms: Vec<String> = Vec::new();
    for ending in ["s", "es", "ed", "d", "ing", "er", "ly"] {
        if let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.len() >= 3) {
            forms.push(stem.to_owned());
            if matches!(ending, "ing" | "ed") {
                forms.push(format!("{stem}e"));
                forms.extend(doubled(stem));
            }
        }
    }
    forms.iter().find_map(|form| LEXICON.words.get(form.as_str()).copied()).unwrap_or_default()
}

fn may_be_mistyped(word: &str) -> bool {
    word.len() >= 4
        && word.len() <= 20
        && word.chars().all(|character| character.is_ascii_lowercase())
        && !LEXICON.common.contains(word)
        && !LEXICON.vocabulary.contains(word)
        && names::service(word).is_none()
        && names::program(word).is_none()
}

/// Longest phrases first; a phrase replaces what its words would mean alone.
fn find_phrases(tokens: &mut [Token]) {
    let mut at = 0;
    while at < tokens.len() {
        let matched = LEXICON.phrases.get(tokens[at].low.as_str()).and_then(|candidates| {
            candidates
                .iter()
                .filter(|(parts, _)| {
                    parts.len() <= MAX_PHRASE
                        && at + parts.len() <= tokens.len()
                        && parts.iter().zip(&tokens[at..]).all(|(part, token)| {
                            *part == token.low && matches!(token.kind, Kind::Word | Kind::Number(_))
                        })
                })
                .max_by_key(|(parts, _)| parts.len())
        });
        let Some((parts, concepts)) = matched else {
            at += 1;
            continue;
        };
        tokens[at].concepts = *concepts;
        for covered in &mut tokens[at + 1..at + parts.len()] {
            // Prepositions keep their force: "connect to db-1".
            let mut kept = Concepts::default();
            for place in [Concept::On, Concept::To, Concept::Of, Concept::From] {
                if covered.concepts.has(place) {
                    kept.add(place);
                }
            }
            covered.concepts = kept;
            covered.covered = true;
        }
        at += parts.len();
    }
}

/// Verbs whose particle stands behind the object: "turn nginx off", "bring redis back up", "take it down".
fn find_split_verbs(tokens: &mut [Token]) {
    for at in 0..tokens.len() {
        if !matches!(
            tokens[at].low.as_str(),
            "turn" | "switch" | "bring" | "take" | "shut" | "spin" | "fire" | "put"
        ) {
            continue;
        }
        let behind: Vec<&str> = tokens[at + 1..]
            .iter()
            .take(6)
            .take_while(|token| !token.is_break())
            .map(|token| token.low.as_str())
            .collect();
        let place = |word: &str| behind.iter().position(|low| *low == word).filter(|index| *index > 0);
        let (off, on) = (place("off").or_else(|| place("down")), place("on").or_else(|| place("up")));
        let meaning = match (tokens[at].low.as_str(), off, on) {
            (_, Some(off), Some(on)) if off < on && behind[off..].contains(&"and") => Concept::Restart,
            (_, Some(_), _) => Concept::Stop,
            ("turn" | "switch" | "spin" | "fire", None, Some(on)) if on + 1 == behind.len() => Concept::Start,
            ("bring", None, Some(_)) => Concept::Start,
            _ => continue,
        };
        tokens[at].concepts = Concepts::of(meaning);
        if meaning == Concept::Restart {
            // Its "and" joins no clauses.
            for token in tokens[at + 1..].iter_mut().take(6).filter(|token| token.low == "and") {
                "&".clone_into(&mut token.low);
            }
        }
    }
}

/// Korean names of services and programs become the Latin word, with the rest of the token as a token of its own.
fn name_korean_services(tokens: &mut Vec<Token>) {
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].kind == Kind::Hangul
            && let Some(name) = names::korean_names()
                .filter(|name| tokens[at].text.starts_with(name))
                .max_by_key(|name| name.len())
            && let Some(latin) = names::service(name)
                .map(|service| service.names.split(',').next().unwrap_or(service.unit))
                .or_else(|| names::program(name))
        {
            let rest = tokens[at].text[name.len()..].to_owned();
            let mut word = tokens[at].clone();
            word.kind = Kind::Word;
            latin.clone_into(&mut word.text);
            latin.clone_into(&mut word.low);
            tokens[at] = word.clone();
            if !rest.is_empty() {
                tokens.insert(
                    at + 1,
                    Token { text: rest.clone(), low: rest, kind: Kind::Hangul, glued: true, ..word },
                );
            }
        }
        at += 1;
    }
}

/// Finds Korean stems. A stem may run over a space when it begins at the start of a token, so spacing doesn't matter.
fn find_stems(tokens: &mut [Token], corrections: &mut usize) {
    let mut from = 0;
    while from < tokens.len() {
        if tokens[from].kind != Kind::Hangul {
            from += 1;
            continue;
        }
        let to = tokens[from..]
            .iter()
            .position(|token| token.kind != Kind::Hangul)
            .map_or(tokens.len(), |at| from + at);
        match_run(&mut tokens[from..to]);
        for token in &mut tokens[from..to] {
            if token.concepts.only(ENDINGS)
                && !token.covered
                && token.text.chars().count() >= 2
                && *corrections < MAX_CORRECTIONS
            {
                *corrections += 1;
                correct_korean(token);
            }
        }
        from = to;
    }
}

fn match_run(run: &mut [Token]) {
    let mut letters: Vec<(char, usize, bool)> = Vec::new();
    for (owner, token) in run.iter().enumerate() {
        letters.extend(token.text.chars().enumerate().map(|(index, letter)| (letter, owner, index == 0)));
    }
    let mut at = 0;
    let mut after_match = false;
    while at < letters.len() {
        let (_, owner, starts) = letters[at];
        let longest = MAX_STEM.min(letters.len() - at);
        let found = (1..=longest).rev().find_map(|length| {
            let end_owner = letters[at + length - 1].1;
            if (end_owner != owner || length == 1) && !(starts || after_match) {
                return None;
            }
            let stem: Vec<char> = letters[at..at + length].iter().map(|(letter, _, _)| *letter).collect();
            LEXICON.stems.get(&stem).map(|concepts| (length, *concepts))
        });
        if let Some((length, concepts)) = found {
            run[owner].concepts.merge(concepts);
            for later in
                letters[at..at + length].iter().map(|(_, owner, _)| *owner).filter(|later| *later != owner)
            {
                run[later].covered = true;
            }
            at += length;
            after_match = true;
        } else {
            at += 1;
            after_match = false;
        }
    }
}

/// Particles, longest first.
pub(super) const PARTICLES: &[&str] = &[
    "에서는",
    "에서도",
    "에서의",
    "으로부터",
    "에게서",
    "이라는",
    "이라고",
    "에서",
    "에게",
    "한테",
    "로부터",
    "으로",
    "까지",
    "부터",
    "이랑",
    "하고",
    "라는",
    "라고",
    "에는",
    "에도",
    "이나",
    "인데",
    "이가",
    "의",
    "로",
    "랑",
    "과",
    "와",
    "을",
    "를",
    "이",
    "가",
    "은",
    "는",
    "에",
    "도",
    "만",
    "들",
    "좀",
    "나",
];

/// A Korean word without its particle.
pub(super) fn without_particle(word: &str) -> &str {
    PARTICLES
        .iter()
        .find_map(|particle| word.strip_suffix(particle).filter(|stem| stem.chars().count() >= 2))
        .unwrap_or(word)
}

fn correct_korean(token: &mut Token) {
    let bare = without_particle(&token.text);
    let letters: Vec<char> = token.text.chars().collect();
    // A verb's ending may differ, so the first syllables are tried as well. The nearest wins, then the longest.
    let fronts = (3..letters.len()).rev().map(|length| letters[..length].iter().collect::<String>());
    let forms = [bare.to_owned(), token.text.clone()].into_iter().chain(fronts);
    let mut best: Option<(u32, &'static str)> = None;
    for form in forms {
        if let Some((cost, word)) = spell::closest_korean(&form, LEXICON.korean_targets.iter().copied())
            && best.is_none_or(|(least, _)| cost < least)
        {
            best = Some((cost, word));
        }
    }
    let Some((_, right)) = best else { return };
    let meanings = LEXICON.stems.get(&right.chars().collect::<Vec<_>>()).copied().unwrap_or_default();
    token.corrected = true;
    if meanings.is_empty()
        && let Some(service) = names::service(right)
    {
        token.kind = Kind::Word;
        service.unit.clone_into(&mut token.low);
    }
    token.concepts.merge(meanings);
}
