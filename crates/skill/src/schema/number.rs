//! Numbers and equality as JSON Schema means them: by value, exactly, whichever way they are written.

use serde_json::{Number, Value};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// A number as digits × 10^exponent, exactly as JSON text shows it. The digits don't end in 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

impl Decimal {
    fn of(number: &Number) -> Self {
        let (negative, mut digits, mut exponent) = if let Some(whole) = number.as_i128() {
            (whole < 0, whole.unsigned_abs(), 0)
        } else {
            shortest(number.as_f64().unwrap_or_default())
        };
        while digits != 0 && digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        if digits == 0 {
            return Self { negative: false, digits, exponent: 0 };
        }
        Self { negative, digits, exponent }
    }

    /// The place of the first digit.
    fn magnitude(self) -> i32 {
        self.exponent + self.digits.checked_ilog10().map_or(0, u32::cast_signed)
    }
}

/// The shortest digits that read back as this float: what `{:e}` prints.
fn shortest(float: f64) -> (bool, u128, i32) {
    let text = format!("{:e}", float.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}").parse().unwrap_or_default();
    let exponent = exponent.parse::<i32>().unwrap_or_default() - fraction.len() as i32;
    (float < 0.0, digits, exponent)
}

/// Compares by value.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (left.as_i128(), right.as_i128()) {
        return left.cmp(&right);
    }
    let (left, right) = (Decimal::of(left), Decimal::of(right));
    let sign = |number: Decimal| match (number.digits, number.negative) {
        (0, _) => 0,
        (_, true) => -1,
        (_, false) => 1,
    };
    sign(left).cmp(&sign(right)).then_with(|| {
        let larger = compare_sizes(left, right);
        if left.negative { larger.reverse() } else { larger }
    })
}

/// Compares two numbers of one sign, without the sign.
fn compare_sizes(left: Decimal, right: Decimal) -> Ordering {
    if left.digits == 0 && right.digits == 0 {
        return Ordering::Equal;
    }
    left.magnitude().cmp(&right.magnitude()).then_with(|| {
        // Of the same magnitude, so that they differ by few enough places: at most 20 digits each.
        let places = left.exponent - right.exponent;
        let scaled = |digits: u128, places: i32| digits * 10_u128.pow(places.max(0).unsigned_abs());
        scaled(left.digits, places).cmp(&scaled(right.digits, -places))
    })
}

/// Whether `number` is a whole multiple of `step`, which is above 0.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    let (number, step) = (Decimal::of(number), Decimal::of(step));
    if number.digits == 0 {
        return true;
    }
    let places = number.exponent - step.exponent;
    if places < 0 {
        // Multiples of `step` end at a place before the one where this number's last digit is, which isn't 0.
        return false;
    }
    // digits × 10^places mod step, without ever making the product. Both factors stay below 2^64.
    let mut rest = number.digits % step.digits;
    for _ in 0..places {
        rest = rest * 10 % step.digits;
        if rest == 0 {
            return true;
        }
    }
    rest == 0
}

/// Whether it has no fraction: `2.0` is an integer.
pub(super) fn is_integer(number: &Number) -> bool {
    Decimal::of(number).exponent >= 0
}

/// Whether two values are the same: numbers by value, objects whatever the order of their keys.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right) == Ordering::Equal,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| equal(value, other)))
        }
        (left, right) => left == right,
    }
}

/// A text that is the same for all values that are [`equal`], and for no others.
pub(super) fn fingerprint(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push('n'),
        Value::Bool(flag) => text.push(if *flag { 't' } else { 'f' }),
        Value::Number(number) => {
            let Decimal { negative, digits, exponent } = Decimal::of(number);
            let sign = if negative { "-" } else { "" };
            // Writing to a string can't fail.
            let _ = write!(text, "{sign}{digits}e{exponent}");
        }
        Value::String(string) => {
            let _ = write!(text, "{string:?}");
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            model::order::sort_by(&mut sorted, |one, other| one.0.cmp(other.0));
            text.push('{');
            for (key, value) in sorted {
                let _ = write!(text, "{key:?}:");
                write(value, text);
                text.push(',');
            }
            text.push('}');
        }
    }
}
