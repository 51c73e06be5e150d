# Constants: on demand, by name and group, with Apache's values.
{
    package Importer;
    use Apache2::Const qw(:common HTTP_CREATED &OPT_EXECCGI);
    use APR::Const qw(ENOENT :table);
}
use Apache2::Const -compile => qw(OK :methods DIR_MAGIC_TYPE);
use APR::Const -compile     => qw(SUCCESS FILETYPE_REG);
use Apache2::Const -compile => ':authn_status';
use ModPerl::Const -compile => 'EXIT';

is(Importer::DECLINED(), -1, 'DECLINED');
is(Importer::HTTP_CREATED(), 201, 'HTTP_CREATED');
is(Importer::OPT_EXECCGI(), 8, 'a name with an ampersand');
is(Importer::ENOENT(), 2, 'ENOENT');
is(Importer::OVERLAP_TABLES_MERGE(), 1, 'a group');
is(Apache2::Const::OK, 0, 'compiled only');
is(Apache2::Const::AUTH_USER_FOUND, 2, 'of authentication providers');
ok(!defined &Check::File::OK, 'not imported');
is(Apache2::Const::M_POST, 2, 'M_POST');
is(Apache2::Const::DIR_MAGIC_TYPE, 'httpd/unix-directory', 'a text');
is(APR::Const::FILETYPE_REG, 1, 'FILETYPE_REG');
is(ModPerl::EXIT, 120000, 'EXIT');
eval { Apache2::Const->compile('-compile', 'NO_SUCH') };
like($@, qr/unknown Apache2::Const:: constant NO_SUCH/, 'an unknown name');
