# Sourced by `run`: reads the request, and makes JSON. The same file is in every pack.

request=$(LC_ALL=C awk -f "$here/lib/json.awk") || exit 64

# One parameter as it was sent; empty if it wasn't.
param() {
  printf '%b' "$(printf '%s\n' "$request" | LC_ALL=C awk -F '\t' -v path=".params.$1" '$1 == path { print $2; exit }')"
}

# Standard input as one JSON text.
quoted() {
  LC_ALL=C awk '
    function swap(text, old, new,   at, out) {
      out = ""
      while ((at = index(text, old)) > 0) {
        out = out substr(text, 1, at - 1) new
        text = substr(text, at + length(old))
      }
      return out text
    }
    BEGIN { printf "\"" }
    {
      text = swap(swap(swap($0, "\\", "\\\\"), "\"", "\\\""), "\t", "\\t")
      gsub(/[\001-\037\177]/, "?", text)
      printf "%s%s", (NR > 1 ? "\\n" : ""), text
    }
    END { printf "\"" }'
}

die() {
  code=$1
  shift
  printf '%s\n' "$*" >&2
  exit "$code"
}

# Ends with 69 where a program isn't there.
need() {
  command -v "$1" >/dev/null 2>&1 || die 69 "the program $1 is not installed"
}

skill=$(printf '%s\n' "$request" | LC_ALL=C awk -F '\t' '$1 == ".skill" { print $2; exit }')
