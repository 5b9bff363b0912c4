//! Re-exports the Arrow crates whose types are part of the API of Tetrys, in the versions with which Tetrys is built.
//!
//! ```
//! use tetrys::arrow::{array::Int64Array, schema::DataType};
//!
//! assert_eq!(tetrys::arrow::array::Array::data_type(&Int64Array::from(vec![1, 2])), &DataType::Int64);
//! ```

pub use arrow_array as array;
pub use arrow_buffer as buffer;
pub use arrow_schema as schema;
