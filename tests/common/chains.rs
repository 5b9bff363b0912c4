//! Compares the codec chains of a table with the best chains that its preset allows. It encodes every page by every candidate.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each suite uses its part")]

use std::path::Path;

use tetrys::{
    Preset, Table,
    codec::Medium,
    format::{BlockDirectory, PagePlace, decode_page, encode_page, page_range},
};

/// A column of a local table: what its pages cost by the rule of the preset ([`Chooser::cost`]), and what they cost with the best candidate
/// chain of each chunk.
#[derive(Debug)]
pub struct Taken {
    pub column: String,
    pub taken: u64,
    pub best: u64,
    /// Chain of the first chunk, and the best chain for it.
    pub chains: (String, String),
}

impl Taken {
    /// Returns how much more the column costs than with the best chains, in percent.
    pub fn more(&self) -> f64 {
        100.0 * (self.taken as f64 / self.best as f64 - 1.0)
    }
}

/// Compares every column of every group of a table in the folder `root`.
pub async fn chains_of(table: &Table, root: &Path, preset: Preset) -> Vec<Taken> {
    let (mut found, chooser) = (Vec::new(), preset.on(Medium::Disk));
    for (number, group) in table.schema().groups().iter().enumerate() {
        let columns: Vec<_> = group.columns.iter().map(|id| table.schema().column(*id).unwrap().clone()).collect();
        let layout = table.storage().layout(number).await.unwrap();
        for (page, column) in columns.iter().enumerate() {
            let mut candidates = chooser.candidates(&column.ty).unwrap();
            candidates.push(tetrys::codec::Chain::PLAIN);
            let mut taken = Taken { column: column.name.clone(), taken: 0, best: 0, chains: (String::new(), String::new()) };
            for run in layout.runs() {
                let chunk = std::fs::read(root.join(run.chunk.object_name())).unwrap();
                let mut sums = vec![0; candidates.len()];
                let mut start = run.first_offset as usize;
                for block in 0..run.lengths.len() {
                    let bytes = &chunk[start..start + 8 * run.lengths.get(block) as usize];
                    start += bytes.len();
                    let ordinal = run.first_block + block as u32;
                    let directory = BlockDirectory::parse(bytes, run.seed, ordinal, columns.len()).unwrap();
                    let range = page_range(&directory, page).unwrap();
                    let stored = range.len();
                    let (rows, chain, ty) = (directory.rows, &run.chains[page], &column.ty);
                    let place = PagePlace { seed: run.seed, ordinal, page: page as u16, rows, ty, chain };
                    let plain = decode_page(bytes[range].to_vec().into(), place).unwrap().to_canonical();
                    let values = plain.values.len();
                    taken.taken += chooser.cost(&run.chains[page], values, stored);
                    for (sum, chain) in sums.iter_mut().zip(&candidates) {
                        *sum += chooser.cost(chain, values, encode_page(chain, &plain).unwrap().stored_len());
                    }
                }
                let (best, chain) = sums.into_iter().zip(&candidates).min_by_key(|(sum, _)| *sum).unwrap();
                taken.best += best;
                if taken.chains.0.is_empty() {
                    taken.chains = (run.chains[page].to_string(), chain.to_string());
                }
            }
            found.push(taken);
        }
    }
    found
}
