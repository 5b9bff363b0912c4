//! Measures each codec chain on synthetic columns: compression ratio, encoding and decoding speed, and which preset chooses it.
//! Then compares the choices of the presets: `compact` with the smallest of all chains, `balanced` with the smallest chain that
//! it may use; for `fast`, prints the decoding speed.
//!
//! `cargo bench --bench codecs [-- COLUMN]`: one thread; the best of all runs within 0.2 s for each figure, with the encoded
//! bytes in the CPU cache. `src/codec/preset/tests/columns.rs` describes the columns, which the tests of the presets use too.
//! Before it measures a chain, the bench checks that decoding returns the values.

use std::time::{Duration, Instant};

use bytes::Bytes;
use tetrys::{
    ColumnType, Preset,
    codec::{Chain, Medium, NumberType, Step},
};

#[path = "../src/codec/preset/tests/columns.rs"]
mod columns;

fn main() -> tetrys::Result<()> {
    let only: String = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    println!("| column | chain | ratio | encode GB/s | decode GB/s | preset |\n|---|---|---|---|---|---|");
    let (mut summary, mut balance) = (Vec::new(), Vec::new());
    for (name, ty, number, values) in columns()? {
        if !name.contains(&only) {
            continue;
        }
        let presets = [Preset::Fast, Preset::Balanced, Preset::Compact];
        let chosen = presets.map(|preset| preset.on(Medium::Disk).choose(&ty, &values));
        let [fast, balanced, compact] = &chosen;
        let allowed = Preset::Balanced.on(Medium::Disk).candidates(&ty)?;
        let sizes = allowed.iter().map(|chain| chain.encode(&values).map(|stored| stored.len()));
        let sizes = sizes.collect::<tetrys::Result<Vec<usize>>>()?;
        let least_allowed = sizes.into_iter().min().unwrap_or(0).min(values.len());
        let taken = balanced.as_ref().map_or(Ok(0), |chain| chain.encode(&values).map(|stored| stored.len()))?;
        let more = 100.0 * (taken as f64 / least_allowed as f64 - 1.0);
        let chain = balanced.as_ref().map(ToString::to_string).unwrap_or_default();
        balance.push(format!("| {name} | {chain} | {taken} | {least_allowed} | {more:+.1} % |"));
        let mut smallest: Option<(usize, Chain)> = None;
        let (mut taken_bytes, mut decoded) = (0, "never encoded".to_owned());
        for chain in chains(&ty, number)? {
            let is = |chosen: &tetrys::Result<Chain>| chosen.as_ref().is_ok_and(|chosen| *chosen == chain);
            let taken: Vec<_> =
                presets.iter().zip(&chosen).filter(|(_, chosen)| is(chosen)).map(|(preset, _)| preset.name()).collect();
            let (stored, decode) = measure(name, &chain, &values, &taken.join(", "))?;
            if is(fast) {
                decoded = format!("{chain} | {decode}");
            }
            if is(compact) {
                taken_bytes = stored;
            }
            if smallest.as_ref().is_none_or(|(least, _)| stored < *least) {
                smallest = Some((stored, chain));
            }
        }
        if let (Some((least, chain)), Ok(compact)) = (smallest, compact) {
            let ratio = |stored: usize| stored as f64 / values.len() as f64;
            summary.push(format!(
                "| {name} | {chain} | {:.4} | {compact} | {:.4} | {:+.1} % | {decoded} |",
                ratio(least),
                ratio(taken_bytes),
                100.0 * (taken_bytes as f64 / least as f64 - 1.0)
            ));
        }
        for preset in presets {
            let seconds = best(|| preset.on(Medium::Disk).choose(&ty, &values).map(drop))?;
            println!("| {name} | (the choice of `{preset}`) | | {:.3} | | |", values.len() as f64 / 1e9 / seconds);
        }
    }
    println!("\n| column | smallest of all | ratio | `compact` takes | ratio | more | `fast` takes | decode GB/s |");
    println!("|---|---|---|---|---|---|---|---|\n{}", summary.join("\n"));
    println!(
        "\n| column | `balanced` takes | bytes | best of what it may take | more |\n|---|---|---|---|---|\n{}",
        balance.join("\n")
    );
    Ok(())
}

/// Measures a chain; returns the number of stored bytes, and the decoding speed as text.
fn measure(name: &str, chain: &Chain, values: &[u8], presets: &str) -> tetrys::Result<(usize, String)> {
    let stored = Bytes::from(chain.encode(values)?);
    assert_eq!(chain.decode(stored.clone(), values.len())?, values, "{name}: {chain}");
    let gigabytes = values.len() as f64 / 1e9;
    let encode = gigabytes / best(|| chain.encode(values).map(drop))?;
    let decode = gigabytes / best(|| chain.decode(stored.clone(), values.len()).map(drop))?;
    let decode = if chain.is_plain() { "no copy".to_owned() } else { format!("{decode:.2}") };
    println!("| {name} | {chain} | {:.4} | {encode:.3} | {decode} | {presets} |", stored.len() as f64 / values.len() as f64);
    Ok((stored.len(), decode))
}

fn best(mut work: impl FnMut() -> tetrys::Result<()>) -> tetrys::Result<f64> {
    let (start, mut best) = (Instant::now(), f64::MAX);
    while start.elapsed() < Duration::from_millis(200) {
        let run = Instant::now();
        work()?;
        best = best.min(run.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn chains(ty: &ColumnType, number: NumberType) -> tetrys::Result<Vec<Chain>> {
    let width = number.width() as u8;
    let shuffles = [vec![], vec![Step::Shuffle(width)], vec![Step::BitShuffle(width)]];
    let mut transforms = shuffles.to_vec();
    transforms.retain(|steps| width > 1 || !matches!(steps.as_slice(), [Step::Shuffle(_)]));
    if let ColumnType::Tensor { shape, .. } = ty
        && let Some(components) = shape.last().copied().flatten().and_then(|extent| u8::try_from(extent).ok())
        && (2..=64).contains(&components)
    {
        let split = Step::Split { width, components };
        transforms.push(vec![Step::Shuffle(width * components)]);
        transforms.extend(shuffles.map(|steps| [vec![split], steps].concat()));
    }
    let mut chains = vec![vec![]];
    for transform in &transforms {
        for compressor in [Step::Lz4, Step::Zstd(1), Step::Zstd(3), Step::Zstd(12)] {
            chains.push([transform.as_slice(), &[compressor]].concat());
        }
    }
    for transform in transforms.iter().filter(|steps| matches!(steps.as_slice(), [] | [Step::Split { .. }])) {
        chains.extend([0, 4, 8].map(|level| [transform.as_slice(), &[Step::Pco(number, level)]].concat()));
    }
    chains.into_iter().map(Chain::new).collect()
}

/// A column: name, type, type of its numbers, values.
type Sample = (&'static str, ColumnType, NumberType, Vec<u8>);

fn columns() -> tetrys::Result<Vec<Sample>> {
    let typed = columns::columns().into_iter().map(|(name, ty, values)| {
        let number = match ty.split('[').next() {
            Some("f32") => NumberType::F32,
            Some("f64") => NumberType::F64,
            Some("u32") => NumberType::U32,
            Some("u8") => NumberType::U8,
            _ => NumberType::I64,
        };
        Ok((name, ty.parse()?, number, values))
    });
    typed.collect()
}
