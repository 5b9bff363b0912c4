//! Join maps: for each row of one table, the matching row of another table. Follows `format-spec/joins.md#join-map`.
//!
//! The caller of [`read_join`] has verified the bytes against the BLAKE3 in the name of the object.

use std::{io::Write, sync::Arc};

use arrow_array::{Array, Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::{ArrowWriter, arrow_reader::ArrowReaderOptions};

use super::parquet::{batches_of, corrupt, open, put_salt, writer, written};
use crate::{
    error::{Error, Result},
    id::Salt,
    work::check_away,
};

/// The stored value for a row without a partner.
const NO_PARTNER: i64 = -1;

fn arrow_schema() -> SchemaRef {
    Arc::new(ArrowSchema::new(vec![Field::new("row", DataType::Int64, false)]))
}

/// Writes a join map part by part.
pub struct JoinWriter<W: Write + Send>(ArrowWriter<W>);

impl<W: Write + Send> JoinWriter<W> {
    /// Creates a writer of a join map.
    ///
    /// # Errors
    /// - `Unavailable`: `out` cannot be written.
    pub fn new(out: W) -> Result<Self> {
        writer(out, arrow_schema(), true, true).map(Self)
    }

    /// Puts a salt into the file.
    pub fn salt(&mut self, salt: Salt) {
        put_salt(&mut self.0, salt);
    }

    /// Appends the partners of the next rows: rows, or −1 for none.
    ///
    /// # Errors
    /// - `Unavailable`: `out` cannot be written.
    pub fn write(&mut self, rows: Vec<i64>) -> Result<()> {
        let batch = RecordBatch::try_new(arrow_schema(), vec![Arc::new(Int64Array::from(rows))]);
        self.0.write(&batch.map_err(|error| Error::internal(error.to_string()))?).map_err(written)
    }

    /// Finishes the join map and returns the output.
    ///
    /// # Errors
    /// - `Unavailable`: `out` cannot be written.
    pub fn finish(self) -> Result<W> {
        self.0.into_inner().map_err(written)
    }
}

/// Writes the join map of these partners, with a salt.
///
/// # Errors
/// - `Invalid`: a row is 2^63 or more.
pub fn write_join(partners: &[Option<u64>], salt: Salt) -> Result<Vec<u8>> {
    let row = |partner: &Option<u64>| partner.map_or(Ok(NO_PARTNER), i64::try_from);
    let rows = partners.iter().map(row).collect::<Result<Vec<i64>, _>>();
    let rows = rows.map_err(|_| Error::invalid("join map: a row of 2^63 or more"))?;
    let mut writer = JoinWriter::new(Vec::new())?;
    writer.write(rows)?;
    writer.salt(salt);
    writer.finish()
}

/// Reads a join map: the partner of each of `left` rows. Each partner is less than `right`.
///
/// # Errors
/// - `Corrupt`: the file is not such a join map.
pub fn read_join(bytes: Bytes, left: u64, right: u64) -> Result<Vec<Option<u64>>> {
    check_away(bytes.len());
    let builder = open(bytes, ArrowReaderOptions::new().with_schema(arrow_schema()))?;
    let mut partners = Vec::new();
    for batch in batches_of(builder, left)? {
        let batch = batch?;
        let rows = batch.columns().first().and_then(|column| column.as_primitive_opt::<Int64Type>());
        let rows = rows.filter(|rows| rows.null_count() == 0 && batch.num_columns() == 1);
        for &row in rows.ok_or_else(|| corrupt("join map: expected one column `row` of integers"))?.values() {
            partners.push(match u64::try_from(row) {
                Ok(row) if row < right => Some(row),
                Err(_) if row == NO_PARTNER => None,
                _ => return Err(corrupt(format!("join map: row {row} of a table of {right}"))),
            });
        }
    }
    Ok(partners)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn partners_come_back_and_wrong_ones_do_not() {
        let partners = [Some(17), Some(18), None, Some(18), Some(4)];
        let bytes = Bytes::from(write_join(&partners, Salt::NONE).unwrap());
        assert_eq!(read_join(bytes.clone(), 5, 19).unwrap(), partners);
        assert!(read_join(bytes.clone(), 5, 18).unwrap_err().to_string().contains("row 18 of a table of 18"));
        assert!(read_join(bytes.clone(), 4, 19).unwrap_err().to_string().contains("5 rows, expected 4"));
        for cut in 0..bytes.len() {
            read_join(bytes.slice(..cut), 5, 19).unwrap_err();
        }
        assert_eq!(read_join(write_join(&[], Salt::NONE).unwrap().into(), 0, 0).unwrap(), []);
    }
}
