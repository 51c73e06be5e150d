# Apache2::RequestRec: nearly all of it is in C (glue/api_record.c); here is what is seldom asked for.
package Apache2::RequestRec;

use strict;
use warnings;

our $VERSION = '2.000012';

# What stands at the filename: as the front found it, or looked up now if the filename was changed.
sub finfo {
    my ($r, $new) = @_;
    require APR::Finfo;
    my $kept = Hostler::Request::stash($r);
    $kept->{finfo} = $new if defined $new;
    return $kept->{finfo} if $kept->{finfo};
    my @facts = Hostler::Request::finfo($r);
    return $kept->{finfo} = APR::Finfo->of_facts($r->filename, @facts) if @facts;
    return APR::Finfo->of_path($r->filename);
}

sub useragent_addr { return $_[0]->connection->client_addr }

# range: what the client asked for.
sub range { return $_[0]->headers_in->get('Range') }

# auth_name and auth_type stand in Apache2::Access; these are names that older programs use.
sub is_tls { return Hostler::Connection::is_tls($_[0]) }

# The chains of filters, for who passes and reads brigades by himself.
sub input_filters        { return _chain($_[0], 'PerlInputFilterHandler',  0) }
sub output_filters       { return _chain($_[0], 'PerlOutputFilterHandler', 0) }
sub proto_input_filters  { return _chain($_[0], 'PerlInputFilterHandler',  1) }
sub proto_output_filters { return _chain($_[0], 'PerlOutputFilterHandler', 1) }

sub _chain {
    require Apache2::Filter;
    return Apache2::Filter::begin(@_);
}

# The configuration is the front's. A program passes this on (to get_remote_host, or Apache2::Module::get_config) but cannot
# look into it. One for each request: what is merged for it belongs to it.
sub per_dir_config {
    my $r     = shift;
    my $stash = Hostler::Request::stash($r);
    return $stash->{per_dir_config} //= bless {
        layers => scalar Hostler::Request::layers($r),
        server => Hostler::Server::id($r->server),
    }, 'Apache2::ConfVector';
}
sub request_config { return bless \my $nothing, 'Apache2::ConfVector' }

1;
