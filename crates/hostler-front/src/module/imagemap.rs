//! Pictures whose parts lead to different places (mod_imagemap): the handler `imap-file` answers a point of a picture with
//! the place that a map names for it, and no point with a menu.
//!
//! A map is a site's file: it is read as its user, to a bound, and what it costs grows with its lines alone.

mod map;
mod menu;
mod place;
mod shapes;

use crate::hook::registry::{Handler, Module};
use crate::io::body::Body;
use crate::limits::{budget, kept};
use crate::log::{self, Severity};
use crate::module::core::file;
use crate::request::Request;
use crate::request::flow::Halt;
use bytes::Bytes;
use hostler_expr::effort;
use map::{Line, MapError, Shape};
use menu::{Form, Menu};
use place::Places;

const KIND: &[u8] = b"application/x-httpd-imap";

pub(crate) static MODULE: Module = Module {
    handlers: &[Handler {
        names: &["imap-file", "application/x-httpd-imap"],
        types: &[KIND],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    ..Module::new("imagemap", |_| false)
};

/// Largest map, in bytes.
const LARGEST: usize = 1 << 20;
/// Largest menu: each of a map's places may be as long as its base.
const LARGEST_MENU: usize = 2 << 20;

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    if !request.is_get() {
        request.reply.headers_out.set("Allow", crate::request::methods::allowed(request));
        return Err(Halt::Status(405));
    }
    file::drop_body(request).await?;
    let map = file::check_path(request, true)?;
    let text = kept::collect(request, file::whole(&map), LARGEST).await.map_err(|why| {
        let path = String::from_utf8_lossy(&request.resource.filename).into_owned();
        log::request(request, Severity::Error, "imagemap", &format!("{path}: {why}"));
        Halt::Status(500)
    })?;
    answer(request, &text).await.map_err(|error| match error {
        Failure::Halt(halt) => halt,
        Failure::Map(error) => {
            let uri = String::from_utf8_lossy(&request.target.uri).into_owned();
            log::request(request, Severity::Error, "imagemap", &error.told(&uri));
            Halt::Status(500)
        }
    })
}

/// Why there is no answer.
enum Failure {
    Halt(Halt),
    Map(MapError),
}

impl From<MapError> for Failure {
    fn from(error: MapError) -> Self {
        Self::Map(error)
    }
}

impl From<Halt> for Failure {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

/// A line and what it is relative to, on the request's budget.
async fn step(request: &Request, line: &[u8], base: &[u8]) -> Result<(), Halt> {
    let _ = effort::spend(500 + 8 * (line.len() + base.len()));
    budget::turn(request).await
}

/// Answers with the map's entry for the chosen point.
async fn answer(request: &mut Request, text: &[u8]) -> Result<Body, Failure> {
    let dir = request.resource.dir.clone();
    let places = Places::of(request);
    let menu = dir.imagemap.menu.as_deref().unwrap_or("formatted");
    let point = shapes::point(request.target.args.as_deref().unwrap_or_default());
    if point.is_none() && !menu.get(..2).is_some_and(|word| word.eq_ignore_ascii_case("no")) {
        return shown(request, text, &places, menu).await;
    }
    let mut base = places.url(b"", dir.imagemap.base.as_deref().unwrap_or("map").as_bytes())?;
    let mut default = places.url(b"", dir.imagemap.default.as_deref().unwrap_or("nocontent").as_bytes())?;
    let mut closest: Option<(f64, Vec<u8>)> = None;
    for (number, line) in map::lines(text) {
        step(request, &line, &base).await?;
        match map::line(number, &line)? {
            Line::Blank | Line::Comment(_) => {}
            Line::Base(value) => base = places.url(b"", value)?,
            Line::Default { value, .. } => default = places.url(b"", value)?,
            Line::Area { shape, value, points, .. } => {
                let Some(point) = point.filter(|_| !points.is_empty()) else { continue };
                if let Shape::Point = shape {
                    let distance = shapes::distance(point, points[0]);
                    if closest.as_ref().is_none_or(|(nearest, _)| distance < *nearest) {
                        closest = Some((distance, value.to_vec()));
                    }
                } else if shapes::has(shape, point, &points) {
                    let place = places.url(&base, value)?;
                    return Ok(led(request, &place)?);
                }
            }
        }
    }
    let value = closest.map_or(default, |(_, value)| value);
    let place = places.url(&base, &value)?;
    Ok(led(request, &place)?)
}

/// Leads to a place.
fn led(request: &mut Request, place: &[u8]) -> Result<Body, Halt> {
    if place.eq_ignore_ascii_case(b"nocontent") {
        return Err(Halt::Status(204));
    }
    let is_text = place.iter().all(|&b| b >= b' ' && b != 0x7f);
    if place.is_empty() || place.eq_ignore_ascii_case(b"error") || !is_text {
        return Err(Halt::Status(500));
    }
    request.reply.headers_out.set("Location", place.to_vec());
    Err(Halt::Status(302))
}

/// The menu of all places that a map names.
async fn shown(request: &mut Request, text: &[u8], places: &Places, kind: &str) -> Result<Body, Failure> {
    let mut menu = Menu::new(Form::named(kind), &request.target.uri);
    match write(request, text, places, &mut menu).await {
        Err(Failure::Map(error)) => {
            let uri = String::from_utf8_lossy(&request.target.uri).into_owned();
            log::request(request, Severity::Error, "imagemap", &error.told(&uri));
            menu.broken();
        }
        written => written?,
    }
    request.resource.content_type = Some(Bytes::from_static(b"text/html; charset=ISO-8859-1"));
    let page = kept::keep(request, menu.end().into()).map_err(|why| {
        log::request(request, Severity::Error, "imagemap", &format!("the menu is not sent: {why}"));
        Halt::Status(why.status())
    })?;
    Ok(Body::Bytes(page))
}

async fn write(request: &Request, text: &[u8], places: &Places, menu: &mut Menu) -> Result<(), Failure> {
    let dir = &request.resource.dir.imagemap;
    let mut base = places.url(b"", dir.base.as_deref().unwrap_or("map").as_bytes())?;
    for (number, line) in map::lines(text) {
        step(request, &line, &base).await?;
        match map::line(number, &line)? {
            Line::Blank => menu.blank(),
            Line::Comment(text) => menu.comment(text),
            Line::Base(value) => base = places.url(b"", value)?,
            Line::Default { value, title } => {
                let default = places.url(b"", value)?;
                let place = places.url(&base, &default)?;
                menu.default(&place, title.unwrap_or(&default));
            }
            Line::Area { value, title, .. } => {
                let place = places.url(&base, value)?;
                menu.area(&place, title.unwrap_or(value));
            }
        }
        if menu.len() > LARGEST_MENU {
            return Err(MapError::Menu(LARGEST_MENU >> 20).into());
        }
    }
    Ok(())
}
