//! Compares the chosen chain with all other chains, on columns whose best chain is known.

use super::*;

mod columns;

/// Returns name, type and values of each column.
fn columns() -> Vec<(&'static str, ColumnType, Vec<u8>)> {
    columns::columns().into_iter().map(|(name, ty, values)| (name, ty.parse().unwrap(), values)).collect()
}

/// Returns a random column of any type, with runs, steps, and noise in some bits.
fn any_column(random: &mut fastrand::Rng) -> (ColumnType, Vec<u8>) {
    let element = Primitive::ALL[random.usize(..Primitive::ALL.len())];
    let ty = match random.u8(..3) {
        0 => ColumnType::Scalar(element),
        1 => ColumnType::tensor(element, [None, Some(random.u32(2..5))]),
        _ => ColumnType::list(ColumnType::Scalar(element)),
    };
    let width = ty.element_width();
    let (noise_bits, step_bits) = (random.u32(1..40), random.u32(1..20));
    let (noisy, step, run) = (random.u64(1..1 << noise_bits), random.u64(..1 << step_bits), random.u64(1..200));
    let mut value = random.u64(..);
    let mut values = Vec::new();
    for number in 0..random.u64(10..60_000) {
        if number % run == 0 {
            value = value.wrapping_add(step) ^ random.u64(..noisy);
        }
        values.extend(&value.to_le_bytes()[..width.min(8)]);
    }
    (ty, values)
}

#[test]
fn the_choice_costs_little_more_than_the_best_chain_that_the_preset_may_take() {
    let mut random = fastrand::Rng::with_seed(6);
    let known = columns().into_iter().map(|(name, ty, values)| (name.to_owned(), ty, values));
    let any = (0..30).map(|case| {
        let (ty, values) = any_column(&mut random);
        (format!("case {case}"), ty, values)
    });
    for (name, ty, values) in known.chain(any) {
        // At most as many bytes as the choice encodes, so that the choice sees all values.
        let values = &values[..values.len().min(SAMPLE)];
        for chooser in
            [Preset::Balanced.on(Medium::Disk), Preset::Balanced.on(Medium::ObjectStore), Preset::Compact.on(Medium::Disk)]
        {
            let chosen = chooser.choose(&ty, values).unwrap();
            let cost = |chain: &Chain| chooser.cost(chain, values.len(), chain.encode(values).unwrap().len().min(values.len()));
            let costs = chooser.candidates(&ty).unwrap().into_iter().map(|chain| (cost(&chain), chain));
            let (least, best) = costs.min_by_key(|(cost, _)| *cost).unwrap();
            // Plain values are read without a copy: `balanced` leaves them only for a 16th of the cost.
            let is_kept = chosen.is_plain() && chooser.preset == Preset::Balanced;
            let allowed = if is_kept { least * 16 / 15 + 1 } else { least * 102 / 100 };
            assert!(cost(&chosen) <= allowed, "{name} {ty}, {chooser:?}: {chosen} costs {}, {best} {least}", cost(&chosen));
        }
    }
}

/// Returns every chain of at most one split, one shuffle and one compressor, at the levels of the presets and below.
fn all_chains(ty: &ColumnType) -> Vec<Chain> {
    let Elements { width, number, components, .. } = Elements::of(ty);
    let split = components.map(|components| Step::Split { width, components: components as u8 });
    let wide = components.and_then(|components| u8::try_from(u32::from(width) * components).ok()).map(Step::Shuffle);
    let split = split.filter(|_| components.is_some_and(|components| components <= 64));
    let mut chains = vec![vec![]];
    for split in [None, split] {
        for shuffle in [None, (width > 1).then_some(Step::Shuffle(width)), Some(Step::BitShuffle(width)), wide] {
            for compressor in [None, Some(Step::Lz4), Some(Step::Zstd(3)), Some(Step::Zstd(12))] {
                chains.push(split.into_iter().chain(shuffle).chain(compressor).collect());
            }
        }
        for level in [0, 4, 8] {
            chains.push(split.into_iter().chain(number.map(|number| Step::Pco(number, level))).collect());
        }
    }
    chains.into_iter().map(|chain| Chain::new(chain).unwrap()).collect()
}

#[test]
fn compact_is_within_two_percent_of_the_best_of_all_chains() {
    for (name, ty, values) in columns() {
        let chosen = Preset::Compact.on(Medium::Disk).choose(&ty, &values).unwrap();
        let size = chosen.encode(&values).unwrap().len();
        for chain in all_chains(&ty) {
            let other = chain.encode(&values).unwrap().len();
            assert!(size * 100 <= other * 102, "{name}: {chosen} takes {size} bytes, {chain} {other}");
        }
    }
}

#[test]
fn each_preset_takes_what_it_is_for() {
    let chosen: Vec<String> = columns()
        .into_iter()
        .map(|(name, ty, values)| {
            let balanced = Preset::Balanced.on(Medium::ObjectStore);
            let on_disk = [Preset::Fast, Preset::Balanced, Preset::Compact].map(|preset| preset.on(Medium::Disk));
            let chains = [on_disk[0], on_disk[1], balanced, on_disk[2]].map(|chooser| chooser.choose(&ty, &values).unwrap());
            format!("{name}: {}", chains.map(|chain| chain.to_string()).join(", "))
        })
        .collect();
    assert_eq!(
        chosen,
        [
            "constant: pco(i64,0), lz4, pco(i64,0), pco(i64,8)",
            "counter: pco(i64,0), pco(i64,0), pco(i64,0), pco(i64,8)",
            "millimetres: shuffle(4)+lz4, pco(f32,0), pco(f32,0), pco(f32,8)",
            "noise: plain, plain, plain, plain",
            "lidar, scanning: shuffle(4)+lz4, shuffle(16)+lz4, pco(f32,0), split(4x4)+pco(f32,8)",
            "lidar, demo: shuffle(16)+lz4, shuffle(16)+lz4, shuffle(16)+zstd(3), split(4x4)+pco(f32,8)",
            "lidar, random: plain, plain, pco(f32,0), pco(f32,8)",
            "poses: lz4, lz4, zstd(3), pco(f64,8)",
            "boxes: shuffle(28)+lz4, shuffle(28)+lz4, shuffle(28)+zstd(3), pco(f32,8)",
            "tokens: shuffle(4)+lz4, shuffle(4)+lz4, shuffle(4)+zstd(3), pco(u32,8)",
            "labels: lz4, lz4, zstd(3), zstd(12)",
        ]
    );
}

#[test]
fn what_is_encoded_already_stays_plain() {
    let mut random = fastrand::Rng::with_seed(2);
    let mut jpeg = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00".to_vec();
    jpeg.extend(std::iter::repeat_with(|| random.u8(..)).take(80_000));
    for preset in [Preset::Fast, Preset::Balanced, Preset::Compact] {
        assert!(preset.on(Medium::Disk).choose(&ColumnType::Binary, &jpeg).unwrap().is_plain());
        assert!(preset.on(Medium::Disk).choose(&ColumnType::Binary, &[]).unwrap().is_plain());
    }
}

#[test]
fn every_type_has_a_chain_that_gives_its_values_back() {
    let types = Primitive::ALL.into_iter().flat_map(|element| {
        [
            ColumnType::Scalar(element),
            ColumnType::tensor(element, [None, Some(3)]),
            ColumnType::tensor(element, [Some(2), Some(100)]),
            ColumnType::list(ColumnType::tensor(element, [Some(64)])),
        ]
    });
    for ty in types.chain([ColumnType::Utf8, ColumnType::Date, ColumnType::list(ColumnType::Binary)]) {
        // Not a whole number of rows.
        let values: Vec<u8> = (0..70_001_u32).map(|i| (i / 640 % 2) as u8).collect();
        for preset in [Preset::Fast, Preset::Balanced, Preset::Compact] {
            let chain = preset.on(Medium::Disk).choose(&ty, &values).unwrap();
            assert!(!chain.is_plain(), "{ty}");
            let stored = chain.encode(&values).unwrap();
            assert_eq!(chain.decode(stored.into(), values.len()).unwrap(), values, "{ty} {chain}");
        }
    }
}
