//! Which names of keys, variables and options say that their value is a secret.

/// Whether the value under this name is a secret: `DB_PASSWORD`, `apiKey`, `client-secret`, `token`. Names that only
/// speak of secrets (`password_file`, `max_tokens`, `token_type`) are not.
pub(super) fn is_sensitive_name(name: &str) -> bool {
    let words = words_of(name);
    let Some(last) = words.last() else { return false };
    let before = words.len().checked_sub(2).and_then(|index| words.get(index)).map(String::as_str);
    const ALONE: &[&str] = &[
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "passphrase",
        "passwd",
        "password",
        "pwd",
        "secret",
        "secrets",
        "passcode",
    ];
    const ENDINGS: &[&str] = &[
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "secretkey",
        "accesskey",
        "privatekey",
    ];
    const KEYS: &[&str] = &[
        "access",
        "account",
        "api",
        "auth",
        "app",
        "client",
        "deploy",
        "encryption",
        "license",
        "master",
        "private",
        "secret",
        "shared",
        "signing",
        "storage",
        "webhook",
    ];
    ALONE.contains(&last.as_str())
        || ENDINGS.iter().any(|ending| last.ends_with(ending))
        || (last == "pass" && before.is_some())
        || (last == "key" && before.is_some_and(|word| KEYS.contains(&word)))
}

/// Whether this is where a process works rather than a password: `PWD=/root`.
pub(super) fn is_working_directory(name: &str, value: &str) -> bool {
    value.starts_with('/') && (name.eq_ignore_ascii_case("pwd") || name.eq_ignore_ascii_case("oldpwd"))
}

/// The words of a name, in lower case: split at everything that is no letter or digit and where camel case begins a
/// word; digits at the end of a word dropped.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut current = String::new();
    let mut after_lower = false;
    for character in name.chars() {
        if !character.is_ascii_alphanumeric() {
            finish(&mut words, &mut current);
            after_lower = false;
            continue;
        }
        if character.is_ascii_uppercase() && after_lower {
            finish(&mut words, &mut current);
        }
        after_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
        current.push(character.to_ascii_lowercase());
    }
    finish(&mut words, &mut current);
    words
}

fn finish(words: &mut Vec<String>, current: &mut String) {
    let word = current.trim_end_matches(|character: char| character.is_ascii_digit());
    if !word.is_empty() {
        words.push(word.to_owned());
    }
    current.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_and_names_about_secrets_are_not() {
        for name in [
            "password",
            "DB_PASSWORD",
            "db.password",
            "PGPASSWORD",
            "passwd",
            "dbPass",
            "smtp_pass",
            "client-secret",
            "clientSecret",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "APIKEY",
            "access_token",
            "accessToken",
            "token",
            "aws_secret_access_key",
            "AccountKey",
            "private_key",
            "Authorization",
            "Set-Cookie",
            "password2",
            "MYSQL_ROOT_PASSWORD",
            "credentials",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            assert!(is_sensitive_name(name), "{name}");
        }
        for name in [
            "password_file",
            "max_tokens",
            "token_type",
            "tokens",
            "keyboard",
            "key",
            "pass",
            "bypass",
            "compass",
            "secretary",
            "public_key",
            "primary_key",
            "args_digest",
            "name",
            "",
            "passed",
            "secret_name",
        ] {
            assert!(!is_sensitive_name(name), "{name}");
        }
    }
}
