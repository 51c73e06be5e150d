# Registry script of the scenarios in isolation.rs: tries to reach files and processes, and says what it got.
# Query: `all` or `look` (which leaves out signals), then paths and process ids.
use strict;
print "Content-Type: text/plain\n\n";
my ($mode, @targets) = split /\+/, $ENV{QUERY_STRING};

# Numbers of system calls on x86-64.
my %call = (
    tgkill => 234, sigqueue => 129, pidfd_send_signal => 424, migrate_pages => 256, move_pages => 279, setns => 308,
    ioprio_set => 251, perf_event_open => 298, process_madvise => 440, process_mrelease => 448, keyctl => 250,
    robust_list => 274, ptrace => 101, process_vm_readv => 310, process_vm_writev => 311, prlimit => 302, setaffinity => 203,
    pidfd_open => 434, pidfd_getfd => 438, kcmp => 312, setscheduler => 144,
);
my ($attach, $seize, $detach) = (16, 0x4206, 17);

for my $target (@targets) {
    $target =~ /^\d+$/ ? process($target) : $target =~ s/^key:// ? key($target) : file($target);
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
    got("connected to $path") if -S $path && connects($path);
    got("linked $path") if link $path, "/tmp/hostler-linked-$$" and unlink "/tmp/hostler-linked-$$";
}

sub connects {
    my $path = shift;
    require Socket;
    socket my $socket, Socket::AF_UNIX(), Socket::SOCK_STREAM(), 0 or return;
    return connect $socket, Socket::pack_sockaddr_un($path);
}

# A key of this name that the process possesses (keyctl: search the session's ring, read).
sub key {
    my $name = shift;
    my $type = 'user';
    my $id = syscall($call{keyctl}, 10, -3, $type, $name, 0);
    return if $id < 0;
    my $text = "\0" x 64;
    my $length = syscall($call{keyctl}, 11, $id, $text, 64);
    got("found key $name: " . substr $text, 0, $length < 0 ? 0 : $length);
}

sub process {
    my $pid = shift;
    # Some answer only the second question; none may answer any.
    for my $name (qw(environ mem maps smaps pagemap auxv io stack syscall numa_maps personality clear_refs)) {
        my $path = "/proc/$pid/$name";
        got("read $name of $pid", $pid) if reads($path);
    }
    for my $name (qw(smaps_rollup mem environ maps io)) {
        got("read $name of a thread of $pid", $pid) if reads("/proc/$pid/task/$pid/$name");
    }
    for my $name (qw(oom_score_adj coredump_filter comm setgroups uid_map)) {
        got("opened $name of $pid for writing", $pid) if open my $handle, '+<', "/proc/$pid/$name";
    }
    for my $name (qw(mnt user net pid ipc)) {
        open my $space, '<', "/proc/$pid/ns/$name" or next;
        got("has the namespace $name of $pid", $pid);
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
        beside($pid, $pidfd, $local);
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

# Ways around ptrace and kill that have checks of their own.
sub beside {
    my ($pid, $pidfd, $piece) = @_;
    # CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWNET
    for my $kind (0x20000, 0x20000000, 0x10000000, 0x40000000) {
        got("entered a namespace of $pid", $pid) if $pid != $$ && syscall($call{setns}, $pidfd, $kind) >= 0;
    }
    # MADV_COLD, MADV_PAGEOUT
    for my $advice (20, 21) {
        my $done = syscall($call{process_madvise}, $pidfd, $piece, 1, $advice, 0);
        got("advised the kernel on memory of $pid", $pid) if $done >= 0;
    }
    return if $pid == $$ || $mode ne 'all';
    got("gave back memory of $pid", $pid) if syscall($call{process_mrelease}, $pidfd, 0) >= 0;
    for my $signal (0, 18, 9) {
        my $sent = syscall($call{pidfd_send_signal}, $pidfd, $signal, 0, 0);
        got("signalled $pid by its descriptor with $signal", $pid) if $sent >= 0;
        got("signalled the thread $pid with $signal", $pid) if syscall($call{tgkill}, $pid, $pid, $signal) >= 0;
        my $info = pack('iiix4ii', $signal, 0, -1, $$, $<) . "\0" x 104;
        got("queued $signal for $pid", $pid) if syscall($call{sigqueue}, $pid, $signal, $info) >= 0;
    }
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
        got("signalled the group $pid with $signal", $pid) if kill $signal, -$pid;
    }
    my ($head, $size) = ("\0" x 8, "\0" x 8);
    got("has the robust list of $pid", $pid) if syscall($call{robust_list}, $pid, $head, $size) >= 0;
    my $nodes = pack 'Q', 1;
    got("migrated pages of $pid", $pid) if syscall($call{migrate_pages}, $pid, 8, $nodes, $nodes) >= 0;
    my ($page, $found) = (pack('Q', 4096), "\0" x 4);
    got("saw pages of $pid", $pid) if syscall($call{move_pages}, $pid, 1, $page, 0, $found, 0) >= 0;
    got("changed the input of $pid", $pid) if syscall($call{ioprio_set}, 1, $pid, 3 << 13) >= 0;
    # A software clock of the kernel's, user mode alone.
    my $event = pack('LLQQQQQ', 1, 64, 0, 0, 0, 0, 0x60) . "\0" x 16;
    got("measures $pid", $pid) if syscall($call{perf_event_open}, $event, $pid, -1, -1, 0) >= 0;
    my $old = "\0" x 16;
    got("read limits of $pid", $pid) if syscall($call{prlimit}, $pid, 7, 0, $old) >= 0;
    my $mask = "\1" . "\0" x 127;
    got("moved $pid", $pid) if syscall($call{setaffinity}, $pid, 128, $mask) >= 0;
    my $priority = pack 'i', 0;
    got("scheduled $pid", $pid) if syscall($call{setscheduler}, $pid, 3, $priority) >= 0;
    got("reniced $pid", $pid) if setpriority 0, $pid, 19;
}
