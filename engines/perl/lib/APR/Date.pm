# APR::Date: dates of HTTP (RFC 9110 §5.6.7) and of mail, in seconds since the epoch.
package APR::Date;

use strict;
use warnings;

our $VERSION = '0.009000';

my @days   = qw(Sun Mon Tue Wed Thu Fri Sat);
my @months = qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec);
my @days_in = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31);
my %month  = map { ($months[$_] => $_) } 0 .. 11;

# A time of HTTP, of seconds since the epoch.
sub http {
    my ($second, $minute, $hour, $day, $month, $year, $weekday) = gmtime shift;
    return sprintf '%s, %02d %s %04d %02d:%02d:%02d GMT', $days[$weekday], $day, $months[$month], $year + 1900, $hour, $minute, $second;
}

sub _seconds {
    my ($year, $month, $day, $hour, $minute, $second) = @_;
    return 0 unless defined $month{ ucfirst lc $month } && $day >= 1 && $day <= $days_in[ $month{ ucfirst lc $month } ] && $hour < 24 && $minute < 60 && $second < 62;
    $year += $year < 70 ? 2000 : 1900 if $year < 100;
    return 0 if $month{ ucfirst lc $month } == 1 && $day == 29 && ($year % 4 || !($year % 100) && $year % 400);
    my ($m, $y) = ($month{ ucfirst lc $month } + 1, $year);
    ($m, $y) = $m > 2 ? ($m - 3, $y) : ($m + 9, $y - 1);
    my $days = 365 * $y + int($y / 4) - int($y / 100) + int($y / 400) + int((153 * $m + 2) / 5) + $day - 1 - 719468;
    return (($days * 24 + $hour) * 60 + $minute) * 60 + $second;
}

# The three forms of HTTP behind any word, and such of mail's as look like the first of them; 0 for anything else. What
# follows the time is not looked at (apr_date_parse_http).
sub parse_http {
    my $text = shift // '';
    my $time = qr/(\d\d):(\d\d):(\d\d)/a;
    my @found
        = $text =~ /\A\s*\S* (\d\d?) ([A-Z][a-z]{2}) (\d{4}) $time /a ? ($3, $2, $1, $4, $5, $6)
        : $text =~ /\A\s*\S* (\d\d)-([A-Z][a-z]{2})-(\d{2}) $time /a  ? ($3, $2, $1, $4, $5, $6)
        : $text =~ /\A\s*\S* ([A-Z][a-z]{2}) ([ \d]\d) $time (\d{4})/a ? ($6, $1, $2, $3, $4, $5)
        : return 0;
    return 0 if $found[0] > 99 && $found[0] < 1900;
    return _seconds(@found);
}

# Those, and dates of mail behind any word or none. Something has to follow the time; a zone counts but behind hours and minutes
# alone (apr_date_parse_rfc).
my $month_name = qr/([A-Z][a-z]{2})/;
my @mail       = (
    qr/(\d\d?|\ \d)\ $month_name\ (\d{4}|\d\d)\ (\d\d):(\d\d):(\d\d)\ /a,
    qr/(\d\d?)\ $month_name\ (\d\d)\ (\d):(\d\d):(\d\d)\ /a,
    qr/(\d\d)-$month_name-(\d{4}|\d\d)\ (\d\d):(\d\d):(\d\d)\ /a,
    qr/(\d\d?)\ $month_name\ (\d\d)\ (\d\d):(\d\d)()\ /a,
);

sub parse_rfc {
    my $text = shift // '';
    for my $form (@mail) {
        my ($day, $month, $year, $hour, $minute, $second, $rest) = $text =~ /\A\s*(?:[^\s\d]\S* )?$form(.+)/s or next;
        my ($sign, $hours, $minutes) = length $second ? $rest =~ /\A\s*([+-])(\d\d)(\d\d)/a : ();
        my $time = _seconds($year, $month, $day, $hour, $minute, $second || 0) or return 0;
        return $time - (defined $sign ? "${sign}1" * ($hours * 60 + $minutes) * 60 : 0);
    }
    return parse_http($text);
}

1;
