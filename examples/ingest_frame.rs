//! Imports a dump of a data set into a table: a Parquet file of rows, and a folder with the pictures and sweeps that it names.

use std::{fs, fs::File, path::Path, sync::Arc};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use tetrys::{
    ErrorKind, Store, Table,
    ingest::frame::{Frame, FrameSettings, Missing, ingest},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let dump = folder.path().join("dump");
    make_dump(&dump)?;

    // Lists the columns of the file, and the column types that they would get.
    let frame = Frame::parquet(dump.join("samples.parquet"))?;
    assert_eq!(frame.rows(), 60);
    for (name, ty) in frame.column_types() {
        println!("{name}: {}", ty.map_or("no type".to_owned(), ToString::to_string));
    }

    // Small columns become index columns, and each file a column of its own. The ego pose is read rarely, so it leaves the index.
    let settings = FrameSettings::default()
        .blob("camera.jpeg", "camera")
        .blob("lidar.bin", "sweep")
        .group("sensors", ["camera.jpeg", "lidar.bin"])
        .group("ego", ["ego_*"])
        .sequence_by(["scene"])
        .order_by(["timestamp"]);
    let url = folder.path().join("table").display().to_string();

    // The file of one sweep is missing: an error names it, unless nulls are allowed.
    let error = ingest(&frame, Store::open(&url)?, &settings, |_| {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().starts_with("row 17: blob `lidar.bin`, file sweeps/17.bin: "), "{error}");
    let settings = FrameSettings { missing: Missing::Null, ..settings };
    ingest(&frame, Store::open(&url)?, &settings, |_| {}).await?;

    let table = Table::open(&url).await?;
    assert_eq!((table.rows(), table.sequence_count()), (60, 3));
    let index: Vec<&str> = table.schema().index().map(|column| column.name.as_str()).collect();
    assert_eq!(index, ["scene", "timestamp", "camera", "sweep"]);
    let row = table.row_loader().get_row(42).await?;
    assert_eq!(row.bytes("camera.jpeg")?, picture(42));
    assert_eq!(*row.tensor::<f64>("ego_speed")?, [4.2]);
    let lost = table.row_loader().get_row(17).await?;
    assert_eq!(lost.bytes("lidar.bin").unwrap_err().kind(), ErrorKind::NotFound);

    // Camera and lidar are in one group: a window of both is one byte range.
    let loader = table.row_loader().columns(["camera.jpeg", "lidar.bin"])?;
    let cost = loader.explain(42, -2..=0).await?;
    assert_eq!((cost.groups.len(), cost.ranges), (1, 1));
    println!("three rows of both sensors: {} range, {} bytes", cost.ranges, cost.bytes);
    Ok(())
}

/// Writes three scenes of twenty samples: `samples.parquet` and the files that it names.
fn make_dump(dump: &Path) -> Result<(), Box<dyn std::error::Error>> {
    for part in ["pictures", "sweeps"] {
        fs::create_dir_all(dump.join(part))?;
    }
    for row in 0..60 {
        fs::write(dump.join(format!("pictures/{row}.jpg")), picture(row))?;
        if row != 17 {
            fs::write(dump.join(format!("sweeps/{row}.bin")), vec![row as u8; 5000])?;
        }
    }
    let texts = |text: &dyn Fn(usize) -> String| Arc::new(StringArray::from_iter_values((0..60).map(text))) as ArrayRef;
    let columns = [
        ("scene", texts(&|row| format!("scene-{:04}", row / 20))),
        ("timestamp", Arc::new((0..60).map(|row| row * 500_000).collect::<Int64Array>())),
        ("camera", texts(&|row| format!("pictures/{row}.jpg"))),
        ("sweep", texts(&|row| format!("sweeps/{row}.bin"))),
        ("ego_speed", Arc::new((0..60).map(|row| f64::from(row) / 10.0).collect::<Float64Array>()) as ArrayRef),
        ("ego_yaw", Arc::new((0..60).map(|row| f64::from(row).sin()).collect::<Float64Array>())),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let mut writer = ArrowWriter::try_new(File::create(dump.join("samples.parquet"))?, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

fn picture(row: usize) -> Vec<u8> {
    (0..8000 + row).map(|byte| (byte * byte % 251) as u8).collect()
}
