//! Definitions in IDL against their twins as `.msg`, and what is refused.

use super::*;

fn module(body: &str) -> String {
    format!("module here {{ module msg {{ {body} }}; }};")
}

fn of(body: &str) -> Result<Message> {
    parse("here/msg/It", &module(body))
}

#[test]
fn traps_of_files_that_ros_writes_are_read() {
    let text = r#"// generated from rosidl_adapter/resource/msg.idl.em
// with input from here/msg/It.msg
#include "std_msgs/msg/Header.idl"
module here {
  module msg {
    typedef double double__36[36];
    typedef here::msg::Part here__msg__Part__2[2];
    module It_Constants {
      @verbatim (language="comment", text="a ; } // b")
      const uint8 LIMIT = 3;
      const string NAME = "x // y" " } z";
    };
    @verbatim (language="comment", text=
      "See http://wiki.ros.org // and /* more" "\n"
      "\"quoted\" ; struct Other {")
    struct It {
      std_msgs::msg::Header header;
      @unit (value="m // s") @default (value=-1.5e-3) @range(min=0, max=5)
      double x;
      sequence<octet> data; sequence<string<5>, 10> names;
      double__36 covariance;
      here__msg__Part__2 parts;
      builtin_interfaces::msg::Time at[2];
      @optional(FALSE) unsigned long long a, b[It_Constants::LIMIT * (1 + 0x1) - 010 / 4];
    };
    struct Part {
      uint8 structure_needs_at_least_one_member;
    };
  };
};
"#;
    let twin = "std_msgs/Header header\nfloat64 x\nbyte[] data\nstring<=5[<=10] names\nfloat64[36] covariance\nPart[2] parts\n\
        builtin_interfaces/Time[2] at\nuint64 a\nuint64[4] b\n===\nMSG: here/Part\n";
    assert_eq!(parse("here/msg/It", text).unwrap(), msg::parse("here/msg/It", twin, Ros::Two).unwrap());
    // As a recording has it: each file behind a heading.
    let heading = "=".repeat(80);
    let more = format!(
        "{heading}\nIDL: here/msg/It\n{text}\n{heading}\nIDL: std_msgs/msg/Header\nmodule std_msgs {{ module msg {{
        struct Header {{ builtin_interfaces::msg::Time stamp; string frame_id; }}; }}; }};"
    );
    assert_eq!(parse("here/msg/It", &more).unwrap(), msg::parse("here/msg/It", twin, Ros::Two).unwrap());
}

#[test]
fn names_are_found_from_the_inside_out_and_dimensions_from_left_to_right() {
    let text = "struct Part { long own; }; module here { struct Part { float outer; }; module msg { enum Colour { RED, @value(5) GREEN };
        struct Part { octet inner; }; struct Base { boolean first; };
        struct It : Base { Part a; ::Part b; here::Part c; Colour d; short e[2][3]; sequence<sequence<char>> f; };
        union Unused switch (long) { case 1: long x; default: short y; }; }; };";
    let found = parse("here/It", text).unwrap();
    let types: Vec<String> = ["first", "a.inner", "b.own", "c.outer", "d", "e", "f"]
        .iter()
        .map(|path| format!("{:?}", found.path(path).unwrap_or_else(|| panic!("{path}")).1))
        .collect();
    let expected = [
        "Number(Bool)",
        "Number(U8)",
        "Number(I32)",
        "Number(F32)",
        "Number(U32)",
        "Array(Array(Number(I16), Some(3)), Some(2))",
        "Array(Array(Number(U8), None), None)",
    ];
    assert_eq!(types, expected);
}

#[test]
fn what_is_wrong_or_not_of_ros_is_refused_with_its_line() {
    for (body, expected) in [
        ("struct It { @optional long x; };", "line 1: `x` is @optional"),
        ("struct It {\n wstring<5> x; };", "line 2: a field of type `wstring`"),
        ("struct It { long double x; };", "`long double`"),
        ("struct It { map<long, sequence<long>> x; };", "`map`"),
        ("bitmask B { A }; struct It { B x; };", "`B` is a bitmask, which ROS 2 has not"),
        ("struct It { Nothing x; };", "the type `Nothing` is not defined"),
        ("struct It { It x; };", "`here::msg::It` contains itself"),
        ("struct It { sequence<It> x; };", "`here::msg::It` contains itself"),
        ("struct It : It { long x; };", "is based on itself"),
        ("typedef A B; typedef B A; struct It { A x; };", "aliases of each other"),
        ("const long A = B; const long B = A + A; struct It { long x[A]; };", "constants of each other"),
        ("struct It { long x[0]; };", "an array of 0 elements"),
        ("struct It { long x[1 << 40]; };", "an array of 1099511627776 elements"),
        ("struct It { long x[1 / 0]; };", "`1 / 0` has no value"),
        ("struct It { long x[\"a\"]; };", "expected a whole number"),
        ("struct It { long x[2.5]; };", "expected a whole number, found `2.5`"),
        ("struct It { long x[N]; };", "the constant `N` is not defined"),
        ("struct It { long x; short x; };", "two fields `x`"),
        ("struct It { long; };", "expected a name, found `;`"),
        ("struct It { long x }", "expected `;`, found `}`"),
        ("struct It { struct { long y; } x; };", "a struct inside of another declaration"),
        ("banana It;", "expected a declaration, found `banana`"),
        ("struct Other { long x; };", "there is no struct `here/msg/It`"),
    ] {
        let error = of(body).unwrap_err().to_string();
        assert!(error.starts_with("the definition of here/msg/It: ") && error.contains(expected), "{body}\n{error}");
    }
    for (text, expected) in [("module a {", "module `a` has no end"), ("};", "a `}` without its `{`"), ("\"a", "without an end")]
    {
        let error = parse("here/msg/It", text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn few_declarations_that_use_each_other_many_times_are_refused() {
    let twice: String = (0..30).map(|i| format!("struct T{i} {{ T{} a, b; }};", i + 1)).collect();
    let error = of(&format!("{twice} struct T30 {{ long x; }}; struct It {{ T0 x; }};")).unwrap_err().to_string();
    assert!(error.contains("over 100000 fields"), "{error}");
    let sums: String = (0..30).map(|i| format!("const long C{i} = C{} + C{};", i + 1, i + 1)).collect();
    assert!(of(&format!("{sums} const long C30 = 1; struct It {{ long x[C0]; }};")).is_err());
    let deep = |open: &str, close: &str| format!("struct It {{ {}long{} x; }};", open.repeat(5000), close.repeat(5000));
    assert!(of(&deep("sequence<", ">")).unwrap_err().to_string().contains("sequences over"));
    assert!(parse("a", &"module a {".repeat(5000)).unwrap_err().to_string().contains("modules over"));
    assert!(of(&format!("struct It {{ long x[{}1]; }};", "(".repeat(5000))).is_err());
    assert!(of(&format!("struct It {{ long x[{}1]; }};", "-".repeat(5000))).is_err());
}

/// A random definition as `.msg` and, as `rosidl_adapter` writes it, as IDL.
struct Twins {
    rng: fastrand::Rng,
}

const PRIMITIVES: [(&str, &str); 14] = [
    ("bool", "boolean"),
    ("byte", "octet"),
    ("char", "uint8"),
    ("int8", "int8"),
    ("uint8", "uint8"),
    ("int16", "int16"),
    ("uint16", "unsigned short"),
    ("int32", "long"),
    ("uint32", "uint32"),
    ("int64", "long long"),
    ("uint64", "uint64"),
    ("float32", "float"),
    ("float64", "double"),
    ("string", "string"),
];

impl Twins {
    fn comment(&mut self, out: &mut String) {
        let texts = ["plain", "http://ros.org // more", "a \\\" b", "} ; { /* x", "@optional", "=====\nIDL: a/b"];
        if self.rng.bool() {
            let texts = (0..self.rng.usize(1..3)).map(|_| format!("\"{}\"", texts[self.rng.usize(..texts.len())]));
            out.push_str(&format!(
                "@verbatim (language=\"comment\", text=\n  {})\n",
                texts.collect::<Vec<_>>().join(" \"\\n\"\n  ")
            ));
        }
        if self.rng.u8(..4) == 0 {
            out.push_str("// struct { \" \n/* ' */ ");
        }
    }

    /// Returns a definition with as many types below it.
    fn definition(&mut self, name: &str, below: &[String]) -> (String, String) {
        let (mut msg, mut typedefs, mut members, mut constants) = (String::new(), String::new(), String::new(), String::new());
        for number in 0..self.rng.usize(..7) {
            let (of_msg, of_idl) = match self.rng.usize(..8) {
                0 if !below.is_empty() => {
                    let other = &below[self.rng.usize(..below.len())];
                    let short = if self.rng.bool() { other.clone() } else { format!("here/{other}") };
                    (short, format!("here::msg::{other}"))
                }
                1 => ("builtin_interfaces/Time".to_owned(), "builtin_interfaces::msg::Time".to_owned()),
                2 => ("builtin_interfaces/Duration".to_owned(), "builtin_interfaces::msg::Duration".to_owned()),
                3 => ("string<=7".to_owned(), "string<7>".to_owned()),
                _ => {
                    let (of_msg, of_idl) = PRIMITIVES[self.rng.usize(..PRIMITIVES.len())];
                    (of_msg.to_owned(), of_idl.to_owned())
                }
            };
            let field = format!("f{number}");
            self.comment(&mut members);
            match self.rng.usize(..5) {
                0 => {
                    let count = self.rng.usize(1..5);
                    msg.push_str(&format!("{of_msg}[{count}] {field}\n"));
                    if self.rng.bool() {
                        typedefs.push_str(&format!("typedef {of_idl} {name}__{number}[{count}];\n"));
                        members.push_str(&format!("{name}__{number} {field};\n"));
                    } else {
                        constants.push_str(&format!("const uint32 N{number} = {count};\n"));
                        members.push_str(&format!("{of_idl} {field}[{name}_Constants::N{number}];\n"));
                    }
                }
                1 => {
                    msg.push_str(&format!("{of_msg}[] {field}\n"));
                    members.push_str(&format!("sequence<{of_idl}> {field};\n"));
                }
                2 => {
                    msg.push_str(&format!("{of_msg}[<=9] {field}\n"));
                    members.push_str(&format!("sequence<{of_idl}, 9> {field};\n"));
                }
                _ => {
                    msg.push_str(&format!("{of_msg} {field} # {{ ;\n"));
                    members.push_str(&format!("{of_idl} {field};\n"));
                }
            }
        }
        if members.is_empty() {
            members.push_str(&format!("uint8 {PLACEHOLDER};\n"));
        }
        let mut idl = String::from("#include \"other.idl\"\nmodule here {\nmodule msg {\n");
        idl.push_str(&format!("{typedefs}module {name}_Constants {{\n{constants}const string S = \"a;\";\n}};\n"));
        self.comment(&mut idl);
        idl.push_str(&format!("struct {name} {{\n{members}}};\n}};\n}};\n"));
        (msg, idl)
    }
}

#[test]
fn random_definitions_in_idl_have_the_types_of_their_twins() {
    let mut twins = Twins { rng: fastrand::Rng::with_seed(7) };
    for _ in 0..500 {
        let (mut msg, mut idl, mut names) = (String::new(), String::new(), Vec::new());
        for number in 0..twins.rng.usize(..4) {
            let name = format!("Part{number}");
            let (of_msg, of_idl) = twins.definition(&name, &names);
            msg.push_str(&format!("{}\nMSG: here/{name}\n{of_msg}\n", "=".repeat(80)));
            idl.push_str(&format!("{}\nIDL: here/msg/{name}\n{of_idl}\n", "=".repeat(80)));
            names.push(name);
        }
        let (of_msg, of_idl) = twins.definition("It", &names);
        let idl = format!("{}\nIDL: here/msg/It\n{of_idl}\n{idl}", "=".repeat(80));
        let msg = format!("{of_msg}\n{msg}");
        let found = parse("here/msg/It", &idl).unwrap_or_else(|error| panic!("{error}\n{idl}"));
        assert_eq!(found, msg::parse("here/msg/It", &msg, Ros::Two).unwrap(), "{idl}\n{msg}");
        for _ in 0..10 {
            let mut cut: Vec<u8> = idl.clone().into_bytes();
            let at = twins.rng.usize(..cut.len());
            if twins.rng.bool() {
                cut.truncate(at)
            } else {
                cut[at] = b" {};<>@\"/"[twins.rng.usize(..9)]
            }
            drop(parse("here/msg/It", std::str::from_utf8(&cut).unwrap()));
        }
    }
}
