//! Finds the types of tensor columns of `.npy` files.
//!
//! A type comes from the headers of all files, so that an array of another type is an error before any row is written. A declared
//! type, or that of a table that the rows join, needs no look at the files: each array is compared with it when it is read.

use arrow_array::Array;

use super::{
    arrays::{has_room, joined, type_of},
    blobs::Files,
    settings::{Content, FrameSettings, Types},
    source::Frame,
};
use crate::{
    error::{Error, Result, counted},
    ingest::npy,
    progress::Progress,
    schema::{Column, ColumnType, Primitive, Schema},
    work::{Stop, offload},
};

impl FrameSettings {
    /// Returns the settings with a type for the arrays of each blob.
    ///
    /// # Errors
    /// - `Invalid`: a declared type is no tensor; the arrays of a blob differ in more than their extents; no row names a file.
    /// - `NotFound`, `Denied`: a file is missing, or outside the root.
    /// - `Corrupt`, `Unsupported`: a file is no array that a table can hold.
    pub(super) fn with_types(&self, frame: &Frame, types: &Types, stop: &Stop) -> Result<Self> {
        let mut settings = self.clone();
        if !self.blobs.iter().any(|blob| matches!(blob.content, Content::Npy(_))) {
            return Ok(settings);
        }
        self.check_blobs(frame.columns()).map_err(|error| error.at(frame.path().display()))?;
        for (number, blob) in settings.blobs.iter_mut().enumerate() {
            let Content::Npy(ty) = &mut blob.content else { continue };
            let there = |schema: &Schema| schema.column_named(&blob.column).and_then(tensor_of);
            let like = match (&*ty, types) {
                (Some(declared), _) => {
                    check_declared(&blob.column, declared)?;
                    continue;
                }
                (None, Types::OfFiles) => None,
                (None, Types::LikeTable(schema)) => there(schema),
                (None, Types::OfTable(schema)) => {
                    *ty = there(schema);
                    if ty.is_some() {
                        continue;
                    }
                    None
                }
            };
            let found = self.type_of_files(frame, number, stop)?;
            *ty = Some(like.filter(|like| has_room(like, &found)).unwrap_or(found));
        }
        Ok(settings)
    }

    /// As [`with_types`](Self::with_types), off the executor.
    pub(super) async fn offload_types(&self, frame: &Frame, types: Types) -> Result<Self> {
        let (settings, frame) = (self.clone(), frame.clone());
        offload(move |stop| settings.with_types(&frame, &types, stop)).await
    }

    /// Reads the headers of all files of a blob. Returns the type that all arrays have.
    fn type_of_files(&self, frame: &Frame, number: usize, stop: &Stop) -> Result<ColumnType> {
        let files = Files::new(self.root_of(frame), self)?;
        let blob = &self.blobs[number];
        let column = frame.columns().iter().find(|column| column.name == blob.paths);
        let column = column.ok_or_else(|| Error::internal("a blob without paths"))?;
        let (mut found, mut first) = (None, 0);
        let progress = Progress::new("reading headers", frame.rows());
        for batch in frame.batches(0..frame.rows(), &[&column.root])? {
            stop.check()?;
            let paths = column.array(&batch?)?;
            for row in 0..paths.len() {
                let read = files.with_file(number, &paths, row, |file, size| {
                    let this = type_of(&npy::read_header(file, size)?)?;
                    found = Some(match found.take() {
                        Some(earlier) => joined(earlier, &this)?,
                        None => this,
                    });
                    Ok(())
                });
                read.map_err(|error| error.at(format!("row {}", first + row as u64)))?;
            }
            first += paths.len() as u64;
            progress.add(paths.len() as u64);
        }
        found.ok_or_else(|| {
            Error::invalid(format!(
                "{}: expected at least one file, which gives the type of its arrays, found none; declare the type, for example \
                 f32[?,4]",
                blob.describe()
            ))
        })
    }
}

fn tensor_of(column: &Column) -> Option<ColumnType> {
    Some(column.ty.clone()).filter(|ty| matches!(ty, ColumnType::Tensor { .. }))
}

fn check_declared(column: &str, ty: &ColumnType) -> Result<()> {
    match ty {
        ColumnType::Tensor { element, .. } if *element != Primitive::Bf16 => {
            let bytes = ty.fixed_elements().map_or(Some(0), |elements| elements.checked_mul(element.width() as u64));
            match bytes.is_some_and(|bytes| bytes <= npy::MAX_ARRAY) {
                true => Ok(()),
                false => Err(Error::invalid(format!(
                    "npy `{column}`: expected arrays of at most {}, found the type {ty}",
                    counted(npy::MAX_ARRAY, "byte")
                ))),
            }
        }
        _ => Err(Error::invalid(format!(
            "npy `{column}`: expected a tensor of a type that .npy files have, for example f32[?,4], found {ty}"
        ))),
    }
}
