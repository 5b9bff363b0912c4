//! Opens the local files that a user names. A path may also lead to a pipe (a FIFO, or the process substitution of a shell), a
//! socket, a device or a folder. The bytes of a pipe can be read once only, and a device may never end.

use std::{
    fs::{self, File, FileType},
    io::Read,
    path::Path,
};

use crate::error::{Error, Result, counted};

/// An opened file.
#[derive(Debug)]
pub enum LocalFile {
    /// A regular file, which can be read in any order and several times.
    Regular(File),
    /// A pipe, which can be read once, from its start to its end.
    Pipe(File),
}

impl LocalFile {
    /// Opens a regular file or a pipe. A named pipe is opened once, and the call waits until a writer opens it too.
    ///
    /// # Errors
    /// - `NotFound`: there is no file at `path`.
    /// - `Invalid`: it is a folder, a socket or a device.
    /// - Errors of the file system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let place = |error: std::io::Error| Error::from(error).at(path.display());
        let found = fs::metadata(path).map_err(|error| match path.to_str().filter(|path| path.contains("://")) {
            Some(_) => Error::not_found(format!(
                "{}: expected a file on this machine, found a URL; copy the file here, or read it from standard input",
                path.display()
            )),
            None => place(error),
        });
        let known = kind(found?.file_type());
        if !matches!(known, Kind::Regular | Kind::Pipe) {
            return Err(wrong(path, "a file or a pipe", known));
        }
        let file = File::open(path).map_err(place)?;
        // Another file may have taken the path in the meantime.
        match kind(file.metadata().map_err(place)?.file_type()) {
            Kind::Regular => Ok(Self::Regular(file)),
            Kind::Pipe => Ok(Self::Pipe(file)),
            other => Err(wrong(path, "a file or a pipe", other)),
        }
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// - `NotFound`: there is no file at `path`.
    /// - `Invalid`: it is no regular file; the message says that `expected` was expected.
    /// - Errors of the file system.
    pub fn regular(path: impl AsRef<Path>, expected: &str) -> Result<File> {
        let path = path.as_ref();
        let place = |error: std::io::Error| Error::from(error).at(path.display());
        // A named pipe without a writer would block `open`.
        match kind(fs::metadata(path).map_err(place)?.file_type()) {
            Kind::Regular => File::open(path).map_err(place),
            other => Err(wrong(path, expected, other)),
        }
    }

    /// Reads a text of at most `limit` bytes from a regular file or a pipe.
    ///
    /// # Errors
    /// - `NotFound`: there is no file at `path`.
    /// - `Invalid`: it is a folder, a socket or a device, it is longer, or it is not UTF-8.
    /// - Errors of the file system.
    pub fn text(path: impl AsRef<Path>, limit: u64) -> Result<String> {
        let path = path.as_ref();
        let (Self::Regular(file) | Self::Pipe(file)) = Self::open(path)?;
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| Error::from(error).at(path.display()))?;
        if bytes.len() as u64 > limit {
            let limit = counted(limit, "byte");
            return Err(Error::invalid(format!("{}: expected at most {limit}, found more", path.display())));
        }
        String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{}: expected text in UTF-8", path.display())))
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Regular,
    Pipe,
    Folder,
    Socket,
    Device,
}

fn kind(ty: FileType) -> Kind {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        match () {
            () if ty.is_fifo() => return Kind::Pipe,
            () if ty.is_socket() => return Kind::Socket,
            () if ty.is_block_device() || ty.is_char_device() => return Kind::Device,
            () => {}
        }
    }
    if ty.is_dir() { Kind::Folder } else { Kind::Regular }
}

fn wrong(path: &Path, expected: &str, found: Kind) -> Error {
    let found = match found {
        Kind::Regular => "a file",
        Kind::Pipe => "a pipe",
        Kind::Folder => "a folder",
        Kind::Socket => "a socket",
        Kind::Device => "a device",
    };
    Error::invalid(format!("{}: expected {expected}, found {found}", path.display()))
}
