# Apache2::Response: what makes up an answer: length, validators, conditions (RFC 9110 §8.8, §13), custom pages.
package Apache2::Response;

use strict;
use warnings;

require Apache2::RequestRec;
our $VERSION = '2.000012';

# Last-Modified of a header that a script has printed: any date that Apache reads, as it writes it.
sub _modified {
    my ($r, $text) = @_;
    my $time = APR::Date::parse_http($text);
    return $r->Apache2::RequestRec::set_last_modified($time) if $time;
    require Apache2::Log;
    $r->log_error(qq(Ignored invalid header value: Last-Modified: '$text'));
    return;
}

package Apache2::RequestRec;

use APR::Date ();

# A text or a URL for this status, instead of the configured ErrorDocument. A leading quote is Apache 1's way.
sub custom_response {
    my ($r, $status, $text) = @_;
    if (Hostler::settings()->{generation} == 1) {
        # Without a text: what was set; with none: the configured one again.
        my $all = Hostler::Request::custom_responses($r);
        return $all->{$status} if @_ < 3;
        if (!defined $text) { delete $all->{$status}; return }
    }
    # A quote at the beginning marks a text in Apache 1.3, and is the text's own since. The front takes one off.
    if (Hostler::settings()->{generation} == 1) { $text =~ s/\A"(.*?)"?\z/$1/s }
    else                                        { $text =~ s/\A"/""/ }
    Hostler::Request::custom_responses($r)->{$status} = $text;
    return;
}

sub send_cgi_header { Hostler::Request::headers_text($_[0], $_[1]); return }

sub set_content_length {
    my ($r, $length) = @_;
    $r->clength($length);
    $r->headers_out->set('Content-Length', $length);
    return;
}

sub update_mtime {
    my ($r, $time) = @_;
    $r->mtime($time) if defined $time && $time > $r->mtime;
    return;
}

# A time that is not in the future: the one given, or the file's.
sub rationalize_mtime {
    my ($r, $time) = @_;
    my $now = time;
    return $time && $time < $now ? $time : $now;
}

sub set_last_modified {
    my ($r, $time) = @_;
    $r->update_mtime($time) if defined $time;
    $r->headers_out->set('Last-Modified', APR::Date::http($r->rationalize_mtime($r->mtime)));
    return;
}

# FileETag's default: time and size. What has no time of its own is as old as its request.
sub make_etag {
    my ($r, $weak) = @_;
    my $file = $r->Apache2::RequestRec::finfo; # mod_perl 1's is a handle
    my $time = $r->mtime || ($file ? $file->mtime : 0) || $r->request_time;
    my $tag  = $file && $file->filetype == 1 ? sprintf('"%x-%x"', $file->size, $time * 1_000_000)
        : sprintf('"%x"', $time * 1_000_000);
    return $weak || $r->request_time - $time <= 1 ? "W/$tag" : $tag;
}

sub set_etag {
    my $r = shift;
    my $tag = $r->make_etag(0);
    $r->headers_out->set(ETag => $tag) if length $tag;
    return;
}

sub set_keepalive { return $_[0]->connection->keepalive == 1 ? 0 : 1 }

sub _tags { return map { s/\A\s+|\s+\z//gr } split /,/, shift // '' }

# Whether the tag is one of a header's; `weakly`: W/ does not matter.
sub _tag_listed {
    my ($tag, $header, $weakly) = @_;
    for my $other (_tags($header)) {
        return 1 if $other eq '*';
        next unless defined $tag;
        my ($mine, $theirs) = map { s/\AW\///r } $tag, $other;
        return 1 if $mine eq $theirs && ($weakly || ($tag !~ /\AW\// && $other !~ /\AW\//));
    }
    return 0;
}

# OK, 304 or 412; a handler returns what is not OK.
sub meets_conditions {
    my $r = shift;
    return 0 if $r->no_local_copy || $r->status < 200 || $r->status >= 300;
    my ($in, $out) = (scalar $r->headers_in, scalar $r->headers_out);
    my $tag  = $out->get('ETag') // $r->err_headers_out->get('ETag');
    my $time = $r->mtime || (defined $out->get('Last-Modified') ? APR::Date::parse_http($out->get('Last-Modified')) : 0);
    $time ||= $r->request_time;
    if (defined(my $match = $in->get('If-Match'))) {
        return 412 unless _tag_listed($tag, $match, 0);
    }
    elsif (defined(my $since = $in->get('If-Unmodified-Since'))) {
        my $limit = APR::Date::parse_http($since);
        return 412 if $limit && $time > $limit;
    }
    my $reading = $r->method =~ /\A(?:GET|HEAD)\z/;
    if (defined(my $none = $in->get('If-None-Match'))) {
        return 0 unless _tag_listed($tag, $none, $reading);
        return $reading ? 304 : 412;
    }
    if ($reading && defined(my $since = $in->get('If-Modified-Since'))) {
        my $limit = APR::Date::parse_http($since);
        return 304 if $limit && $limit >= $time && $limit <= $r->request_time;
    }
    return 0;
}

1;
