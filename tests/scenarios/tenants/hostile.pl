# Registry script of the scenarios in workers.rs: a worker that says by itself, in the memory that it shares with the
# front, what no engine says. Query: what, for how many seconds. Then it dies.
use strict;
use Time::HiRes 'time';
my ($what, $seconds) = split /\+/, $ENV{QUERY_STRING};

# Numbers of system calls on x86-64, the layout of hostler-ring, kinds of hostler-wire's messages.
my ($read, $pread, $fcntl) = (0, 17, 72);
my ($room, $to_worker, $from_worker) = (4096, 65536, 262144);
my ($head, $body, $log, $look_up) = (1, 2, 3, 5);
# An answer's head without anything; its length makes the message a multiple of eight.
my $fine = pack 'VvVV/a*VQVQVV', 0, 200, ~0, 'ab', ~0, 0, 0, 0, 0, 0;
my ($nonblock, $setfl) = (04000, 4);

open my $maps, '<', '/proc/self/maps' or die $!;
my ($memory) = map { /^([0-9a-f]+)-.*memfd:hostler-worker/ ? hex $1 : () } <$maps>;
my @bells = grep { (readlink("/proc/self/fd/$_") // '') =~ /eventfd/ } 0 .. 63;
pipe my $from, my $to or die $!;

sub word { unpack 'VV', unpack 'P8', pack 'Q', $_[0] }
sub store { syswrite $to, $_[1]; syscall $read, fileno $from, $_[0], length $_[1] }
sub ring { my $one = pack 'Q', 1; syscall 1, $_, $one, 8 for @bells }
sub die_now { kill 'KILL', $$; sleep 60 }

# Whoever writes to them from now on waits for ever, unless they have been emptied before.
sub jam {
    for my $bell (@bells) {
        syscall $fcntl, $bell, $setfl, $nonblock;
        my $full = pack 'Q', ~0 - 1;
        syscall 1, $bell, $full, 8;
        syscall $fcntl, $bell, $setfl, 0;
    }
}

# A stream full of one message, whose length is a power of two, perhaps behind another one.
sub flood {
    my ($message, $first) = @_;
    my ($channel) = grep { (word($memory + 256 + 256 * $_))[0] == 2 } 0 .. 7;
    my $words = $memory + 256 + 256 * $channel;
    my $epoch = (word($words))[1];
    my $stream = $memory + $room + $channel * ($to_worker + $from_worker) + $to_worker;
    open my $image, '+>', undef or die $!;
    syswrite $image, $message x ($from_worker / length $message);
    my ($at_head, $end, $piece) = (0, time + $seconds, 32768);
    while (time < $end) {
        my ($tail, $of) = word($words + 16);
        if ($of == $epoch && $at_head - $tail > $from_worker - $piece) {
            ring();
            select undef, undef, undef, 0.0002;
            next;
        }
        my $at = $at_head % $from_worker;
        syscall $pread, fileno $image, $stream + $at, $piece, $at;
        store($stream, $first) if $first && !$at_head;
        $at_head += $piece;
        store($words + 128, pack 'VV', $at_head, $epoch);
        ring();
    }
}

sub message { pack 'CCCCV/a*', $_[0], 0, 0, 0, $_[1] }

my %do = (
    jam => \&jam,
    fine => sub { print "Content-Type: text/plain\n\nfine"; exit },
    nothing => sub { flood(message($body, '')) },
    nothing_of_an_answer => sub { flood(message($body, ''), message($head, $fine)) },
    lines => sub { flood(message($log, pack 'CCV/a*', 3, 0, 'l' x 50)) },
    questions => sub { flood(message($look_up, pack 'VV/a*C', 0, '/' . 'q' x 4078, 0)) },
    stderr => sub { my $end = time + $seconds; my $line = "l\n" x 4096; syswrite STDERR, $line while time < $end },
);
$do{$what}->();
die_now();
