// Files that make reading hard: those that block, that never end, that have no line breaks, and that change meanwhile.
import assert from "node:assert/strict";

/// The most that any of these may take.
const QUICK_MS = 10_000;

/// What unpacking the longest line may take. Built without optimisation it is slow.
const UNPACKED_MS = 30_000;

/// Memory that the agent may map while it reads the longest line: less than the line has.
const ADDRESS_SPACE = 400_000_000;

export async function odd(host, { check }) {
  const run = (key, params, options, limit = QUICK_MS) => {
    const report = host.skill(key, params, options);
    assert.ok((report.duration_ms ?? 0) < limit, `${key} ${JSON.stringify(params)} took ${report.duration_ms} ms`);
    return report;
  };
  const good = (...call) => {
    const [key, params] = call;
    const report = run(...call);
    assert.equal(report.state, "succeeded", `${key} ${JSON.stringify(params)}: ${JSON.stringify(report).slice(0, 500)}`);
    return report.result;
  };
  host.shell("mkdir -p /srv/odd");

  await check("FIFOs, sockets, devices and folders are told, and never opened to be read", () => {
    host.shell(`cd /srv/odd
      mkfifo fifo
      perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) && bind(S, sockaddr_un("socket")) or die'
      mknod device c 1 5
      ln -sf fifo link; mkdir -p folder`);
    for (const [path, words] of [["/srv/odd/fifo", /a FIFO/], ["/srv/odd/link", /a FIFO/], ["/srv/odd/socket", /a socket/], ["/srv/odd/device", /a device/], ["/dev/zero", /devices/], ["/srv/odd/folder", /a folder/]]) {
      for (const key of ["read_file", "tail_file"]) {
        const report = run(key, { path });
        assert.match(`${report.error_kind}`, /refused|invalid/, path);
        assert.match(report.error, words, path);
      }
    }
    const kinds = good("host_files", { action: "list", paths: '["/srv/odd"]' });
    assert.equal(kinds.paths[0].entries.length, 5, JSON.stringify(kinds));
    // Files of the kernel that wait for their next line are closed, by any name.
    for (const path of ["/proc/kmsg", "/proc/1/mem", "/proc/self/environ", "/dev/kmsg"]) {
      assert.notEqual(run("read_file", { path }).state, "succeeded", path);
    }
    // Nor may they be written to.
    for (const path of ["/srv/odd/fifo", "/srv/odd/socket", "/srv/odd/folder"]) {
      assert.notEqual(run("write_file", { path, content: "x" }).state, "succeeded", path);
    }
  });
  await check("a sparse file is told with what it takes, and read where something is", () => {
    host.shell("truncate -s 100G /srv/odd/sparse && printf '\\nthe end\\n' >>/srv/odd/sparse");
    const { entries } = good("host_files", { action: "du", paths: '["/srv/odd"]' }).paths[0];
    assert.ok((entries ?? []).every((entry) => entry.disk_bytes < 1024 * 1024), JSON.stringify(entries));
    const { lines, cut_lines } = good("tail_file", { path: "/srv/odd/sparse", lines: 2 });
    assert.deepEqual([lines[1], cut_lines], ["the end", 1]);
    assert.match(lines[0], /^\[cut, the line begins further back…\] \[\d+ NUL bytes\]/);
    const piece = good("read_file", { path: "/srv/odd/sparse", offset: 100 * 1024 ** 3 + 1, limit: 100 });
    assert.deepEqual([piece.content, piece.end], ["the end\n", true]);
    host.shell("rm /srv/odd/sparse");
  });
  await check("a line of 500 MB is cut and marked, without being held in memory", () => {
    host.shell("{ echo before; head -c 500000000 /dev/zero | tr '\\\\0' x; echo; echo after; } >/srv/odd/long");
    const as = ["prlimit", `--as=${ADDRESS_SPACE}`];
    const all = good("tail_file", { path: "/srv/odd/long", lines: 10 }, { as });
    assert.equal(all.lines.at(-1), "after");
    assert.equal(all.cut_lines, 1);
    assert.ok(all.lines.join("").length < 2 * 1024 * 1024);
    const found = good("tail_file", { path: "/srv/odd/long", grep: "^after" }, { as });
    assert.deepEqual(found.lines, ["after"]);
    host.shell("truncate -s -7 /srv/odd/long");
    const unfinished = good("tail_file", { path: "/srv/odd/long", lines: 1 }, { as });
    assert.deepEqual([unfinished.unfinished, unfinished.cut_lines], [true, 1]);
    host.shell("gzip -1 </srv/odd/long >/srv/odd/packed.1.gz; rm /srv/odd/long; echo now >/srv/odd/packed");
    // Packed it is half a megabyte, and must not become 500 either.
    const packed = good("tail_file", { path: "/srv/odd/packed", lines: 5 }, { as }, UNPACKED_MS);
    assert.equal(packed.lines.at(-1), "now");
    host.shell("rm /srv/odd/packed*");
  });
  await check("a file that grows all the time is read as it was, in whole lines", () => {
    host.shell("echo 'line 0 of a program that never stops talking' >/srv/odd/grows");
    host.must("systemd-run", "--quiet", "--unit=steady-grows", "perl", "-MIO::Handle", "-e",
      'open(my $log, ">>", "/srv/odd/grows"); $log->autoflush(1); print $log "line $_ of a program that never stops talking\n" for 1 .. 20_000_000');
    const sizes = [];
    try {
      for (let round = 0; round < 5; round += 1) {
        const { lines, size } = good("tail_file", { path: "/srv/odd/grows", lines: 50 });
        sizes.push(size);
        assert.ok(lines.slice(0, -1).every((line) => /^line \d+ of a program that never stops talking$/.test(line)), JSON.stringify(lines));
        const numbers = lines.slice(0, -1).map((line) => Number(line.split(" ")[1]));
        assert.ok(numbers.every((number, index) => index === 0 || number === numbers[index - 1] + 1), JSON.stringify(numbers));
      }
    } finally {
      host.inside("systemctl", "stop", "steady-grows");
    }
    assert.ok(sizes.at(-1) > sizes[0], `it grew meanwhile: ${sizes}`);
    host.shell("rm /srv/odd/grows");
  });
  await check("rotated files follow each other, packed ones too; a damaged one is told", () => {
    host.shell(`cd /srv/odd
      seq -f 'line %g' 1 10 | gzip >app.log.3.gz
      seq -f 'line %g' 11 20 | gzip >app.log.2.gz
      seq -f 'line %g' 21 30 >app.log.1
      seq -f 'line %g' 31 35 >app.log; printf 'line 36' >>app.log`);
    const whole = good("tail_file", { path: "/srv/odd/app.log", lines: 100 });
    assert.deepEqual(whole.lines, Array.from({ length: 36 }, (_, index) => `line ${index + 1}`));
    assert.deepEqual(whole.rotated, ["/srv/odd/app.log.1", "/srv/odd/app.log.2.gz", "/srv/odd/app.log.3.gz"]);
    assert.equal(whole.unfinished, true);
    assert.equal(good("tail_file", { path: "/srv/odd/app.log", lines: 6 }).rotated, undefined);
    host.shell("cd /srv/odd && truncate -s 20 app.log.2.gz");
    const damaged = good("tail_file", { path: "/srv/odd/app.log", lines: 100 });
    assert.deepEqual(damaged.lines.slice(-16), Array.from({ length: 16 }, (_, index) => `line ${index + 21}`));
    assert.match((damaged.notes ?? []).join(" "), /app\.log\.2\.gz/);
    // Emptied in place, as copytruncate does.
    host.shell("cd /srv/odd && cp app.log app.log.1 && : >app.log && echo fresh >>app.log");
    assert.deepEqual(good("tail_file", { path: "/srv/odd/app.log", lines: 3 }).lines, ["line 35", "line 36", "fresh"]);
  });
  await check("bytes that are no text, NULs and no last line break are read, and told", () => {
    host.shell("printf 'good\\nbad \\377\\376 bytes\\nnul \\000 here\\nlast' >/srv/odd/bytes");
    const { lines, invalid_utf8, unfinished } = good("tail_file", { path: "/srv/odd/bytes" });
    assert.deepEqual([lines[0], lines[1], lines.at(-1)], ["good", "bad \uFFFD\uFFFD bytes", "last"]);
    assert.deepEqual([invalid_utf8, unfinished, lines.length], [true, true, 4]);
    const piece = good("read_file", { path: "/srv/odd/bytes" });
    assert.equal(piece.encoding, "base64");
    assert.equal(Buffer.from(piece.content, "base64").toString("latin1"), "good\nbad \xff\xfe bytes\nnul \x00 here\nlast");
  });
  await check("secrets are closed by every name that leads to them", () => {
    host.shell("cd /srv/odd && ln -sf /etc/shadow by-link && ln -f /etc/shadow by-hard-link && touch by-mount && mount --bind /etc/shadow by-mount");
    try {
      for (const path of ["/etc/shadow", "/srv/odd/by-link", "/srv/odd/by-hard-link", "/srv/odd/by-mount", "/proc/self/root/etc/shadow", "/proc/1/environ", "/srv/odd/../../etc/shadow"]) {
        for (const key of ["read_file", "tail_file"]) assert.notEqual(run(key, { path }).state, "succeeded", path);
      }
    } finally {
      host.must("umount", "/srv/odd/by-mount");
    }
  });
  host.shell("rm -rf /srv/odd");
}
