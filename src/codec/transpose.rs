//! Transposes a matrix of elements, so that the elements of each column are together. The byte shuffle (elements of one byte) and
//! the component split (elements of 1, 2, 4 or 8 bytes) share this code. Follows `format-spec/codecs.md#byte-shuffle` and
//! `format-spec/codecs.md#component-split`.
//!
//! Bytes in 2, 4, 8 or 16 columns are interleaved plane by plane. For other elements, the usual numbers of columns are constants,
//! so that the compiler turns the loops into vector moves.

use super::interleave::{interleave, part};

/// Number of rows processed together: a tile of input and output fits the L1 cache.
const TILE: usize = 64;

/// Groups the elements of each of `columns` columns. Bytes after the last whole row stay at the end.
pub(super) fn split(values: &[u8], width: usize, columns: usize) -> Vec<u8> {
    match width {
        1 if is_interleaved(columns) => split_bytes(values, columns),
        1 => split_elements::<1>(values, columns),
        2 => split_elements::<2>(values, columns),
        4 => split_elements::<4>(values, columns),
        _ => split_elements::<8>(values, columns),
    }
}

/// Inverts [`split`].
pub(super) fn join(stored: &[u8], width: usize, columns: usize) -> Vec<u8> {
    match width {
        1 if is_interleaved(columns) => join_bytes(stored, columns),
        1 => join_elements::<1>(stored, columns),
        2 => join_elements::<2>(stored, columns),
        4 => join_elements::<4>(stored, columns),
        _ => join_elements::<8>(stored, columns),
    }
}

/// Whether bytes in so many columns are interleaved plane by plane: 2, 4, 8 or 16, the usual byte shuffles.
fn is_interleaved(columns: usize) -> bool {
    matches!(columns, 2 | 4 | 8 | 16)
}

/// Number of rows of bytes processed together.
const BYTES: usize = 128;

fn split_bytes(values: &[u8], columns: usize) -> Vec<u8> {
    let rows = values.len() / columns;
    let mut out = vec![0; values.len()];
    out[rows * columns..].copy_from_slice(&values[rows * columns..]);
    let (mut tile, mut spare) = ([[0; BYTES]; 16], [[0; BYTES]; 16]);
    let (tile, spare) = (tile[..columns].as_flattened_mut(), spare[..columns].as_flattened_mut());
    for start in (0..rows).step_by(BYTES) {
        let len = BYTES.min(rows - start);
        tile[..len * columns].copy_from_slice(&values[start * columns..][..len * columns]);
        for (column, plane) in part::<BYTES>(tile, spare).chunks_exact(BYTES).enumerate() {
            out[column * rows + start..][..len].copy_from_slice(&plane[..len]);
        }
    }
    out
}

fn join_bytes(stored: &[u8], columns: usize) -> Vec<u8> {
    let rows = stored.len() / columns;
    let mut out = Vec::with_capacity(stored.len());
    let (mut tile, mut spare) = ([[0; BYTES]; 16], [[0; BYTES]; 16]);
    let (tile, spare) = (tile[..columns].as_flattened_mut(), spare[..columns].as_flattened_mut());
    for start in (0..rows).step_by(BYTES) {
        let len = BYTES.min(rows - start);
        for (column, plane) in tile.chunks_exact_mut(BYTES).enumerate() {
            plane[..len].copy_from_slice(&stored[column * rows + start..][..len]);
        }
        out.extend_from_slice(&interleave::<BYTES>(tile, spare)[..len * columns]);
    }
    out.extend_from_slice(&stored[rows * columns..]);
    out
}

fn split_elements<const W: usize>(values: &[u8], columns: usize) -> Vec<u8> {
    let rows = values.len() / (W * columns);
    let (matrix, rest) = values.split_at(rows * columns * W);
    let mut out = vec![0; values.len()];
    let (planes, tail) = out.split_at_mut(matrix.len());
    tail.copy_from_slice(rest);
    if rows == 0 {
        return out;
    }
    let (matrix, _) = matrix.as_chunks::<W>();
    let (planes, _) = planes.as_chunks_mut::<W>();
    match columns {
        2 => split_constant::<W, 2>(matrix, planes, rows),
        3 => split_constant::<W, 3>(matrix, planes, rows),
        4 => split_constant::<W, 4>(matrix, planes, rows),
        8 => split_constant::<W, 8>(matrix, planes, rows),
        16 => split_constant::<W, 16>(matrix, planes, rows),
        _ => {
            for start in (0..rows).step_by(TILE * 16) {
                let end = (start + TILE * 16).min(rows);
                for (column, plane) in planes.chunks_exact_mut(rows).enumerate() {
                    let tile = matrix[start * columns + column..end * columns].iter().step_by(columns);
                    plane[start..end].iter_mut().zip(tile).for_each(|(to, from)| *to = *from);
                }
            }
        }
    }
    out
}

fn join_elements<const W: usize>(stored: &[u8], columns: usize) -> Vec<u8> {
    let rows = stored.len() / (W * columns);
    let (planes, rest) = stored.split_at(rows * columns * W);
    let (planes, _) = planes.as_chunks::<W>();
    let mut out = match columns {
        2 => join_constant::<W, 2>(planes, rows, stored.len()),
        3 => join_constant::<W, 3>(planes, rows, stored.len()),
        4 => join_constant::<W, 4>(planes, rows, stored.len()),
        8 => join_constant::<W, 8>(planes, rows, stored.len()),
        16 => join_constant::<W, 16>(planes, rows, stored.len()),
        _ => {
            let mut out = Vec::with_capacity(stored.len());
            out.resize(planes.len() * W, 0);
            let (matrix, _) = out.as_chunks_mut::<W>();
            for start in (0..rows).step_by(TILE * 16) {
                let end = (start + TILE * 16).min(rows);
                for (column, plane) in planes.chunks_exact(rows).enumerate() {
                    let tile = matrix[start * columns + column..end * columns].iter_mut().step_by(columns);
                    tile.zip(&plane[start..end]).for_each(|(to, from)| *to = *from);
                }
            }
            out
        }
    };
    out.extend_from_slice(rest);
    out
}

fn split_constant<const W: usize, const C: usize>(matrix: &[[u8; W]], planes: &mut [[u8; W]], rows: usize) {
    let (matrix, _) = matrix.as_chunks::<C>();
    for start in (0..rows).step_by(TILE) {
        let tile = &matrix[start..(start + TILE).min(rows)];
        for (column, plane) in planes.chunks_exact_mut(rows).enumerate() {
            plane[start..start + tile.len()].iter_mut().zip(tile).for_each(|(to, row)| *to = row[column]);
        }
    }
}

fn join_constant<const W: usize, const C: usize>(planes: &[[u8; W]], rows: usize, capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity);
    let mut tile = [[[0; W]; C]; TILE];
    let whole = rows / TILE * TILE;
    for start in (0..whole).step_by(TILE) {
        let columns: [&[[u8; W]; TILE]; C] = std::array::from_fn(|column| {
            let plane = &planes[column * rows + start..];
            plane.first_chunk::<TILE>().unwrap_or(&[[0; W]; TILE])
        });
        for (row, to) in tile.iter_mut().enumerate() {
            *to = std::array::from_fn(|column| columns[column][row]);
        }
        out.extend_from_slice(tile.as_flattened().as_flattened());
    }
    for row in whole..rows {
        (0..C).for_each(|column| out.extend_from_slice(&planes[column * rows + row]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_equal_significance_stand_together() {
        assert_eq!(split(&[1, 2, 3, 4, 5, 6, 7], 1, 2), [1, 3, 5, 2, 4, 6, 7]);
        assert_eq!(split(&[1, 2, 3, 4, 5, 6, 7], 1, 3), [1, 4, 2, 5, 3, 6, 7]);
    }

    #[test]
    fn components_stand_together() {
        assert_eq!(split(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 2, 2), [1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn join_undoes_split_for_every_width_and_number_of_columns() {
        for width in [1, 2, 4, 8] {
            for columns in [2, 3, 4, 5, 8, 9, 16, 17, 64, 255] {
                let row = width * columns;
                for len in [0, 1, row - 1, row, row + 1, TILE * row, (TILE + 1) * row + width, 20 * TILE * row + 5] {
                    let values: Vec<u8> = (0..len).map(|i| (i ^ (i >> 8)) as u8).collect();
                    assert_eq!(join(&split(&values, width, columns), width, columns), values, "{width} {columns} {len}");
                }
            }
        }
    }
}
