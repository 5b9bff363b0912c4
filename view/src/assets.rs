//! The files of the page, as they were built by `view/web`. They hold no data, so they need no token.

use std::{collections::BTreeMap, io::Write};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

/// Each file with its media type.
const FILES: &[(&str, &str, &[u8])] = &[
    ("index.html", "text/html; charset=utf-8", include_bytes!("../web/dist/index.html")),
    ("app.js", "text/javascript; charset=utf-8", include_bytes!("../web/dist/app.js")),
    ("app.css", "text/css; charset=utf-8", include_bytes!("../web/dist/app.css")),
    ("points.js", "text/javascript; charset=utf-8", include_bytes!("../web/dist/points.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("../web/dist/icon.svg")),
];

/// A file of the page.
#[derive(Clone, Debug)]
pub(crate) struct Asset {
    pub(crate) media_type: &'static str,
    /// Compressed by gzip, which every browser takes.
    pub(crate) gzipped: Bytes,
}

/// Compresses all files, by path.
pub(crate) fn assets() -> BTreeMap<String, Asset> {
    let asset = |(name, media_type, bytes): &(&str, &'static str, &[u8])| {
        let path = if *name == "index.html" { "/".to_owned() } else { format!("/{name}") };
        (path, Asset { media_type, gzipped: gzipped(bytes) })
    };
    FILES.iter().map(asset).collect()
}

fn gzipped(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default().into()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use std::{fs, path::Path};

    use sha2::{Digest, Sha256};

    use super::*;

    fn web() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/web"))
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_page_is_small_and_every_file_of_it_is_served() {
        let mut expected: Vec<String> = FILES.iter().map(|(name, ..)| (*name).to_owned()).chain(["SOURCES".to_owned()]).collect();
        expected.sort();
        assert_eq!(names(&web().join("dist")), expected);
        let bytes: usize = assets().values().map(|asset| asset.gzipped.len()).sum();
        assert!(bytes <= 300_000, "{bytes} bytes, compressed");
    }

    /// `view/web/stamp.mjs` writes the same hash after a build.
    #[test]
    fn the_page_is_built_from_its_sources() {
        let mut files: Vec<String> =
            ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"].map(str::to_owned).into();
        files.extend(names(&web().join("src")).into_iter().map(|name| format!("src/{name}")));
        files.extend(names(&web().join("public")).into_iter().map(|name| format!("public/{name}")));
        files.sort();
        let mut hash = Sha256::new();
        for file in files {
            let bytes = fs::read(web().join(&file)).unwrap();
            hash.update(format!("{file}\n{}\n", bytes.len()));
            hash.update(bytes);
        }
        let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let stamp = fs::read_to_string(web().join("dist/SOURCES")).unwrap();
        assert_eq!(stamp.trim(), found, "view/web/dist is stale: run `npm ci && npm run build` in view/web");
    }

    #[test]
    fn the_page_has_no_inline_script_or_style() {
        let html = fs::read_to_string(web().join("dist/index.html")).unwrap();
        assert!(!html.contains("<style") && !html.contains("style=") && !html.contains("javascript:"), "{html}");
        assert!(
            html.match_indices("<script").all(|(place, _)| html[place..].split('>').next().unwrap().contains("src=")),
            "{html}"
        );
        for file in names(&web().join("src")) {
            assert!(!fs::read_to_string(web().join("src").join(&file)).unwrap().contains("{@html"), "{file}");
        }
    }
}
