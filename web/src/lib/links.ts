/**
 * What becomes of a link that a model, a tool or a page wrote: where it really leads, and whether it claims to lead
 * elsewhere. Only the web and mail can be links. Pure.
 */
import { isHiddenCharacter } from "./hidden";

export type Judged =
  | {
      kind: "link";
      /** The address as the browser understands it, and the only one that is put into the page. */
      href: string;
      /** Where it leads, in ASCII: host and path, or the mail's address. */
      target: string;
      /** The text says the same already. */
      said: boolean;
      /** Why somebody should look twice. */
      warning: string | null;
    }
  /** It is no link; `target` is what it named. */
  | { kind: "none"; target: string };

const LONGEST = 80;
const SPACE = /[\p{Cc}\p{Z}]+/gu;

export function shorten(text: string, longest = LONGEST): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

function parse(href: string): URL | null {
  try {
    return new URL(href);
  } catch {
    return null;
  }
}

export function judgeLink(href: string, text: string): Judged {
  const url = parse(href);
  if (url?.protocol === "mailto:") return mail(url, text);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "") {
    return { kind: "none", target: shorten(href) };
  }
  const path = `${url.pathname === "/" ? "" : url.pathname}${url.search}${url.hash}`;
  const target = shorten(`${url.host}${path}`);
  const said = [url.href, url.href.replace(/\/$/, ""), `${url.host}${path}`].includes(text.trim());
  return { kind: "link", href: url.href, target, said, warning: warningFor(url, text) };
}

function mail(url: URL, text: string): Judged {
  let target = url.pathname;
  try {
    target = decodeURIComponent(url.pathname);
  } catch {
    // Half an escape: it is shown as it came.
  }
  const fields = [...new Set([...url.searchParams.keys()].map((each) => each.toLowerCase()))];
  const said = text.trim() === target && fields.length === 0;
  const warning = fields.length > 0 ? `fills in ${shorten(fields.join(", "))}` : null;
  return { kind: "link", href: url.href, target: shorten(target), said, warning };
}

function warningFor(url: URL, text: string): string | null {
  const named = hostsIn(text).find((host) => !sameHost(host, url.hostname));
  if (named !== undefined) return `not ${shorten(named, 60)}`;
  if (url.username !== "" || url.password !== "") return "what stands before the @ is no host";
  if (/(^|\.)xn--/.test(url.hostname)) return "a name with letters of other alphabets";
  return null;
}

function sameHost(a: string, b: string): boolean {
  const bare = (host: string) => host.replace(/^www\./, "").replace(/\.$/, "");
  return bare(a) === bare(b);
}

/** Ends of names that are ends of files as well, and as such need no warning. */
const FILES = /\.(cc|cs|gz|js|md|pl|pm|ps|py|rb|rs|sc|sh|so|st|ts|vi)$/i;
const GENERIC = /\.(com|org|net|edu|gov|mil|int|info|biz|io|dev|app|cloud|bank|example|test|local|internal|[a-z]{2})$/i;

/** Hosts that a text names: in addresses anywhere in it, or as the whole of it. In ASCII. */
export function hostsIn(text: string): string[] {
  const found: string[] = [];
  const visible = [...text]
    .filter((character) => /\s/.test(character) || !isHiddenCharacter(character))
    .join("")
    .replace(SPACE, " ")
    .trim();
  for (const match of visible.matchAll(/(?:https?|ftp):\/{1,3}([^\s<>"'`\\]+)/gi)) {
    const url = parse(`http://${match[1]}`);
    if (url?.hostname) found.push(url.hostname);
  }
  if (found.length > 0) return found;
  const whole =
    /^(?:[^\s/@]+@)?((?:[\p{L}\p{N}\p{M}_-]+[.。．｡])+[\p{L}\p{N}\p{M}-]{2,})\.?(?::\d{1,5})?(\/\S*)?$/u.exec(visible);
  const host = whole?.[1] ? parse(`http://${whole[1]}`)?.hostname : undefined;
  if (!host) return [];
  const surely = /^www\./i.test(host) || whole?.[2] !== undefined || /xn--/.test(host);
  return surely || (GENERIC.test(host) && !FILES.test(host)) ? [host] : [];
}
