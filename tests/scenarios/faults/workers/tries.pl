# Registry script of the scenarios in isolation.rs: tries to reach files and processes, and says what it got.
# Query: `all` or `look` (which leaves out signals), then paths and process ids.
use strict;
print "Content-Type: text/plain\n\n";
my ($mode, @targets) = split /\+/, $ENV{QUERY_STRING};

# Numbers of system calls on x86-64.
my %call = (
    ptrace => 101, process_vm_readv => 310, process_vm_writev => 311, prlimit => 302, setaffinity => 203,
    pidfd_open => 434, pidfd_getfd => 438, kcmp => 312, setscheduler => 144,
);
my ($attach, $seize, $detach) = (16, 0x4206, 17);

for my $target (@targets) {
    $target =~ /^\d+$/ ? process($target) : file($target);
}
print "end\n";

sub got {
    my ($what, $pid) = @_;
    print "GOT $what", ($pid // 0) == $$ ? ' (self)' : '', "\n";
}

sub reads {
    my ($path, $mode) = @_;
    open(my $handle, $mode || '<', $path) or return;
    return sysread $handle, my $byte, 1;
}

sub file {
    my $path = shift;
    got("read $path") if reads($path);
    got("listed $path") if opendir my $directory, $path;
    got("wrote $path") if !-f $path && -d _ && open my $new, '>', "$path/planted";
    got("linked $path") if link $path, "/tmp/hostler-linked-$$" and unlink "/tmp/hostler-linked-$$";
}

sub process {
    my $pid = shift;
    # Some answer only the second question; none may answer any.
    for my $name (qw(environ mem maps smaps pagemap auxv io stack syscall numa_maps personality clear_refs)) {
        my $path = "/proc/$pid/$name";
        got("read $name of $pid", $pid) if reads($path);
    }
    got("wrote mem of $pid", $pid) if open my $memory, '+<', "/proc/$pid/mem";
    for my $name (qw(root cwd exe)) {
        got("followed $name of $pid", $pid) if defined readlink "/proc/$pid/$name";
    }
    for my $name (qw(fd fdinfo map_files)) {
        got("listed $name of $pid", $pid) if opendir my $directory, "/proc/$pid/$name";
    }
    for my $number (0 .. 63) {
        got("opened descriptor $number of $pid", $pid) if open my $handle, '<', "/proc/$pid/fd/$number";
    }
    vm($pid);
    trace($pid);
    signals($pid) if $mode eq 'all';
}

# The addresses need not exist: EPERM comes before EFAULT.
sub vm {
    my $pid = shift;
    my $buffer = "\0" x 8;
    my $local = pack 'QQ', unpack('Q', pack 'P', $buffer), 8;
    for my $name (qw(process_vm_readv process_vm_writev)) {
        my $result = syscall($call{$name}, $pid, $local, 1, $local, 1, 0);
        got("$name of $pid", $pid) if $result >= 0 || $! !~ /not permitted|not implemented|No such process/;
    }
    my $pidfd = syscall($call{pidfd_open}, $pid, 0);
    if ($pidfd >= 0) {
        for my $number (0 .. 31) {
            my $stolen = syscall($call{pidfd_getfd}, $pidfd, $number, 0);
            got("took descriptor $number of $pid", $pid) if $stolen >= 0;
            POSIX::close($stolen) if $stolen >= 0;
        }
        require POSIX;
        POSIX::close($pidfd);
    }
    got("kcmp of $pid", $pid) if syscall($call{kcmp}, $pid, $$, 2, 0, 0) >= 0;
}

sub trace {
    my $pid = shift;
    return if $pid == $$;
    for my $request ($attach, $seize) {
        if (syscall($call{ptrace}, $request, $pid, 0, 0) >= 0) {
            got("traced $pid", $pid);
            waitpid $pid, 0;
            syscall($call{ptrace}, $detach, $pid, 0, 0);
        }
    }
}

sub signals {
    my $pid = shift;
    for my $signal (0, 'CONT', 'STOP', 'TERM', 'KILL') {
        got("signalled $pid with $signal", $pid) if kill $signal, $pid;
    }
    my $old = "\0" x 16;
    got("read limits of $pid", $pid) if syscall($call{prlimit}, $pid, 7, 0, $old) >= 0;
    my $mask = "\1" . "\0" x 127;
    got("moved $pid", $pid) if syscall($call{setaffinity}, $pid, 128, $mask) >= 0;
    my $priority = pack 'i', 0;
    got("scheduled $pid", $pid) if syscall($call{setscheduler}, $pid, 3, $priority) >= 0;
    got("reniced $pid", $pid) if setpriority 0, $pid, 19;
}
