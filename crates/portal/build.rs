//! The folder of the pages has to be there when this crate is compiled: rust-embed remembers its true path then, and a
//! debug build that was made first would never find the pages that are built afterwards.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = std::fs::create_dir_all("../../web/dist") {
        println!("cargo::warning=web/dist cannot be made, so this build finds no pages: {error}");
    }
}
