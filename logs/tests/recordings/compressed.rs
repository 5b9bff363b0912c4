//! Recordings that rosbag2 compressed: whole files, and each message.

use tetrys_logs::{Ingested, LogSource, OpenOptions, info};

use crate::{
    bags::{ids, imported_by},
    rows::{STAMPED, stamped, topic},
    writing::{Message, Parts, Topic, write},
};

const RECIPE: &str = "[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"stamp\"\n";

fn messages() -> Vec<Message> {
    (1..300).map(|id| stamped(0, 100 + u64::from(id), id, i64::from(id))).collect()
}

async fn imported(path: &std::path::Path, strict: bool) -> tetrys::Result<Ingested> {
    imported_by(RECIPE, path, OpenOptions { strict, ..OpenOptions::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_file_has_the_rows_of_the_file() {
    let bytes = write(&[topic("/a", "here/Value", STAMPED)], &messages(), &Parts::default());
    let packed = zstd::bulk::compress(&bytes, 3).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for end in ["mcap.zst", "mcap.zstd"] {
        let path = folder.path().join(format!("drive.{end}"));
        std::fs::write(&path, &packed).unwrap();
        let made = imported(&path, true).await.unwrap();
        assert_eq!(ids(&made).await, (1..300).collect::<Vec<_>>());
        assert_eq!(made.report.logs[0].warnings, [""; 0]);
    }
    // A folder whose metadata list it.
    let bag = folder.path().join("drive");
    std::fs::create_dir(&bag).unwrap();
    std::fs::write(bag.join("drive_0.mcap.zstd"), &packed).unwrap();
    let yaml = "  relative_file_paths:\n    - drive_0.mcap.zstd\n  compression_format: zstd\n  compression_mode: FILE\n";
    std::fs::write(bag.join("metadata.yaml"), yaml).unwrap();
    assert_eq!(ids(&imported(&bag, true).await.unwrap()).await.len(), 299);
    // A second recording that the metadata do not list.
    std::fs::write(bag.join("drive_1.mcap.zstd"), &packed).unwrap();
    let made = imported(&bag, false).await.unwrap();
    assert_eq!(ids(&made).await.len(), 299);
    let warnings = &made.report.logs[0].warnings;
    assert!(warnings[0].contains("metadata.yaml does not list `drive_1.mcap.zstd`: left out."), "{warnings:?}");
    assert!(imported(&bag, true).await.unwrap_err().to_string().contains("metadata.yaml does not list `drive_1.mcap.zstd`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_file_that_is_cut_gives_what_comes_before_the_cut() {
    let parts = Parts { compression: "", ..Parts::default() };
    let bytes = write(&[topic("/a", "here/Value", STAMPED)], &messages(), &parts);
    // Small frames, as of a writer that flushes.
    let packed: Vec<u8> = bytes.chunks(500).flat_map(|part| zstd::bulk::compress(part, 3).unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap.zstd");
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let made = imported(&path, false).await.unwrap();
    let found = ids(&made).await;
    assert!(found.len() > 50 && found == (1..=found.len() as i64).collect::<Vec<_>>(), "{found:?}");
    let warnings = &made.report.logs[0].warnings;
    assert!(warnings[0].contains("drive.mcap.zstd: the file is cut or damaged: zstd, behind "), "{warnings:?}");
    assert!(warnings[1].contains("drive.mcap.zstd: the file is cut at byte "), "{warnings:?}");
    let error = imported(&path, true).await.unwrap_err();
    assert_eq!(error.kind(), tetrys::ErrorKind::Corrupt, "{error}");
    for bytes in [&b"no zstd"[..], b""] {
        std::fs::write(&path, bytes).unwrap();
        let error = imported(&path, false).await.unwrap_err().to_string();
        assert!(error.contains("drive.mcap.zstd: "), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_compressed_one_by_one_are_decompressed() {
    let definition = "builtin_interfaces/Time stamp\nint64 id\n===\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n";
    let topics = [Topic { schema_encoding: "ros2msg", encoding: "cdr", ..topic("/a", "here/msg/Value", definition) }];
    let packed: Vec<Message> = messages()
        .into_iter()
        .map(|message| Message {
            data: zstd::bulk::compress(&[&[0, 1, 0, 0], &message.data[..]].concat(), 1).unwrap(),
            ..message
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    std::fs::write(&path, write(&topics, &packed, &Parts::default())).unwrap();
    assert_eq!(ids(&imported(&path, true).await.unwrap()).await, (1..300).collect::<Vec<_>>());
    let mut damaged = packed;
    damaged[7].data.truncate(10);
    std::fs::write(&path, write(&topics, &damaged, &Parts::default())).unwrap();
    let error = imported(&path, false).await.unwrap_err().to_string();
    assert!(error.contains("topic /a: message logged at 108: a message that rosbag2 compressed: zstd: "), "{error}");
    let found = info(&LogSource::of(path.to_str().unwrap()).unwrap(), &OpenOptions::default()).await.unwrap();
    assert!(found.topics[0].problem.as_ref().unwrap().contains("message logged at 108"), "{found:?}");
}
