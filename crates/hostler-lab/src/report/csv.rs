//! A run's samples as tables of text (RFC 4180), for spreadsheets and statistics.

use crate::run::{Cell, Run, Sample};

/// A table's columns, and its rows of each sample.
type Of = fn(&Cell, &Sample) -> Vec<Vec<String>>;

/// Columns of `samples.csv`: one row for each phase of each round; `sample_…` is of the whole round.
const SAMPLES: &str = "case,server,failed,round,at_s,phase,clients,elapsed_s,answers,bytes,rate_per_s,connect,broken,\
                       timeout,status_4xx,status_5xx,wrong,mean_s,deviation_s,shortest_s,p50_s,p90_s,p99_s,p999_s,\
                       longest_s,sample_processor_s,sample_memory_bytes,sample_processes,sample_system_calls,\
                       sample_context_switches,generator_share,stopped";

const SECONDS: &str = "case,server,round,second,answers,bytes,failures,clients";

const REQUESTS: &str = "case,server,round,at_s,took_s,phase,client,clients,status,bytes";

/// File names and their texts; `requests.csv` only if requests were kept.
pub(super) fn tables(run: &Run) -> Vec<(String, String)> {
    let mut tables = vec![
        ("samples.csv".to_owned(), samples(run)),
        ("seconds.csv".to_owned(), table(run, SECONDS, seconds)),
    ];
    if run.cells.iter().flat_map(|cell| &cell.samples).any(|sample| !sample.requests.is_empty()) {
        tables.push(("requests.csv".to_owned(), table(run, REQUESTS, requests)));
    }
    tables
}

/// Cells without samples have a row too: it says why.
fn samples(run: &Run) -> String {
    let mut text = table(run, SAMPLES, phases);
    for cell in run.cells.iter().filter(|cell| cell.samples.is_empty()) {
        let mut row = vec![cell.case.clone(), cell.server.clone(), cell.failed.clone().unwrap_or_default()];
        row.resize(SAMPLES.split(',').count(), String::new());
        line(&mut text, &row);
    }
    text
}

fn table(run: &Run, columns: &str, of: Of) -> String {
    let mut text = format!("{columns}\r\n");
    for cell in &run.cells {
        for sample in &cell.samples {
            for row in of(cell, sample) {
                line(&mut text, &row);
            }
        }
    }
    text
}

fn phases(cell: &Cell, sample: &Sample) -> Vec<Vec<String>> {
    let cost = &sample.cost;
    let row = |(index, phase): (usize, &crate::run::PhaseSample)| {
        let (errors, latency) = (&phase.errors, &phase.latency);
        let rate = (phase.answers > 0 && phase.elapsed > 0.0).then(|| phase.answers as f64 / phase.elapsed);
        let mut row = vec![cell.case.clone(), cell.server.clone(), cell.failed.clone().unwrap_or_default()];
        row.extend([
            sample.round.to_string(),
            number(sample.at),
            index.to_string(),
            phase.clients.to_string(),
        ]);
        row.extend([number(phase.elapsed), phase.answers.to_string(), phase.bytes.to_string()]);
        row.push(rate.map(number).unwrap_or_default());
        let kinds = [
            errors.connect,
            errors.broken,
            errors.timeout,
            errors.status_4xx,
            errors.status_5xx,
            errors.wrong,
        ];
        row.extend(kinds.map(|kind| kind.to_string()));
        let times =
            [latency.mean, latency.deviation, latency.shortest, latency.p50, latency.p90, latency.p99];
        let times = times.into_iter().chain([latency.p999, latency.longest]);
        row.extend(times.map(|time| if phase.answers > 0 { number(time) } else { String::new() }));
        row.extend([optional(cost.processor.map(number)), optional(cost.memory), optional(cost.processes)]);
        row.extend([optional(cost.system_calls), optional(cost.context_switches)]);
        row.extend([number(sample.generator_share), sample.stopped.clone().unwrap_or_default()]);
        row
    };
    sample.phases.iter().enumerate().map(row).collect()
}

fn seconds(cell: &Cell, sample: &Sample) -> Vec<Vec<String>> {
    let row = |(index, second): (usize, &crate::load::Second)| {
        let figures =
            [index as u64 + 1, second.answers, second.bytes, second.failures, u64::from(second.clients)];
        named(cell, sample).into_iter().chain(figures.map(|figure| figure.to_string())).collect()
    };
    sample.seconds.iter().enumerate().map(row).collect()
}

fn requests(cell: &Cell, sample: &Sample) -> Vec<Vec<String>> {
    let row = |request: &crate::load::Request| {
        let mut row = named(cell, sample).to_vec();
        row.extend([number(request.at), number(request.took)]);
        row.extend([request.phase, request.client, request.clients].map(|figure| figure.to_string()));
        row.extend([request.status.to_string(), request.bytes.to_string()]);
        row
    };
    sample.requests.iter().map(row).collect()
}

fn named(cell: &Cell, sample: &Sample) -> [String; 3] {
    [cell.case.clone(), cell.server.clone(), sample.round.to_string()]
}

/// Formats a value; one that was not measured is empty, not 0.
fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Up to nine decimals, without zeroes at the end; empty for what is no number.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let text = format!("{value:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// RFC 4180 §2: fields with commas, quotes or line ends are quoted; quotes are doubled.
fn line(text: &mut String, fields: &[String]) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        if field.contains([',', '"', '\r', '\n']) {
            text.push('"');
            text.push_str(&field.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(field);
        }
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must() {
        let mut text = String::new();
        line(&mut text, &["a".into(), "b,c".into(), "say \"x\"\n".into(), String::new()]);
        assert_eq!(text, "a,\"b,c\",\"say \"\"x\"\"\n\",\r\n");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [number(0.25), number(3.0), number(f64::NAN), number(1e-9)],
            ["0.25", "3", "", "0.000000001"]
        );
    }

    #[test]
    fn samples_are_csv() {
        let mut run = crate::report::sample::run(crate::scenario::Shape::Resilience, "bench4");
        run.cells[0].failed = Some("died, \"signal 9\"\nlog".into());
        let tables = super::tables(&run);
        let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["samples.csv", "seconds.csv", "requests.csv"]);
        let samples = &tables[0].1;
        assert!(
            samples.contains("cgi-perl,hostler,\"died, \"\"signal 9\"\"\nlog\",0,0,0,100,60,8000,"),
            "{samples}"
        );
        let columns = samples.lines().next().expect("a head").split(',').count();
        let plain: Vec<&str> = samples.lines().filter(|line| line.starts_with("handler,")).collect();
        assert!(plain.iter().all(|line| line.split(',').count() == columns), "{plain:?}");
        let rounds: usize = run
            .cells
            .iter()
            .map(|cell| cell.samples.iter().map(|sample| sample.requests.len()).sum::<usize>())
            .sum();
        assert_eq!(tables[2].1.lines().count(), rounds + 1);
    }
}
