//! Scripts and what they make of a text.

use super::*;

/// Applies the parts of a script to a text that arrives in pieces of so many bytes.
fn edited_by(parts: &[&str], text: &str, size: usize) -> Result<String, Failed> {
    let mut script = Script::default();
    for part in parts {
        script.add(part.as_bytes()).unwrap();
    }
    let mut editor = Editor::new(Arc::new(script))?;
    let mut out = Vec::new();
    for piece in text.as_bytes().chunks(size) {
        editor.push(piece)?;
        while editor.step(3, &mut out)? {}
    }
    editor.finish(&mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[track_caller]
fn expect(parts: &[&str], text: &str, expected: &str) {
    for size in [1, 2, 3, 1000] {
        assert_eq!(edited_by(parts, text, size).as_deref(), Ok(expected), "{parts:?} by {size}");
    }
}

#[test]
fn substitutions_are_made_as_apache_makes_them() {
    expect(&["s/a/b/"], "aa\naa", "ba\nba\n");
    expect(&["s/a/b/g"], "aa\n\naa\n", "bb\n\nbb\n");
    expect(&["s/x*/-/g"], "abc", "-a-b-c-\n");
    expect(&["s/b*c/X/g"], "cc bc", "Xc X\n");
    expect(&["s/a/b/2"], "aaa", "aba\n");
    expect(&["s/^a/b/g"], "aaa", "baa\n");
    expect(&["s/\\(f\\)\\(o\\)/\\2\\n\\1\\&&/"], "foo", "onf&foo\n");
    expect(&["s,/a/,/b/,"], "x/a/", "x/b/\n");
    expect(&["/foo/s//bar/"], "foo", "bar\n");
    expect(&["s/o/O/gp"], "foo", "fOO\n");
    expect(&["#n", "s/o/O/gp"], "foo\nbar", "fOO\n");
    expect(&["s/a\\\nb/x/".replace('\\', "").replace('\n', "\\n").as_str()], "a\nb", "a\nb\n");
    expect(&["y/abc/xyz/"], "cab", "zxy\n");
}

#[test]
fn addresses_say_which_lines_are_meant() {
    let text = "1\n2\n3\n4\n5\n";
    expect(&["2d"], text, "1\n3\n4\n5\n");
    expect(&["2,4d"], text, "1\n5\n");
    expect(&["2!d"], text, "2\n");
    expect(&["$d"], text, "1\n2\n3\n4\n");
    expect(&["$!d"], text, "5\n");
    expect(&["/2/,/4/d"], text, "1\n5\n");
    expect(&["3,$d"], text, "1\n2\n");
    expect(&["4,2d"], text, "1\n2\n3\n5\n");
    expect(&["/2/,/4/!d"], text, "2\n3\n4\n");
    expect(&["\\,3,d"], text, "1\n2\n4\n5\n");
    expect(&["2,3{s/2/x/;s/3/y/", "}"], text, "1\nx\ny\n4\n5\n");
    expect(&["2q"], text, "1\n2\n");
    expect(&["="], "a\nb", "1\na\n2\nb\n");
}

#[test]
fn lines_are_joined_kept_and_exchanged() {
    expect(&["N;s/\\n/+/"], "a\nb\nc\nd\n", "a+b\nc+d\n");
    expect(&["$!N;s/\\n/+/"], "a\nb\nc\n", "a+b\nc\n");
    expect(&["N;P;D"], "a\nb\nc\n", "a\nb\n");
    expect(&["n;d"], "a\nb\nc\n", "a\nc\n");
    expect(&["1!G;h;$!d"], "a\nb\nc\n", "c\nb\na\n");
    expect(&["H;$!d;x;s/\\n/,/g"], "a\nb\n", ",a,b\n");
    expect(&["x;p;x"], "a\nb", "\na\n\nb\n");
}

#[test]
fn jumps_lead_where_apache_leads_them() {
    expect(&[":a", "s/a/b/;ta"], "aaa", "bbb\n");
    expect(&["/a/b end", "s/x/y/", ":end"], "ax\nx", "ax\ny\n");
    // The first of two jumps without a label leads to the second one.
    expect(&["/a/b", "/x/b", "s/o/0/"], "ao\nxo\no", "a0\nxo\n0\n");
}

#[test]
fn texts_are_put_in() {
    expect(&["1a\\\n  text\\\nmore"], "a\nb\n", "a\ntext\nmore\nb\n");
    expect(&["2i\\\ntext"], "a\nb\n", "a\ntext\nb\n");
    expect(&["1,2c\\\ntext"], "a\nb\nc\n", "text\nc\n");
}

#[test]
fn what_can_t_be_seen_is_listed() {
    expect(&["#n", "l"], "a\tb\u{7f}", "a\\11b\\177\n");
    expect(&["#n", "l"], "ö", "\\/03\\.66\n");
    let long = "x".repeat(80);
    expect(&["#n", "l"], &long, &format!("{}\\\n{}\n", "x".repeat(71), "x".repeat(9)));
}

#[test]
fn what_would_have_no_end_has_one() {
    let endless = edited_by(&[":a", "G;h;ba"], "text", 10).unwrap_err();
    assert!(endless.0.contains("longer"), "{endless:?}");
    assert!(edited_by(&[":a", "p;ba"], "text", 10).is_err());
    assert!(edited_by(&["s/\\(\\)/x/g"], "text", 10).is_err());
    let mut editor = Editor::new(Arc::new(Script::default())).unwrap();
    assert!(editor.push(&vec![b'x'; LONGEST]).is_ok() && editor.push(b"x").is_err());
}

#[test]
fn a_script_that_is_open_changes_nothing() {
    assert!(edited_by(&["{s/a/b/"], "a", 10).is_err());
    assert!(edited_by(&["b nowhere"], "a", 10).is_err());
}
