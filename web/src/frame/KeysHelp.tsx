import { Dialog } from "../components/Dialog";
import { PLACES } from "./navigation";

const KEYS: [string[], string][] = [
  [["⌘", "K"], "Search pages, hosts, chats, skills, actions (Ctrl K)"],
  [["/"], "Go to the filter or the composer"],
  [["j"], "Next row"],
  [["k"], "Previous row"],
  [["Enter"], "Open the row; send the message"],
  [["Shift", "Enter"], "Break the line in the composer"],
  [["a"], "Allow once, on a card that has the focus"],
  [["d"], "Deny, on a card that has the focus"],
  [["n"], "New chat"],
  [["Esc"], "Close what is open"],
  [["?"], "Show these keys"],
];

export function KeysHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  const rows: [string[], string][] = [
    ...KEYS,
    ...PLACES.map((place): [string[], string] => [["g", place.key], `Go to ${place.name}`]),
  ];
  return (
    <Dialog open={open} onClose={onClose} title="Keys">
      <table className="w-full text-13">
        <tbody>
          {rows.map(([keys, what]) => (
            <tr key={what}>
              <td className="w-32 py-1 whitespace-nowrap">
                {keys.map((key) => (
                  <kbd
                    key={key}
                    className="mr-1 inline-flex h-5 min-w-5 items-center justify-center rounded-control border border-line bg-raised px-1.5 font-sans text-12"
                  >
                    {key}
                  </kbd>
                ))}
              </td>
              <td className="py-1 text-muted">{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
