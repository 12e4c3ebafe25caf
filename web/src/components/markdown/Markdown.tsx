/**
 * What a model wrote. Never HTML, never pictures, and a link shows where it leads. Blocks are parsed once: while text
 * streams in, only the last block is parsed again, and a fence not even that.
 */
import { memo, type ReactNode, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { extendSplit, openFence, type Split } from "../../lib/blocks";
import { judgeLink } from "../../lib/links";
import { CopyButton } from "../Copy";
import { HiddenMark, Shown } from "../Shown";
import { htmlAsText, nameHidden, namePicturesAndTargets, textOf } from "./plugins";

const schema = {
  ...defaultSchema,
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => !["img", "picture", "source", "input"].includes(name)),
  attributes: {
    ...defaultSchema.attributes,
    a: ["href"],
    img: [],
    span: [["className", "md-note"] as [string, string]],
  },
  protocols: { href: ["http", "https", "mailto"] },
};

/** Below the chat's own title all headings of an answer are of one level, whatever the model chose. */
function Heading({ children }: { children?: ReactNode }) {
  return <h2>{children}</h2>;
}

/** A number with its unit, a name: breaking it would only make the row taller. */
function isShort(children: ReactNode): boolean {
  return typeof children === "string" && children.length <= 16;
}

function CodeBlock({ text, children }: { text: string; children: ReactNode }) {
  return (
    <div className="answer-code group/code">
      <pre tabIndex={0}>{children}</pre>
      <div className="absolute top-1 right-1 rounded-control bg-surface opacity-0 group-focus-within/code:opacity-100 group-hover/code:opacity-100 max-md:opacity-100">
        <CopyButton text={text} label="Copy the code" tipSide="left" className="size-7" />
      </div>
    </div>
  );
}

const components: Components = {
  a: ({ node, href, children }) => {
    const judged = judgeLink(href ?? "", node ? textOf(node) : "");
    if (judged.kind === "none") return <>{children}</>;
    return (
      <span data-link-warning={judged.warning ? "" : undefined}>
        <a
          href={judged.href}
          target="_blank"
          rel="noreferrer noopener nofollow"
          title={judged.href}
          className="text-accent-text underline underline-offset-2"
        >
          {children}
        </a>
        {(!judged.said || judged.warning) && (
          <span className={judged.warning ? "text-mutating" : "text-muted"}>
            {" "}
            (<span translate="no">{judged.target}</span>
            {judged.warning && <>: {judged.warning}</>})
          </span>
        )}
      </span>
    );
  },
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  mark: ({ title, children }) => <HiddenMark title={title}>{children}</HiddenMark>,
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
  pre: ({ node, children }) => <CodeBlock text={node ? textOf(node) : ""}>{children}</CodeBlock>,
};

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown
      remarkPlugins={[remarkGfm, htmlAsText]}
      rehypePlugins={[namePicturesAndTargets, [rehypeSanitize, schema], nameHidden]}
      components={components}
    >
      {text}
    </ReactMarkdown>
  );
});

/** A fence that grows: its text is known without parsing. */
function OpenFence({ code }: { code: string }) {
  return (
    <CodeBlock text={code}>
      <code>
        <Shown text={code} />
      </code>
    </CodeBlock>
  );
}

interface MarkdownProps {
  text: string;
  /** More will come. */
  streaming?: boolean;
}

export const Markdown = memo(function Markdown({ text, streaming = false }: MarkdownProps) {
  const before = useRef<Split | null>(null);
  const split = extendSplit(before.current, text);
  before.current = split;
  return (
    <div className="prose-answer">
      {split.blocks.map((block, index) => {
        const fence = streaming && split.open && index === split.blocks.length - 1 ? openFence(block) : null;
        return (
          <div key={index} data-block className="contents">
            {fence ? <OpenFence code={fence.code} /> : <Block text={block} />}
          </div>
        );
      })}
    </div>
  );
});
