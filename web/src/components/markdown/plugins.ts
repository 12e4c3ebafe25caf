/** Steps between what was written and what is drawn: HTML becomes text, links are judged, nothing stays invisible. */
import type { Element, ElementContent, Nodes, Parents, Root, RootContent, Text } from "hast";
import type { Nodes as MarkdownNodes, Root as MarkdownRoot } from "mdast";
import { mayHide, shownPieces, shownText } from "../../lib/hidden";
import { judgeLink, shorten } from "../../lib/links";

/** HTML in an answer is text like any other: often it is a placeholder (`<node>`), and it is never run. */
export function htmlAsText() {
  const visit = (node: MarkdownNodes): void => {
    if (!("children" in node)) return;
    for (const [index, child] of node.children.entries()) {
      if (child.type === "html") {
        const text = { type: "text", value: child.value } as const;
        const inLine = ["paragraph", "heading", "emphasis", "strong", "delete", "link", "tableCell"].includes(
          node.type,
        );
        node.children[index] = (inLine ? text : { type: "paragraph", children: [text] }) as never;
      } else visit(child);
    }
  };
  return (tree: MarkdownRoot): void => visit(tree);
}

export function textOf(node: Nodes): string {
  if (node.type === "text") return node.value;
  return "children" in node ? node.children.map(textOf).join("") : "";
}

const text = (value: string): Text => ({ type: "text", value });

/** A note of ours within what somebody else wrote. */
function note(value: string): Element {
  return { type: "element", tagName: "span", properties: { className: ["md-note"] }, children: [text(value)] };
}

function eachChild(
  parent: Parents,
  change: (element: Element) => readonly (RootContent | ElementContent)[] | null,
): void {
  const next: (RootContent | ElementContent)[] = [];
  for (const child of parent.children) {
    if (child.type !== "element") {
      next.push(child);
      continue;
    }
    eachChild(child, change);
    next.push(...(change(child) ?? [child]));
  }
  parent.children = next as never;
}

function imageNote({ properties }: Element): string {
  const alt = shorten(String(properties.alt ?? "").trim());
  const judged = judgeLink(String(properties.src ?? ""), "");
  return `[image not shown${alt ? `: ${alt}` : ""}${judged.target ? ` (${judged.target})` : ""}]`;
}

/** Before sanitising: pictures and what can't be a link become text that tells what they named. */
export function namePicturesAndTargets() {
  return (tree: Root): void =>
    eachChild(tree, (element) => {
      if (element.tagName === "img") return [note(imageNote(element))];
      if (element.tagName === "input") return [text(element.properties.checked ? "[x]" : "[ ]")];
      if (element.tagName !== "a") return null;
      const href = String(element.properties.href ?? "");
      const judged = judgeLink(href, textOf(element));
      if (judged.kind === "link") return null;
      // Places within an answer (footnotes) lead nowhere, and need no word.
      if (href === "" || href.startsWith("#")) return element.children;
      return [...element.children, note(` (not a link: ${judged.target})`)];
    });
}

/** After sanitising: what wouldn't show is named where it stands. */
export function nameHidden() {
  const visit = (parent: Parents): void => {
    const next: (RootContent | ElementContent)[] = [];
    for (const child of parent.children) {
      if (child.type === "element") visit(child);
      if (child.type !== "text" || !mayHide(child.value)) {
        next.push(child);
        continue;
      }
      for (const piece of shownPieces(child.value)) {
        next.push(
          piece.hidden
            ? {
                type: "element",
                tagName: "mark",
                properties: { title: piece.title },
                children: [text(piece.text)],
              }
            : text(piece.text),
        );
      }
    }
    parent.children = next as never;
    for (const child of next) {
      if (child.type === "element" && typeof child.properties.title === "string") {
        child.properties.title = shownText(child.properties.title);
      }
    }
  };
  return (tree: Root): void => visit(tree);
}
