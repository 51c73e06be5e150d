//! Ranges (RFC 9110 §14): the last thing that is done to a body, so that they count what the client would get.

use crate::hook::conditional::{self, Validators};
use crate::hook::error;
use crate::io::body::{Body, Segment};
use crate::request::Request;
use crate::request::reply::Marks;
use crate::request::settings::range_limit;
use bytes::Bytes;
use hostler_http1::byte_range::{self, ByteRange, RangeLimits, Ranges};

/// Cuts the body down to what the request's Range field asks for.
pub(crate) fn apply(request: &mut Request, body: Body) -> Body {
    let Some(length) =
        body.len().filter(|_| request.reply.status == 200 && !request.reply.marks.have(Marks::UNRANGED))
    else {
        return body;
    };
    let Some(field) = request.header("Range").map(<[u8]>::to_vec) else { return body };
    let core = &request.resource.dir.core;
    let limits = RangeLimits {
        ranges: range_limit(core.max_ranges, 200),
        overlaps: range_limit(core.max_range_overlaps, 20),
        reversals: range_limit(core.max_range_reversals, 20),
    };
    if limits.ranges == Some(0) {
        return body;
    }
    let etag = request.reply.headers_out.find("ETag").cloned();
    let modified = request.reply.headers_out.find("Last-Modified").and_then(|v| conditional::date(v));
    let validators = Validators { etag: etag.as_deref(), modified, now: request.client.second() };
    if !conditional::range_applies(request, validators) {
        return body;
    }
    match byte_range::ranges(&field, length, limits) {
        Ranges::Whole => body,
        Ranges::Unsatisfiable => {
            request.reply.headers_out.set("Content-Range", format!("bytes */{length}"));
            match error::document(request, 416) {
                error::Answer::Page(page) => page,
                error::Answer::Redirect(target) => {
                    request.slots.put(error::Onward(target));
                    Body::Empty
                }
            }
        }
        Ranges::Some(ranges) => {
            (request.reply.status, request.reply.reason) = (206, None);
            if let [only] = ranges[..] {
                request.reply.headers_out.set("Content-Range", content_range(only, length));
                Body::Segments(cut(&body, only))
            } else {
                multipart(request, &body, &ranges, length)
            }
        }
    }
}

fn content_range(range: ByteRange, length: u64) -> String {
    format!("bytes {}-{}/{length}", range.first, range.last)
}

/// The pieces of the body that make up a range.
fn cut(body: &Body, range: ByteRange) -> Vec<Segment> {
    let segments = match body {
        Body::Bytes(bytes) => vec![Segment::Bytes(bytes.clone())],
        Body::Segments(segments) => segments.clone(),
        Body::Empty | Body::Stream(_) | Body::Tunnel(_) => Vec::new(),
    };
    let (mut skip, mut left) = (range.first, range.length());
    let mut out = Vec::new();
    for segment in segments {
        let length = segment.len();
        if skip >= length {
            skip -= length;
            continue;
        }
        let take = (length - skip).min(left);
        out.push(match segment {
            Segment::Bytes(bytes) => Segment::Bytes(bytes.slice(skip as usize..(skip + take) as usize)),
            Segment::File { file, offset, .. } => Segment::File { file, offset: offset + skip, length: take },
        });
        (skip, left) = (0, left - take);
        if left == 0 {
            break;
        }
    }
    out
}

/// `multipart/byteranges` (RFC 9110 §14.6).
fn multipart(request: &mut Request, body: &Body, ranges: &[ByteRange], length: u64) -> Body {
    let boundary = format!("{:016x}{:x}", request.number.wrapping_mul(0x9e37_79b9_7f4a_7c15), length);
    let content_type = request.reply.headers_out.take(b"Content-Type");
    let mut segments = Vec::new();
    for range in ranges {
        let mut head = format!("\r\n--{boundary}\r\n").into_bytes();
        if let Some(content_type) = &content_type {
            head.extend_from_slice(b"Content-type: ");
            head.extend_from_slice(content_type);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(
            format!("Content-range: {}\r\n\r\n", content_range(*range, length)).as_bytes(),
        );
        segments.push(Segment::Bytes(head.into()));
        segments.extend(cut(body, *range));
    }
    segments.push(Segment::Bytes(Bytes::from(format!("\r\n--{boundary}--\r\n"))));
    request.reply.headers_out.set("Content-Type", format!("multipart/byteranges; boundary={boundary}"));
    Body::Segments(segments)
}
