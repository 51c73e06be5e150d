//! Scenarios of the made-up runs: one of each shape.

use crate::scenario::{Published, Scenario, Shape};

/// A scenario: cases with their techniques, each with a plan.
pub(super) fn scenario(shape: Shape, name: &str, cases: &[(&str, &str)], plan: &str) -> Scenario {
    let report = serde_json::to_value(shape).expect("a name");
    let mut text = format!(
        "name = \"{name}\"\ntitle = \"Sample of {name}\"\nsource = \"A book, 2003\"\nquestion = \"Which is faster, and by \
         how much?\"\nreport = {report}\ncontestants = [\"hostler\", \"apache-prefork\"]\napplication = \"x\"\nrounds = 6\n\
         quick = {{ rounds = 2, scale = 0.1 }}\n"
    );
    for (name, technique) in cases {
        let title = name.replace('-', " ");
        text.push_str(&format!(
            "[[case]]\nname = \"{name}\"\ntitle = \"{title}\"\ntechnique = \"{technique}\"\npath = \"/{technique}?a=1&b=2\"\n\
             [case.plan]\n{plan}\n"
        ));
    }
    toml::from_str(&text).expect("the scenario is well formed")
}

/// Cases of a shape, and the plan of each.
pub(super) fn cases(shape: Shape) -> (&'static [(&'static str, &'static str)], &'static str) {
    const TECHNIQUES: [(&str, &str); 5] = [
        ("cgi-perl", "cgi-perl"),
        ("registry", "registry"),
        ("handler", "handler"),
        ("psgi", "psgi"),
        ("php", "php"),
    ];
    match shape {
        Shape::Registry => (
            &[
                ("light-handler", "handler"),
                ("light-registry", "registry"),
                ("heavy-handler", "handler"),
                ("heavy-registry", "registry"),
            ],
            "phases = [{ kind = \"closed\", clients = 15, requests = 5000 }]",
        ),
        Shape::Include => (
            &[
                ("static-keep-alive", "static"),
                ("static-close", "static"),
                ("ssi-keep-alive", "ssi"),
                ("ssi-close", "ssi"),
            ],
            "phases = [{ kind = \"closed\", clients = 15, seconds = 3 }]",
        ),
        Shape::Isolation => (
            &[("perl-handler", "handler")],
            "keep_alive = false\nphases = [{ kind = \"closed\", clients = 20, seconds = 60 }]",
        ),
        Shape::Load => (
            &TECHNIQUES,
            "stop = { kind = \"answer\", seconds = 3 }\nphases = [{ kind = \"closed\", clients = 1, to_clients = 60, seconds = 120, think = { kind = \"uniform\", from = 1, to = 2 } }]",
        ),
        Shape::Latency => (
            &TECHNIQUES,
            "phases = [{ kind = \"closed\", clients = 1, seconds = 10 }, { kind = \"closed\", clients = 2, seconds = 10 }, { kind = \"closed\", clients = 20, seconds = 10 }]",
        ),
        Shape::Robustness => (
            &TECHNIQUES,
            "phases = [{ kind = \"open\", rate = 140, seconds = 20 }, { kind = \"open\", rate = 200, seconds = 20 }, { kind = \"open\", rate = 300, seconds = 20 }]",
        ),
        Shape::Resilience => (
            &TECHNIQUES,
            "keep_requests = true\nphases = [{ kind = \"closed\", clients = 1, to_clients = 100, join = 10, seconds = 60, think = { kind = \"fixed\", seconds = 0.2 } }]",
        ),
        Shape::Comparison => (
            &[("registry", "registry"), ("cgi-perl", "cgi-perl")],
            "phases = [{ kind = \"closed\", clients = 15, seconds = 3 }]",
        ),
    }
}

/// A few published figures of a shape.
pub(super) fn published(shape: Shape) -> Vec<Published> {
    let figures: &[(&str, &str, &str, f64)] = match shape {
        Shape::Registry => &[
            ("light-handler", "published", "ms", 15.0),
            ("light-handler", "published", "requests/s", 911.0),
            ("light-registry", "published", "ms", 21.0),
            ("light-registry", "published", "requests/s", 680.0),
        ],
        Shape::Load => &[
            ("handler", "published", "kb/s", 1631.0),
            ("php", "published", "kb/s", 1248.0),
            ("servlet", "published", "kb/s", 801.0),
        ],
        _ => &[],
    };
    let figure = |(row, column, unit, value): &(&str, &str, &str, f64)| Published {
        row: (*row).into(),
        column: (*column).into(),
        unit: (*unit).into(),
        value: *value,
    };
    figures.iter().map(figure).collect()
}
