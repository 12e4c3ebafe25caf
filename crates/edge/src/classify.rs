//! `steadyhand-edge bash classify`: what bash commands may do, without running them.

use crate::EdgeError;
use std::io::{BufRead, Read as _, Write};

/// The longest line that is read, in bytes: a command of the greatest length with every byte escaped.
const MAX_LINE: u64 = 6 * shellclass::MAX_BYTES as u64 + 1024;

/// Prints the verdict on each of `commands`, or on each line of `input`, as one JSON object a line.
///
/// # Errors
///
/// Fails on a line that is no JSON string, with its number, and when input or output do.
pub fn run(
    commands: &[String],
    input: Option<impl BufRead>,
    mut output: impl Write,
) -> Result<(), EdgeError> {
    for command in commands {
        print(command, &mut output)?;
    }
    let Some(mut input) = input else { return Ok(()) };
    let mut number = 0;
    loop {
        let mut line = Vec::new();
        number += 1;
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(EdgeError::Classify)?;
        if read == 0 {
            return Ok(());
        }
        let wrong =
            |why: String| EdgeError::Classify(std::io::Error::new(std::io::ErrorKind::InvalidData, why));
        if line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE {
            return Err(wrong(format!("line {number} is longer than {MAX_LINE} bytes")));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let command: String = serde_json::from_slice(&line).map_err(|error| {
            wrong(format!("line {number} must be a JSON string such as \"ls -l\": {error}"))
        })?;
        print(&command, &mut output)?;
    }
}

fn print(command: &str, output: &mut impl Write) -> Result<(), EdgeError> {
    let verdict = serde_json::to_string(&shellclass::classify(command))
        .map_err(|error| EdgeError::Classify(error.into()))?;
    writeln!(output, "{verdict}").map_err(EdgeError::Classify)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_answered_by_one_json_object() {
        let mut output = Vec::new();
        run(&[], Some("\"ls -l\"\n\n\"rm x\"\n".as_bytes()), &mut output).unwrap();

        let lines: Vec<serde_json::Value> = String::from_utf8(output)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["class"], "safe");
        assert_eq!(lines[1]["class"], "mutating");
        assert_eq!(lines[1]["reasons"][0]["end"], 4);
    }

    #[test]
    fn a_line_that_is_no_json_string_is_named() {
        let error = run(&[], Some("\"ls\"\nls\n".as_bytes()), Vec::new()).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
