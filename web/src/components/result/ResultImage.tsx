/** A picture in a result. Its type comes from its bytes, so that nothing but a picture is ever drawn. */
import { Download } from "lucide-react";
import { fromBase64 } from "../../lib/bytes";
import { formatBytes } from "../../lib/format";
import { MAX_PIXELS, type Picture } from "../../lib/image";
import { fileName, saveFile } from "../../lib/save";
import { Button } from "../Button";

export function ResultImage({ picture, label }: { picture: Picture; label: string }) {
  const { type, base64, bytes, width, height } = picture;
  const kind = type.slice("image/".length);
  const facts = `${kind.toUpperCase()}, ${width} × ${height}, ${formatBytes(bytes)}`;
  const tooLarge = width * height > MAX_PIXELS;
  return (
    <figure className="flex flex-col items-start gap-1" data-picture={type}>
      {tooLarge ? (
        <p className="text-13 text-muted">
          A picture of {width} × {height} pixels is too large to draw here.
        </p>
      ) : (
        // The page's policy allows pictures out of data, and nothing else that such an address could hold.
        <img
          src={`data:${type};base64,${base64}`}
          alt={`${label}: ${facts}`}
          width={width}
          height={height}
          decoding="async"
          className="h-auto max-h-[480px] w-auto max-w-full rounded-control border border-line bg-surface object-contain"
        />
      )}
      <figcaption className="flex flex-wrap items-center gap-2 text-12 text-muted">
        {facts}
        <Button
          look="quiet"
          size="small"
          icon={Download}
          onClick={() => saveFile(fileName(label, kind === "jpeg" ? "jpg" : kind), [fromBase64(base64)], type)}
        >
          Download
        </Button>
      </figcaption>
    </figure>
  );
}
