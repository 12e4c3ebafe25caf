//! Compiles the protocol in Rust: no `protoc` is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo:rerun-if-changed={}", root.display());
    let files = ["steadyhand/v1/enrollment.proto", "steadyhand/v1/edge.proto"];
    let descriptors = protox::compile(files, [&root])?;
    tonic_prost_build::configure()
        // Results travel without being copied: a chunk is a slice of the message that it came in.
        .bytes(".steadyhand.v1.ExecuteEvent")
        .bytes(".steadyhand.v1.OutcomeResponse")
        .bytes(".steadyhand.v1.LocalCall")
        .compile_fds(descriptors)?;
    Ok(())
}
