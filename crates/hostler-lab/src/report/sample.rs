//! Runs made up for tests and for looking at reports: one of each shape, always the same.

use crate::load::{Errors, Request, Second};
use crate::run::{Advice, Cell, Cost, FORMAT, Generator, Latency, Machine, PhaseSample, Run, Sample, Server};
use crate::scenario::Shape;
use asked::{cases, published, scenario};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

// The path, since an example takes this file too.
#[path = "sample/asked.rs"]
mod asked;

/// All shapes with the names of their scenarios.
pub(crate) const SHAPES: [(Shape, &str); 8] = [
    (Shape::Registry, "registry"),
    (Shape::Include, "include"),
    (Shape::Isolation, "isolation"),
    (Shape::Load, "bench1"),
    (Shape::Latency, "bench2"),
    (Shape::Robustness, "bench3"),
    (Shape::Resilience, "bench4"),
    (Shape::Comparison, "own"),
];

/// Evenly spread parts of one, always the same.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Around a figure, by some per cent.
    fn around(&mut self, value: f64, percent: f64) -> f64 {
        value * (1.0 + (self.next() - 0.5) * percent / 50.0)
    }
}

/// A round with some phases; it cost what is plausible.
pub(crate) fn sample(round: u32, phases: Vec<PhaseSample>) -> Sample {
    let answers: u64 = phases.iter().map(|phase| phase.answers).sum();
    let cost = Cost {
        processor: Some(answers as f64 * 180e-6),
        memory: Some(48_000_000),
        processes: Some(12),
        system_calls: None,
        context_switches: Some(answers * 2),
    };
    Sample {
        round,
        at: f64::from(round) * 20.0,
        phases,
        cost,
        generator_share: 0.35,
        stopped: None,
        requests: Vec::new(),
        seconds: Vec::new(),
    }
}

/// A phase with response times around `mean` seconds.
pub(crate) fn phase(answers: u64, elapsed: f64, mean: f64, clients: u32, seed: u64) -> PhaseSample {
    let mut noise = Noise(seed | 1);
    let mut histogram = Histogram::<u64>::new(3).expect("three digits");
    for _ in 0..answers.min(300) {
        let unlucky = if noise.next() > 0.98 { 4.0 } else { 1.0 };
        let seconds = mean * (0.6 + 0.5 * noise.next() - 0.12 * noise.next().ln()) * unlucky;
        histogram.record((seconds * 1e6) as u64 + 1).expect("it grows");
    }
    let at = |part| histogram.value_at_quantile(part) as f64 / 1e6;
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).expect("to memory");
    let latency = match answers {
        0 => Latency::default(),
        _ => Latency {
            mean,
            deviation: histogram.stdev() / 1e6,
            shortest: histogram.min() as f64 / 1e6,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            longest: histogram.max() as f64 / 1e6,
        },
    };
    let histogram = STANDARD.encode(bytes);
    PhaseSample {
        elapsed,
        answers,
        bytes: answers * 73_500,
        errors: Errors::default(),
        clients,
        latency,
        histogram,
        starved: 0,
    }
}

/// Rounds of a case at a server: `speed` is how many times as fast as the slowest server and technique it is.
fn samples(shape: Shape, speed: f64, seed: u64) -> Vec<Sample> {
    let mut noise = Noise(seed * 7919 + 17);
    // Many phases take their time to make and to read.
    let rounds = if shape == Shape::Latency { 3 } else { 6 };
    (0..rounds).map(|round| shaped(shape, round, speed, &mut noise)).collect()
}

fn shaped(shape: Shape, round: u32, speed: f64, noise: &mut Noise) -> Sample {
    let seed = u64::from(round) + (speed * 1000.0) as u64;
    let mean = noise.around(0.02 / speed, 4.0);
    match shape {
        Shape::Latency => {
            let phases = (1..=20).map(|clients| {
                phase(2000, 10.0, noise.around(mean * f64::from(clients), 6.0), clients, seed)
            });
            sample(round, phases.collect())
        }
        Shape::Robustness => {
            let slow = |rate: f64| mean * (1.0 + (rate / (140.0 * speed)).powi(3));
            let rates = [140.0, 200.0, 300.0].map(|rate| (rate, noise.around(slow(rate), 6.0)));
            let mut phases: Vec<PhaseSample> =
                rates.iter().map(|(rate, mean)| phase((rate * 20.0) as u64, 20.0, *mean, 0, seed)).collect();
            if speed < 1.5 {
                phases[2].errors = Errors { timeout: 12, status_5xx: 340, ..Errors::default() };
            }
            sample(round, phases)
        }
        Shape::Load => {
            let most = (12.0 * speed).min(60.0) as u32;
            let seconds = (1..=most * 2).map(|at| second(at, at.div_ceil(2), noise));
            let seconds: Vec<Second> = seconds.collect();
            let answers = seconds.iter().map(|second| second.answers).sum();
            let mut sample = sample(round, vec![phase(answers, seconds.len() as f64, mean, most, seed)]);
            sample.seconds = seconds;
            sample.stopped = (most < 60).then(|| format!("an answer took 3.1 s with {most} clients"));
            sample
        }
        Shape::Resilience => {
            let mut sample = sample(round, vec![phase(8000, 60.0, mean, 100, seed)]);
            // The last round's are shown; the others would only take time.
            let kept = if round == 5 { 0..2400 } else { 0..60 };
            sample.requests = kept.map(|index| request(index, mean, speed, noise)).collect();
            sample
        }
        _ => sample(round, vec![phase((15.0 / mean) as u64, 1.0, mean, 15, seed)]),
    }
}

fn second(at: u32, clients: u32, noise: &mut Noise) -> Second {
    let answers = noise.around(f64::from(clients) / 1.5, 20.0).round() as u64;
    Second { answers, bytes: answers * 73_500, failures: 0, clients: clients.min(at) }
}

fn request(index: u32, mean: f64, speed: f64, noise: &mut Noise) -> Request {
    let client = index % 100;
    let unlucky = if speed < 4.0 && client.is_multiple_of(10) { 4.0 } else { 1.0 };
    let took = noise.around(mean * unlucky, 40.0);
    Request {
        at: f64::from(index) / 40.0,
        took,
        phase: 0,
        client,
        clients: 100.min(index / 4 + 1),
        status: 200,
        bytes: 50_000,
    }
}

/// Returns a case's speed as a multiple of the slowest.
fn speed(case: &str, server: &str) -> f64 {
    let technique = match case {
        _ if case.starts_with("heavy") => 2.0,
        _ if case.starts_with("static") => 60.0,
        _ if case.contains("cgi") => 1.0,
        _ if case.contains("registry") => 5.5,
        _ if case.contains("psgi") => 5.0,
        _ => 8.0,
    };
    technique * if server == "hostler" { 1.4 } else { 1.0 }
}

/// A run of a shape. One server is not installed, one technique is not available.
pub(crate) fn run(shape: Shape, name: &str) -> Run {
    let (cases, plan) = cases(shape);
    let mut scenario = scenario(shape, name, cases, plan);
    scenario.contestants.push("nginx".into());
    scenario.published = published(shape);
    let mut cells = Vec::new();
    for (index, (case, technique)) in cases.iter().enumerate() {
        for server in &scenario.contestants {
            let failed = match (server.as_str(), *technique) {
                ("nginx", _) => Some("nginx is not installed".to_owned()),
                (_, "php") => Some("not available here: hostler has no PHP yet".to_owned()),
                _ => None,
            };
            let taken = failed.is_none();
            let samples = if taken {
                samples(shape, speed(case, server), index as u64 * 2 + u64::from(server == "hostler"))
            } else {
                Vec::new()
            };
            cells.push(Cell { case: (*case).into(), server: server.clone(), failed, samples });
        }
    }
    Run {
        format: FORMAT,
        started: "2026-11-21T16:00:00Z".into(),
        quick: true,
        saturation: false,
        cpu: None,
        database: Some("sqlite".into()),
        command: format!("hostler lab {name} --quick"),
        incomplete: None,
        machine: Machine {
            name: "bench".into(),
            processors: 2,
            model: "Example CPU".into(),
            memory: 8_000_000_000,
            kernel: "Linux 6.1".into(),
            load: Some(0.1),
        },
        generator: Generator {
            version: "hostler-lab 0.1.0".into(),
            limit: Some(61_234.0),
            limit_of: "nginx, return 200".into(),
        },
        servers: servers(),
        cells,
        evidence: ["hostler/server.conf", "hostler/error-log.txt"]
            .map(|file| format!("contestants/{file}"))
            .to_vec(),
        notes: vec!["The answers of all contestants were equal.".into()],
        advice: vec![Advice {
            says: "Run the script under Hostler's pool of its own user.".into(),
            evidence: vec!["1.4 times as many requests a second.".into(), "It keeps 48 MB.".into()],
        }],
        scenario,
    }
}

fn servers() -> Vec<Server> {
    let server = |name: &str, title: &str, version: Option<&str>, unavailable: Option<&str>| Server {
        name: name.into(),
        title: title.into(),
        version: version.map(Into::into),
        unavailable: unavailable.map(Into::into),
    };
    vec![
        server("hostler", "Hostler", Some("0.1.0"), None),
        server("apache-prefork", "Apache prefork", Some("Apache/2.4.71, mod_perl/2.0.12"), None),
        server("nginx", "nginx", None, Some("not installed: apt install nginx-light")),
    ]
}
