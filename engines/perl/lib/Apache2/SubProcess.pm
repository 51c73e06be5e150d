# Apache2::SubProcess: programs beside a request, with pipes to them. They end with it.
package Apache2::SubProcess;

use strict;
use warnings;

require Apache2::RequestRec;
our $VERSION = '2.000012';

# How long one may take to end by itself.
use constant SECONDS => 3;

sub _pipe {
    pipe my $reads, my $writes or die "a pipe for a program: $!\n";
    $writes->autoflush(1);
    return ($reads, $writes);
}

# As Apache does with a program that outlives its request.
sub _end {
    my $process = shift;
    return if waitpid($process, POSIX::WNOHANG());
    kill TERM => $process;
    require Time::HiRes;
    for (1 .. SECONDS * 50) {
        return if waitpid($process, POSIX::WNOHANG());
        Time::HiRes::sleep(0.02);
    }
    kill KILL => $process;
    waitpid $process, 0;
    return;
}

package Apache2::RequestRec;

# spawn_proc_prog(path, arguments): handles of its input, its output and its errors; as a scalar that of its output; otherwise
# none. It sees the request's subprocess_env.
sub spawn_proc_prog {
    my ($r, $path, $arguments) = @_;
    require IO::Handle;
    require POSIX;
    my $wanted = wantarray;
    my ($from_us, $to_it)   = $wanted         ? Apache2::SubProcess::_pipe() : ();
    my ($from_it, $out)     = defined $wanted ? Apache2::SubProcess::_pipe() : ();
    my ($from_errors, $err) = $wanted         ? Apache2::SubProcess::_pipe() : ();
    my @environment;
    $r->subprocess_env->do(sub { push @environment, "$_[0]=$_[1]"; 1 });
    $r->log_error("couldn't spawn child process: $path: it cannot be run") unless -f $path && -x _;
    my @streams = map { $_ ? fileno $_ : -1 } $from_us, $out, $err;
    my $process = Hostler::start($path, [ $path, @{ $arguments || [] } ], \@environment, @streams);
    die "couldn't spawn child process: $path: $!\n" if !defined $process || $process < 0;
    $r->pool->cleanup_register(\&Apache2::SubProcess::_end, $process);
    return $wanted ? ($to_it, $from_it, $from_errors) : $from_it;
}

1;
