/**
 * What a model wrote. Never HTML, never images, and a link shows where it leads. Blocks are parsed once: while text
 * streams in, only the last block is parsed again.
 */
import { memo, type ReactNode, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { splitBlocks } from "../lib/blocks";

const schema = {
  ...defaultSchema,
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => !["picture", "source", "input"].includes(name)),
  attributes: { ...defaultSchema.attributes, img: ["alt"] },
  protocols: { href: ["http", "https", "mailto"] },
};

function targetOf(href: string): string {
  try {
    const url = new URL(href);
    return url.protocol === "mailto:" ? url.pathname : `${url.host}${url.pathname === "/" ? "" : url.pathname}`;
  } catch {
    return href;
  }
}

/** Below the chat's own title all headings of an answer are of one level, whatever the model chose. */
function Heading({ children }: { children?: ReactNode }) {
  return <h2>{children}</h2>;
}

/** A number with its unit, a name: breaking it would only make the row taller. */
function isShort(children: ReactNode): boolean {
  return typeof children === "string" && children.length <= 16;
}

const components: Components = {
  a: ({ href, children }) => {
    if (!href || !/^(https?|mailto):/i.test(href)) return <>{children}</>;
    const target = targetOf(href);
    const says = typeof children === "string" && (children === href || children === target);
    return (
      <a
        href={href}
        target="_blank"
        rel="noreferrer noopener nofollow"
        className="text-accent-text underline underline-offset-2"
      >
        {children}
        {!says && <span className="text-muted"> ({target})</span>}
      </a>
    );
  },
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  img: ({ alt }) => <span className="text-muted">[image not shown{alt ? `: ${alt}` : ""}]</span>,
  table: ({ children }) => (
    <div className="answer-table" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  td: ({ children, style }) => (
    <td style={style} className={isShort(children) ? "whitespace-nowrap" : undefined}>
      {children}
    </td>
  ),
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
};

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown
      remarkPlugins={[remarkGfm]}
      rehypePlugins={[[rehypeSanitize, schema]]}
      skipHtml
      components={components}
    >
      {text}
    </ReactMarkdown>
  );
});

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => splitBlocks(text), [text]);
  return (
    <div className="prose-answer">
      {blocks.map((block, index) => (
        <Block key={index} text={block} />
      ))}
    </div>
  );
});
