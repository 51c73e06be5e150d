//! Runs the pages of `cases.txt` and compares with what Apache made of them: output, and how many errors and
//! warnings were logged. `record.py` records Apache's side anew.

mod site;

use site::Site;

/// Cases that come out differently on purpose, and why.
const DIFFERENCES: [(&str, &str); 1] = [(
    "regex-that-does-not-compile",
    "Apache counts a pattern that does not compile as one that matches; here the error message shows",
)];

/// One entry of `cases.txt`.
struct Case<'a> {
    name: &'a str,
    options: Vec<&'a str>,
    page: Vec<u8>,
    log: &'a str,
    output: &'a str,
}

fn cases() -> Vec<Case<'static>> {
    let text = include_str!("cases.txt");
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split("\n=== ").skip(1).map(case).collect()
}

fn case(block: &'static str) -> Case<'static> {
    let (head, rest) = block.split_once('\n').expect("an entry has a page");
    let (page, answer) = rest.split_once("\n--- log=").expect("an entry has an answer");
    let (log, output) = answer.split_once('\n').expect("an answer has an output");
    let mut words = head.split(' ');
    let name = words.next().expect("an entry has a name");
    let options: Vec<&str> = words.collect();
    let page = if options.contains(&"hex") { unhex(page) } else { page.as_bytes().to_vec() };
    Case { name, options, page, log, output }
}

/// Reads `\xNN`.
fn unhex(text: &str) -> Vec<u8> {
    let mut pieces = text.split("\\x");
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(&piece[..2], 16).expect("two hexadecimal digits"));
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    bytes
}

/// Writes control characters and what is not UTF-8 as `\xNN`, as `record.py` does.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if (character < ' ' && character != '\n') || character == '\x7f' {
                text.push_str(&format!("\\x{:02x}", u32::from(character)));
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

#[test]
fn pages_come_out_as_from_apache() {
    let mut differences = Vec::new();
    let cases = cases();
    assert!(cases.len() >= 140, "only {} cases were read", cases.len());
    for case in &cases {
        let mut site = Site::new(case.name, &case.options);
        let mut output = Vec::new();
        site.serve(&case.page, &mut output);
        let (output, log) = (shown(&output), site.logged());
        let differs = output != case.output || log != case.log;
        if differs != DIFFERENCES.iter().any(|(name, _)| *name == case.name) {
            differences.push(format!(
                "{}:\n  Apache  {} {:?}\n  Hostler {} {:?}\n{}",
                case.name,
                case.log,
                case.output,
                log,
                output,
                site.messages()
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} differ\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n")
    );
}

/// Every beginning of every page, and each with bytes replaced, must come to an end without a panic.
#[test]
fn no_page_is_too_broken() {
    let noise = b"<!-#>\"'`\\$={} \n\0\xff";
    let mut seed = 1_u32;
    for case in &cases() {
        let runs_programs = case.page.windows(4).any(|window| window == b"exec" || window == b".cgi");
        if runs_programs {
            continue;
        }
        for end in 0..case.page.len() {
            let mut page = case.page[..end].to_vec();
            Site::new(case.name, &case.options).serve(&page, &mut Vec::new());
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = seed as usize % (end + 1);
            if let Some(byte) = page.get_mut(at) {
                *byte = noise[(seed >> 16) as usize % noise.len()];
                Site::new(case.name, &case.options).serve(&page, &mut Vec::new());
            }
        }
    }
}
