# APR::Finfo: what stands at a path. Permission bits are APR's: a hexadecimal digit each for user, group and others.
package APR::Finfo;

use strict;
use warnings;

our $VERSION = '0.009000';

# APR's file types by the kind bits of a mode.
my %type = (0100000 => 1, 0040000 => 2, 0020000 => 3, 0060000 => 4, 0010000 => 5, 0120000 => 6, 0140000 => 7);

# stat(path, wanted, pool): dies with an APR::Error when there is nothing. FINFO_LINK (1): not through a symbolic link.
sub stat {
    my ($path, $wanted) = @_;
    ($path, $wanted) = @_[ 1, 2 ] if ref $path || $path eq __PACKAGE__;
    my @facts = defined $wanted && $wanted & 1 ? CORE::lstat $path : CORE::stat $path;
    if (!@facts) {
        require APR::Error;
        APR::Error::throw($! + 0, 'APR::Finfo::stat');
    }
    return _of_stat($path, @facts);
}

# The same, with type 0 (APR::Const::FILETYPE_NOFILE) for nothing.
sub of_path {
    my ($class, $path) = @_;
    my @facts = CORE::stat($path // '');
    return @facts ? _of_stat($path, @facts) : bless { fname => $path, filetype => 0 }, $class;
}

sub _of_stat {
    my ($path, $dev, $inode, $mode, $links, $user, $group, $device, $size, $atime, $mtime, $ctime, undef, $blocks) = @_;
    return bless {
        fname => $path, filetype => $type{ $mode & 0170000 } // 127, protection => _protection($mode), user => $user,
        group => $group, device => $dev, inode => $inode, nlink => $links, size => $size, csize => ($blocks || 0) * 512,
        atime => $atime, mtime => $mtime, ctime => $ctime, valid => 0x73f370,
    }, __PACKAGE__;
}

# As the front has told it: kind 0 nothing, 1 file, 2 directory, 3 something else.
sub of_facts {
    my ($class, $path, $kind, $mode, $user, $group, $size, $dev, $inode, $links, $mtime, $ctime, $atime) = @_;
    return bless {
        fname => $path, filetype => $kind == 3 ? 127 : $kind, protection => _protection($mode), user => $user,
        group => $group, device => $dev, inode => $inode, nlink => $links, size => $size, csize => $size,
        atime => $atime, mtime => $mtime, ctime => $ctime, valid => $kind ? 0x73f370 : 0,
    }, $class;
}

sub _protection {
    my $mode = shift;
    my $bits = ($mode & 0700) << 2 | ($mode & 0070) << 1 | $mode & 0007;
    $bits |= 0x8000 if $mode & 04000;
    $bits |= 0x4000 if $mode & 02000;
    $bits |= 0x2000 if $mode & 01000;
    return $bits;
}

for my $field (qw(fname filetype protection user group device inode nlink size csize atime mtime ctime valid)) {
    no strict 'refs';
    *$field = sub { return $_[0]{$field} };
}

# APR fills it when it reads a directory, not for a path.
sub name { return undef }    ## no critic (ProhibitExplicitReturnUndef): as a field, in lists, too

1;
