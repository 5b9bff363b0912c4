//! The targets of `tetrys-logs`: MCAP files and definitions of ROS messages.

use tetrys::{Error, ErrorKind};
use tetrys_logs::{
    Input,
    mcap::McapFile,
    msg::{Ros, parse},
    types::{Message, Type},
};

use super::sound;

/// The messages of a file: channel, log time, and bytes.
type Messages = Vec<(u16, u64, Vec<u8>)>;

/// Reads a file as it is, and a second time strictly. What is read strictly is the same, and nothing is missing then.
pub fn file(data: &[u8]) {
    let open = |strict: bool| {
        let mut file = McapFile::open(Input::of_bytes("fuzz", data.to_vec()), strict)?;
        let mut messages = Messages::new();
        file.for_each(|head, bytes| {
            messages.push((head.channel, head.log_time, bytes.to_vec()));
            Ok(())
        })?;
        assert!(messages.iter().all(|(channel, ..)| file.channels().contains_key(channel)), "a message without a channel");
        Ok::<_, Error>((messages, file.warnings().len()))
    };
    let found = sound(open(false));
    if let Some((messages, warnings)) = sound(open(true)) {
        assert_eq!(warnings, 0, "a strict reader with warnings");
        assert_eq!(found.map(|(found, _)| found), Some(messages), "a strict reader finds other messages");
    }
}

/// Parses a definition of both versions of ROS, and walks through its types.
pub fn definition(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for ros in [Ros::One, Ros::Two] {
        match parse("here/It", text, ros) {
            Ok(message) => walk(&message, 0, &mut 10_000),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported), "{error}"),
        }
    }
}

/// Looks at the fields below a message, but at no more than `left` of them.
fn walk(message: &Message, depth: usize, left: &mut u32) {
    assert!(depth <= 64, "over 64 levels");
    for field in &message.fields {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return;
        }
        assert!(!field.name.is_empty());
        match &field.ty {
            Type::Message(inner) => walk(inner, depth + 1, left),
            Type::Array(item, _) => {
                if let Type::Message(inner) = &**item {
                    walk(inner, depth + 1, left);
                }
            }
            _ => {}
        }
    }
}
