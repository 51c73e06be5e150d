# The light program as a PSGI application.
use strict;
use warnings;

sub { [200, ['Content-Type' => 'text/plain'], ['Hello']] };
