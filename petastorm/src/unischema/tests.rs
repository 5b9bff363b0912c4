//! Tests of the schemas that pickles describe.

use super::*;

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/petastorm_pickle");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> =
        entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

fn schema(name: &str) -> Unischema {
    let bytes = corpus().into_iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("{name}")).1;
    Unischema::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_protocols_of_one_schema_describe_the_same_fields() {
    let schemas = [0, 2, 4].map(|protocol| schema(&format!("schema-TestSchema_py311_numpy126_proto{protocol}")));
    assert_eq!(schemas[0].fields.len(), 17);
    assert_eq!(schemas[0], schemas[1]);
    assert_eq!(schemas[0], schemas[2]);
}

#[test]
fn the_schema_of_0_7_6_has_the_fields_that_petastorm_sees() {
    let schema = schema("schema-0.7.6");
    assert_eq!((schema.name.as_str(), schema.fields.len()), ("TestSchema", 17));
    let field = |name: &str| schema.field(name).unwrap();
    let decimal = field("decimal");
    let Codec::Scalar(Some(spark)) = &decimal.codec else { panic!("{decimal:?}") };
    assert_eq!(
        (spark.class.as_str(), spark.int("precision"), spark.int("scale")),
        ("pyspark.sql.types.DecimalType", Some(10), Some(9))
    );
    assert_eq!(decimal.dtype, Dtype::Decimal);
    assert_eq!(field("image_png").codec, Codec::Image("png".to_owned(), 80));
    assert_eq!(field("image_png").shape, [Some(32), Some(16), Some(3)]);
    assert_eq!(field("matrix_string").shape, [None, None]);
    assert_eq!(field("matrix_string").dtype.name(), "bytes_");
    assert_eq!(field("partition_key").dtype.name(), "str_");
    assert_eq!(field("id_odd").dtype, Dtype::Primitive(Primitive::Bool, "bool_".to_owned()));
    assert!(field("integer_nullable").nullable && !field("id").nullable);
    assert_eq!(field("matrix").codec, Codec::Ndarray);
}

#[test]
fn hostile_schemas_are_refused_and_the_message_names_what_was_found() {
    let mut seen = 0;
    for (name, bytes) in corpus().into_iter().filter(|(name, _)| name.starts_with("hostile-")) {
        let result = Unischema::parse(&bytes);
        // The state of a codec has no attributes if it is a call. The call is not made, and nobody asks for its result.
        if name == "hostile-codec-state" {
            assert_eq!(result.unwrap().fields[0].codec, Codec::Scalar(None));
            continue;
        }
        let error = result.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error.kind(), tetrys::ErrorKind::Unsupported | tetrys::ErrorKind::Corrupt), "{name}: {text}");
        assert!(text.contains("expected") || text.contains("stack is empty"), "{name}: {text}");
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
    let eval = corpus().into_iter().find(|(name, _)| name == "hostile-eval").unwrap().1;
    let error = Unischema::parse(&eval).unwrap_err().to_string();
    assert!(
        error.ends_with("expected a petastorm.unischema.Unischema, found a call of builtins.eval, which was not made"),
        "{error}"
    );
}

#[test]
fn an_unknown_codec_is_kept_by_its_name() {
    assert_eq!(schema("schema-unknown-codec").fields[0].codec, Codec::Other("mine.codecs.Lidar".to_owned()));
}

#[test]
fn the_bool_of_numpy_2_is_not_that_of_python() {
    for (module, expected) in [("numpy", "bool_"), ("builtins", "bool"), ("__builtin__", "bool")] {
        let pickle = Pickle::parse(format!("c{module}\nbool\n.").as_bytes()).unwrap();
        assert_eq!(Dtype::read(&pickle, pickle.root_id()).unwrap().name(), expected);
    }
}

#[test]
fn names_of_types_that_mean_the_same_become_one() {
    for (name, expected) in
        [("string_", "bytes_"), ("unicode_", "str_"), ("intc", "int32"), ("float_", "float64"), ("longlong", "int64")]
    {
        assert_eq!(Dtype::named(name).name(), expected);
    }
    for (code, expected) in
        [("<f4", "float32"), ("|b1", "bool_"), (">U5", "str_"), ("S", "bytes_"), ("M8[ns]", "datetime64"), ("c8", "c8")]
    {
        assert_eq!(Dtype::coded(code).name(), expected);
    }
}
