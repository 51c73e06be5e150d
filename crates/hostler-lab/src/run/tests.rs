//! Runs for tests, made of nothing but rates.

use super::*;

/// A run of cells: case, server and the rate of each round.
pub(crate) fn run(cells: &[(&str, &str, &[f64])]) -> Run {
    let mut scenario = crate::scenario::load("registry").unwrap();
    scenario.published.clear();
    let model = scenario.cases[0].clone();
    scenario.cases.clear();
    let mut servers = Vec::new();
    for (case, server, _) in cells {
        if !scenario.cases.iter().any(|known| known.name == *case) {
            let (name, title) = ((*case).to_owned(), (*case).to_owned());
            scenario.cases.push(crate::scenario::Case { name, title, ..model.clone() });
        }
        if !servers.iter().any(|known: &Server| known.name == *server) {
            let (name, title) = ((*server).to_owned(), (*server).to_owned());
            servers.push(Server { name, title, version: Some("1".to_owned()), unavailable: None });
        }
    }
    scenario.contestants = servers.iter().map(|server| server.name.clone()).collect();
    Run {
        format: FORMAT,
        scenario,
        started: "2026-01-01T00:00:00Z".to_owned(),
        quick: false,
        saturation: false,
        cpu: None,
        database: None,
        command: String::new(),
        incomplete: None,
        machine: Machine { processors: 2, ..Machine::default() },
        generator: Generator::default(),
        servers,
        cells: cells.iter().map(|(case, server, rates)| cell(case, server, rates)).collect(),
        notes: Vec::new(),
        advice: Vec::new(),
        evidence: Vec::new(),
    }
}

fn cell(case: &str, server: &str, rates: &[f64]) -> Cell {
    let samples = (0..).zip(rates).map(|(round, rate)| sample(round, *rate)).collect();
    Cell { case: case.to_owned(), server: server.to_owned(), failed: None, samples }
}

/// Ten seconds at a rate, by 15 clients that do nothing but wait.
fn sample(round: u32, rate: f64) -> Sample {
    let answers = (rate * 10.0) as u64;
    let mean = if rate > 0.0 { 15.0 / rate } else { 0.0 };
    let latency = Latency { mean, p50: mean, ..Latency::default() };
    let phase = PhaseSample { elapsed: 10.0, answers, clients: 15, latency, ..PhaseSample::default() };
    Sample {
        round,
        at: f64::from(round) * 10.0,
        phases: vec![phase],
        cost: Cost { processor: Some(5.0), memory: Some(50 << 20), ..Cost::default() },
        generator_share: 0.1,
        stopped: None,
        requests: Vec::new(),
        seconds: Vec::new(),
    }
}

#[test]
fn no_answers_no_rate() {
    let run = run(&[("a", "hostler", &[0.0, 100.0])]);
    assert_eq!(run.cells[0].samples[0].rate(), None);
    assert_eq!(run.cells[0].samples[1].rate(), Some(100.0));
}
