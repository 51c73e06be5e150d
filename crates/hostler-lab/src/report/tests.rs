//! Reports of made-up runs: figures, wording, escaping, and what is not there.

use super::sample::{self, SHAPES};
use super::*;
use crate::load::Errors;
use crate::run::{Cell, Cost, Latency, PhaseSample};
use crate::scenario::{Case, Shape};

/// Every text that is made of a run.
fn all(run: &Run) -> Vec<String> {
    let mut texts = vec![terminal(run, 80, false), terminal(run, 200, true), html(run)];
    texts.extend(csv(run).into_iter().map(|(_, text)| text));
    texts
}

/// Returns whether a word stands alone, not inside another one.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|char: char| !char.is_alphanumeric()).any(|one| one == word)
}

/// A run of the shape whose rounds are exactly these: answers and seconds of a server's round.
fn exact(shape: Shape, name: &str, rounds: &[(u64, f64)]) -> Run {
    let mut run = sample::run(shape, name);
    run.advice.clear();
    run.notes.clear();
    for cell in run.cells.iter_mut().filter(|cell| cell.failed.is_none()) {
        let part = if cell.server == "hostler" { 1.0 } else { 2.0 };
        let round = |(number, (answers, elapsed)): (usize, &(u64, f64))| {
            let mean = 15.0 * elapsed * part / (*answers).max(1) as f64;
            let latency = Latency { mean, longest: mean * 4.0, ..Latency::default() };
            let latency = if *answers == 0 { Latency::default() } else { latency };
            let elapsed = elapsed * part;
            let phase =
                PhaseSample { elapsed, answers: *answers, latency, clients: 15, ..Default::default() };
            sample::sample(number as u32, vec![phase])
        };
        cell.samples = rounds.iter().enumerate().map(round).collect();
    }
    run
}

#[test]
fn the_table_of_registry_is_as_published() {
    let run = exact(Shape::Registry, "registry", &[(5000, 1.0), (5100, 1.0), (4900, 1.0)]);
    let text = terminal(&run, 80, false);
    let expected = "
Average time and rate
                         Hostler    Apache prefork       published
                avtime ms    rps  avtime ms    rps  ms  requests/s
──────────────────────────────────────────────────────────────────
light handler        3.00  5,000       6.00  2,500  15         911
light registry       3.00  5,000       6.00  2,500  21         680
heavy handler        3.00  5,000       6.00  2,500
heavy registry       3.00  5,000       6.00  2,500
  Not here: nginx: not installed: apt install nginx-light.
";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("Hostler is faster than Apache prefork in all 4 cases: 2.00 × as many requests/s."),
        "{text}"
    );
}

#[test]
fn nothing_is_no_number() {
    for (shape, name) in SHAPES {
        for text in all(&sample::run(shape, name)) {
            for word in ["NaN", "inf", "Infinity"] {
                assert!(!has_word(&text, word), "{word} in {name}");
            }
        }
    }
}

#[test]
fn zero_answers_are_no_rate() {
    for (shape, name) in SHAPES {
        let mut run = exact(shape, name, &[(0, 3.0), (0, 3.0)]);
        for cell in &mut run.cells {
            for sample in &mut cell.samples {
                sample.phases[0].errors = Errors { connect: 7, ..Errors::default() };
            }
        }
        for text in all(&run) {
            for word in ["NaN", "inf"] {
                assert!(!has_word(&text, word), "{word} in {name}: {text}");
            }
        }
        let text = terminal(&run, 100, false);
        assert!(text.contains("Nothing was answered: there is nothing to compare."), "{text}");
        assert!(text.contains("no answer"), "{text}");
        assert!(!text.contains("faster"), "{text}");
    }
}

#[test]
fn runs_without_cells_rounds_or_phases_have_reports() {
    for (shape, name) in SHAPES {
        let mut run = sample::run(shape, name);
        run.incomplete = Some("interrupted".into());
        for cell in &mut run.cells {
            for sample in &mut cell.samples {
                sample.phases.clear();
            }
        }
        assert!(all(&run).iter().all(|text| !has_word(text, "NaN")));
        run.cells.iter_mut().for_each(|cell| cell.samples.clear());
        assert!(terminal(&run, 80, false).contains("Incomplete: interrupted."));
        run.cells.clear();
        run.scenario.cases.clear();
        run.servers.clear();
        assert!(html(&run).contains("<strong>Incomplete:</strong> interrupted"));
        assert!(terminal(&run, 10, false).contains("Nothing was answered"));
    }
}

#[test]
fn what_servers_say_is_no_markup_and_no_escape_sequence() {
    let evil = "<script>alert(1)</script>\"'>\u{1b}[2J";
    for (shape, name) in SHAPES {
        let mut run = sample::run(shape, name);
        run.scenario.title = evil.into();
        run.scenario.question = evil.into();
        run.scenario.cases.iter_mut().for_each(|case| case.title = evil.into());
        run.servers.iter_mut().for_each(|server| server.title = evil.into());
        run.servers[2].unavailable = Some(evil.into());
        run.notes = vec![evil.into()];
        run.advice[0].evidence = vec![evil.into()];
        run.incomplete = Some(evil.into());
        for cell in &mut run.cells {
            cell.failed = cell.failed.as_ref().map(|_| evil.into());
            cell.samples.iter_mut().for_each(|sample| sample.stopped = Some(evil.into()));
        }
        let page = html(&run);
        assert!(!page.contains("<script"), "{name}");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&gt;"), "{name}");
        for text in [page, terminal(&run, 80, false)] {
            assert!(!text.contains('\u{1b}'), "{name}");
        }
    }
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    for (shape, name) in SHAPES {
        let page = html(&sample::run(shape, name));
        for outside in ["http:", "https:", "src=", "@import", "url(", "<script"] {
            let page = page.replace("xmlns='http://www.w3.org/2000/svg'", "");
            assert!(!page.contains(outside), "{outside} in {name}");
        }
        assert!(page.contains("<svg class=\"narrow\""), "{name} has a plot");
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
        assert_eq!(page.matches("<table").count(), page.matches("</table>").count());
    }
}

#[test]
fn lines_fit_the_terminal() {
    for (shape, name) in SHAPES {
        for width in [80, 120] {
            for line in terminal(&sample::run(shape, name), width, false).lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
            }
        }
    }
}

#[test]
fn only_colour_makes_escape_sequences() {
    let run = sample::run(Shape::Registry, "registry");
    assert!(!terminal(&run, 80, false).contains('\u{1b}'));
    assert!(terminal(&run, 80, true).contains("\u{1b}["));
}

#[test]
fn what_noise_could_have_made_is_said() {
    let mut run = exact(Shape::Comparison, "own", &[(1000, 1.0), (1000, 1.0), (1000, 1.0)]);
    for cell in run.cells.iter_mut().filter(|cell| cell.server != "hostler") {
        for (sample, factor) in cell.samples.iter_mut().zip([0.5, 0.3, 0.8]) {
            sample.phases[0].elapsed *= factor;
        }
    }
    let text = terminal(&run, 100, false);
    assert!(text.contains("Hostler is within noise of the best in both cases."), "{text}");
    assert!(text.contains("within noise") && !text.contains("  faster"), "{text}");
}

#[test]
fn a_generator_at_its_limit_has_a_dagger() {
    let mut run = exact(Shape::Comparison, "own", &[(1000, 1.0), (1000, 1.0)]);
    assert!(!terminal(&run, 100, false).contains('†'));
    run.cells[0].samples[1].generator_share = 0.97;
    let text = terminal(&run, 100, false);
    assert!(text.contains("1,000 †") && text.contains("97 % †"), "{text}");
    assert!(text.contains("the server may be able to do more"), "{text}");
    assert!(html(&run).contains("1,000 †"));
}

#[test]
fn what_was_not_measured_is_said() {
    let mut run = exact(Shape::Comparison, "own", &[(1000, 1.0), (1000, 1.0)]);
    let cost = Cost {
        processor: Some(0.25),
        memory: None,
        processes: Some(3),
        system_calls: None,
        context_switches: Some(500),
    };
    for sample in run.cells.iter_mut().flat_map(|cell| &mut cell.samples) {
        sample.cost = cost;
    }
    let text = terminal(&run, 120, false);
    let row = text.lines().find(|line| line.contains("not measured")).expect("a row of costs");
    let fields: Vec<&str> = row.split("  ").map(str::trim).filter(|field| !field.is_empty()).collect();
    assert_eq!(fields[1..], ["250", "not measured", "0.500", "not measured", "3", "35 %"], "{row}");
}

#[test]
fn errors_stand_by_kind() {
    let mut run = exact(Shape::Comparison, "own", &[(1000, 1.0)]);
    run.cells[0].samples[0].phases[0].errors = Errors { timeout: 3, status_5xx: 1200, ..Errors::default() };
    let text = terminal(&run, 100, false);
    let row =
        text.lines().skip_while(|line| !line.starts_with("Failed requests by kind")).nth(3).expect("a row");
    let fields: Vec<&str> = row.split_whitespace().rev().take(7).collect();
    assert_eq!(fields, ["2,203", "0", "1,200", "0", "3", "0", "0"], "{row}");
}

#[test]
fn siege_has_its_fields() {
    let mut run = exact(Shape::Isolation, "isolation", &[(1000, 10.0), (500, 10.0)]);
    run.cells[0].samples[0].phases[0].errors.broken = 1;
    let text = terminal(&run, 80, false);
    for line in [
        "transactions 1,500",
        "availability 99.93 %",
        "elapsed time, s 20.0",
        "failed transactions 1",
        "transaction rate, 1/s 75.0",
    ] {
        let found =
            text.lines().any(|one| one.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(line));
        assert!(found, "{line} in {text}");
    }
}

#[test]
fn running_means_are_of_the_last_fifty() {
    let run = sample::run(Shape::Resilience, "bench4");
    let request = |at: f64, took| crate::load::Request { at, took, ..run.cells[0].samples[0].requests[0] };
    let slow = (0..50).map(|index| request(f64::from(index), 0.5));
    let fast = (50..100).map(|index| request(f64::from(index), 0.1));
    let requests: Vec<_> = slow.chain(fast).collect();
    let running = results::resilience::running(&requests);
    assert_eq!(running.len(), 51);
    assert!((running[0].mean - 0.5).abs() < 1e-9 && running[0].deviation < 1e-6);
    assert!((running[25].mean - 0.3).abs() < 1e-9 && (running[25].deviation - 0.2).abs() < 1e-6);
    assert!((running[50].mean - 0.1).abs() < 1e-9);
}

#[test]
fn a_rising_load_says_where_its_limit_broke() {
    for (shape, name) in SHAPES {
        let mut run = sample::run(shape, name);
        run.saturation = true;
        for case in &mut run.scenario.cases {
            let mut rising = case.plan.clone();
            rising.phases =
                vec![crate::load::Phase::Open { rate: 10.0, to_rate: Some(1000.0), seconds: 60.0 }];
            case.saturation = Some(rising);
        }
        for (number, cell) in run.cells.iter_mut().enumerate() {
            for sample in &mut cell.samples {
                let part = 50 + 10 * number as u64;
                let second =
                    |answers| crate::load::Second { answers, bytes: answers * 100, failures: 0, clients: 0 };
                sample.seconds = vec![second(part), second(part * 2), second(part / 2)];
                sample.stopped = Some(format!("p99 was 1.2 s at {} a second", part * 2));
            }
        }
        let text = terminal(&run, 120, false);
        assert!(text.contains("p99 was 1.2 s at 100 a second"), "{name}: {text}");
        assert!(text.contains("requests in the best second"), "{name}: {text}");
        assert!(html(&run).contains("Requests in the best second"), "{name}");
    }
}

/// A run of three cases at Hostler and three others, whose rate is so many times Hostler's.
fn against(parts: [[f64; 3]; 3]) -> Run {
    let mut run = exact(Shape::Comparison, "own", &[(1000, 1.0); 6]);
    let (case, cell) = (run.scenario.cases[0].clone(), run.cells[0].clone());
    let names = ["hostler", "alpha", "beta", "gamma"];
    run.scenario.contestants = names.map(str::to_owned).to_vec();
    run.scenario.cases = (0..3)
        .map(|number| Case {
            name: format!("case-{number}"),
            title: format!("case {number}"),
            path: format!("/{number}"),
            ..case.clone()
        })
        .collect();
    run.cells.clear();
    for (case, parts) in run.scenario.cases.iter().zip(parts) {
        for (name, part) in names.iter().zip([1.0].iter().chain(&parts)) {
            let mut cell =
                Cell { case: case.name.clone(), server: (*name).to_owned(), failed: None, ..cell.clone() };
            for (number, sample) in cell.samples.iter_mut().enumerate() {
                // A little noise, or equal ones would be better than each other.
                let noise = 1.0 + (number as f64 - 2.5) * 0.01 * if *name == "alpha" { 1.0 } else { -1.0 };
                sample.phases[0].elapsed = noise / part;
            }
            run.cells.push(cell);
        }
    }
    run
}

#[test]
fn slower_than_all_is_said_as_loudly_as_faster() {
    let run = against([[0.5, 0.6, 0.7], [2.0, 2.0, 2.0], [2.0, 1.0, 1.0]]);
    let text = terminal(&run, 400, false);
    for said in [
        "Hostler is faster than all 3 others in 1 of 3 cases: 1.43 × as many requests/s as the next",
        "slower than all 3 others in 1 of 3 cases: 0.50 × as many requests/s (case 1)",
        "slower than alpha (0.50 ×) in case 2",
        "alpha is fastest in 1 of 3 cases",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn the_leading_group_of_one_page_is_named() {
    let mut run = against([[2.0, 2.0, 0.5]; 3]);
    run.scenario.cases.truncate(1);
    let text = terminal(&run, 400, false);
    assert!(text.contains("Leading, within noise of each other, in requests/s: "), "{text}");
    assert!(
        text.contains("alpha") && text.contains("beta") && text.contains("slower than all: gamma"),
        "{text}"
    );
}

#[test]
fn what_makes_figures_worth_less_stands_beside_the_answer() {
    let mut run = exact(Shape::Comparison, "own", &[(1000, 1.0), (1000, 1.0)]);
    assert!(!terminal(&run, 300, false).contains("Warning"));
    run.servers[0].version = Some("hostler 0.1.0 (debug build)".into());
    run.machine.load = Some(1.7);
    run.cells[0].samples[0].phases[0].starved = 10;
    let (text, page) = (terminal(&run, 300, false), html(&run));
    for said in [
        "hostler 0.1.0 (debug build) was measured",
        "the machine was busy when the run began (load 1.7 on 2 processors)",
        "10 of 15 clients got no answer at all from Hostler",
    ] {
        assert!(text.contains(&format!("Warning: {said}")), "{said}: {text}");
        assert!(page.contains(&format!("<strong>Warning:</strong> {said}")), "{said}");
    }
}
