# Reads one JSON value from standard input and writes its texts, numbers, true, false and null, one to a line, as
#   path<TAB>value
# with a path such as .params.name or .items[0]. In values, a backslash, a tab and a line feed are written \\, \t and
# \n, so that a line stays a line. Ends with 64 on anything that is no JSON. Works with mawk, gawk and busybox.

function fail(what) { print "the request is no JSON: " what > "/dev/stderr"; failed = 1; exit 64 }

function blanks() { while (substr(text, at, 1) ~ /^[ \t\r\n]$/) at++ }

function code(digits,   number, place) {
  if (digits !~ /^[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]$/) fail("\\u" digits)
  number = 0
  for (place = 1; place <= 4; place++)
    number = number * 16 + index("0123456789abcdef", tolower(substr(digits, place, 1))) - 1
  return number
}

# UTF-8 of one character, byte by byte.
function utf8(number) {
  if (number == 0) fail("\\u0000")
  if (number < 128) return sprintf("%c", number)
  if (number < 2048) return byte(192 + int(number / 64)) byte(128 + number % 64)
  if (number < 65536) return byte(224 + int(number / 4096)) byte(128 + int(number / 64) % 64) byte(128 + number % 64)
  return byte(240 + int(number / 262144)) byte(128 + int(number / 4096) % 64) byte(128 + int(number / 64) % 64) byte(128 + number % 64)
}

function byte(number) { return sprintf("%c", number) }

function word(   start, out, piece, high) {
  out = ""
  at++
  for (;;) {
    if (!match(substr(text, at), /^[^"\\]*/)) fail("a text")
    out = out substr(text, at, RLENGTH)
    at += RLENGTH
    piece = substr(text, at, 1)
    if (piece == "\"") { at++; return out }
    if (piece == "") fail("a text without an end")
    piece = substr(text, at + 1, 1)
    at += 2
    if (piece == "u") {
      high = code(substr(text, at, 4))
      at += 4
      if (high >= 55296 && high < 56320 && substr(text, at, 2) == "\\u") {
        high = 65536 + (high - 55296) * 1024 + code(substr(text, at + 2, 4)) - 56320
        at += 6
      }
      out = out utf8(high)
    }
    else if (piece == "n") out = out "\n"
    else if (piece == "t") out = out "\t"
    else if (piece == "r") out = out "\r"
    else if (piece == "b") out = out "\b"
    else if (piece == "f") out = out "\f"
    else if (piece == "\"" || piece == "\\" || piece == "/") out = out piece
    else fail("\\" piece)
  }
}

function line(path, value) {
  print path "\t" swap(swap(swap(value, "\\", "\\\\"), "\t", "\\t"), "\n", "\\n")
}

# Replaces without the replacement rules of gsub, which differ from awk to awk.
function swap(text, old, new,   at, out) {
  out = ""
  while ((at = index(text, old)) > 0) {
    out = out substr(text, 1, at - 1) new
    text = substr(text, at + length(old))
  }
  return out text
}

function value(path, depth,   piece, name, number) {
  if (depth > 64) fail("too deep")
  blanks()
  piece = substr(text, at, 1)
  if (piece == "{") {
    at++
    blanks()
    if (substr(text, at, 1) == "}") { at++; return }
    for (;;) {
      blanks()
      if (substr(text, at, 1) != "\"") fail("a name")
      name = word()
      blanks()
      if (substr(text, at, 1) != ":") fail("a colon")
      at++
      value(path "." name, depth + 1)
      blanks()
      piece = substr(text, at++, 1)
      if (piece == "}") return
      if (piece != ",") fail("a comma")
    }
  }
  if (piece == "[") {
    at++
    blanks()
    if (substr(text, at, 1) == "]") { at++; return }
    for (number = 0; ; number++) {
      value(path "[" number "]", depth + 1)
      blanks()
      piece = substr(text, at++, 1)
      if (piece == "]") return
      if (piece != ",") fail("a comma")
    }
  }
  if (piece == "\"") { line(path, word()); return }
  if (match(substr(text, at), /^(true|false|null|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?)/)) {
    line(path, substr(text, at, RLENGTH))
    at += RLENGTH
    return
  }
  fail("`" substr(text, at, 20) "`")
}

{ text = text $0 "\n" }

END {
  if (failed) exit 64
  at = 1
  value("", 0)
  blanks()
  if (at <= length(text)) fail("more than one value")
}
