//! The console's folder must exist when this crate is compiled. Where nobody built it, a page says how to.

use std::fs;
use std::path::Path;

const PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Steadyhand</title></head>\n\
    <body>\n<h1>The console isn't built into this binary</h1>\n\
    <p>Build it and then the manager: <code>./x build</code>, or <code>npm ci &amp;&amp; npm run build</code> in \
    <code>web/</code> and <code>cargo build</code>. The API under <code>/api/v1</code> works without it.</p>\n\
    </body>\n</html>\n";

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    if !folder.join("index.html").exists() {
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("index.html"), PAGE)?;
    }
    println!("cargo:rerun-if-changed={}", folder.display());
    Ok(())
}
