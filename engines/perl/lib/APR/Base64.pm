# APR::Base64: RFC 4648 §4, without line breaks.
package APR::Base64;

use strict;
use warnings;

use MIME::Base64 ();

our $VERSION = '0.009000';

sub encode     { return MIME::Base64::encode_base64($_[0], '') }
# Up to what is not of the alphabet.
sub decode { return MIME::Base64::decode_base64(($_[0] // '') =~ /\A([A-Za-z0-9+\/]*)/ ? $1 : '') }

sub encode_len { return 4 * int((($_[0] // 0) + 2) / 3) }

1;
