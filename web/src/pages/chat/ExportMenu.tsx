/** Saves the chat as a file, made of what this browser has of it. */
import { Braces, Download, FileText } from "lucide-react";
import { IconButton } from "../../components/Button";
import { MenuItem, Popover } from "../../components/Popover";
import { conversations } from "../../events/conversations";
import { chatAsJson, chatAsMarkdown } from "../../lib/export-chat";
import { fileName, saveFile } from "../../lib/save";

export function ExportMenu({ sessionId, title }: { sessionId: string; title: string }) {
  const chat = () => ({
    id: sessionId,
    title,
    conversation: conversations.get(sessionId).conversation,
    at: new Date().toISOString(),
  });
  return (
    <Popover
      label="Save this chat"
      button={(button) => <IconButton {...button} icon={Download} label="Save this chat" tip={false} />}
    >
      <MenuItem
        icon={<FileText aria-hidden size={14} />}
        onSelect={() => saveFile(fileName(title, "md"), [chatAsMarkdown(chat())], "text/markdown;charset=utf-8")}
      >
        As Markdown
      </MenuItem>
      <MenuItem
        icon={<Braces aria-hidden size={14} />}
        onSelect={() => saveFile(fileName(title, "json"), [chatAsJson(chat())], "application/json")}
      >
        As JSON
      </MenuItem>
    </Popover>
  );
}
