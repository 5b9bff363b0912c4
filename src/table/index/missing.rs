//! The error for a column that an index does not have. It says how to get the column, if a table has it.

use super::index::Index;
use crate::error::{Error, listed, nearest, short};

impl Index {
    /// Returns the error for a column that the frame does not have: whether it is payload of a table, or an index column that was not loaded;
    /// else the column that was probably meant, and all columns. Its kind is `NotFound`.
    ///
    /// ```no_run
    /// # fn example(index: &tetrys::Index) {
    /// println!("{}", index.no_column("timestmp")); // no index column `timestmp`: did you mean `timestamp`?; there are: log_id, timestamp
    /// # }
    /// ```
    pub fn no_column(&self, name: &str) -> Error {
        let (shown, columns) = (short(name), listed(self.column_names()));
        for table in self.tables() {
            let (schema, url) = (table.schema(), table.url());
            let Some(column) = schema.column_named(name) else { continue };
            let is_payload = schema.groups().iter().any(|group| group.columns.contains(&column.id));
            return Error::not_found(match is_payload {
                true => format!(
                    "`{shown}` is no index column: it is payload of {url}; read it by a row loader (in Python, \
                     `tetrys.row_loader(index, columns=['{shown}'])`). Index columns: {columns}"
                ),
                false => format!(
                    "the index column `{shown}` of {url} is not in this frame: name it in `columns` of `read_index`, and keep it in \
                     the frame"
                ),
            });
        }
        let near = nearest(name, self.column_names()).map_or(String::new(), |near| format!(": did you mean `{near}`?"));
        Error::not_found(format!("no index column `{shown}`{near}; there are: {columns}"))
    }
}
