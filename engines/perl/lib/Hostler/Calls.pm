# Which of mod_perl's calls there are, and what becomes of one that is not: it dies with its name and where to read
# on. docs/perl-calls.md is generated from the tables below (engines/perl/calls.pl); tests compare them with the truth.
#
# A line is a class, the module that a program loads for it, and its calls; `!` before one that is not supported.
package Hostler::Calls;

use strict;
use warnings;

use mro ();

our $TABLE = <<'TABLE';
Apache2::RequestRec Apache2::RequestRec: allowed ap_auth_type args assbackwards bytes_sent connection content_encoding content_languages content_type err_headers_out filename finfo handler header_only headers_in headers_out hostname main method method_number mtime next no_local_copy notes path_info per_dir_config pool prev proto_num protocol proxyreq range request_config request_time server status status_line subprocess_env the_request unparsed_uri uri used_path_info user useragent_addr useragent_ip clength chunked canonical_filename !allowed_methods !allowed_xmethods input_filters output_filters proto_input_filters proto_output_filters
Apache2::RequestRec Apache2::RequestIO: BINMODE CLOSE FILENO GETC OPEN PRINT PRINTF READ READLINE TIEHANDLE UNTIE WRITE discard_request_body get_client_block print printf puts read rflush sendfile setup_client_block should_client_block write
Apache2::RequestRec Apache2::RequestUtil: add_config as_string child_terminate default_type dir_config document_root get_handlers get_limit_req_body get_server_name get_server_port is_initial_req is_perl_option_enabled location new no_cache pnotes pnotes_kill psignature push_handlers server_root_relative set_basic_credentials set_handlers slurp_filename !location_merge
Apache2::RequestUtil Apache2::RequestUtil: get_status_line request !register_auth_provider
Apache2::RequestRec Apache2::Response: custom_response make_etag meets_conditions rationalize_mtime send_cgi_header set_content_length set_etag set_keepalive set_last_modified update_mtime !send_error_response !send_mmap
Apache2::RequestRec Apache2::Access: allow_methods allow_options allow_override_opts allow_overrides auth_name auth_type get_basic_auth_pw get_remote_host get_remote_logname note_auth_failure note_basic_auth_failure note_digest_auth_failure requires satisfies some_auth_required
Apache2::RequestRec Apache2::Log: log log_error log_reason log_rerror warn
Apache2::RequestRec Apache2::SubRequest: internal_fast_redirect internal_redirect internal_redirect_handler lookup_file lookup_method_uri lookup_uri !lookup_dirent
Apache2::RequestRec Apache2::URI: construct_server construct_url parse_uri parsed_uri
Apache2::RequestRec Apache2::Filter: add_input_filter add_output_filter
Apache2::RequestRec Apache2::HookRun: !die !invoke_handler !run_access_checker !run_auth_checker !run_check_user_id !run_fixups !run_handler !run_header_parser !run_log_transaction !run_map_to_storage !run_post_read_request !run_translate_name !run_type_checker
Apache2::RequestRec Apache2::SubProcess: spawn_proc_prog
Apache2::SubRequest Apache2::SubRequest: run
Apache2::Connection Apache2::Connection: aborted base_server client_addr client_ip get_remote_host id keepalive keepalives local_addr local_host local_ip log_id notes outgoing pool remote_addr remote_host remote_ip bucket_alloc client_socket conn_config !input_filters !output_filters !sbh
Apache2::Connection Apache2::ConnectionUtil: pnotes pnotes_kill
Apache2::ServerRec Apache2::ServerRec: error_fname is_virtual keep_alive keep_alive_max keep_alive_timeout limit_req_fields limit_req_fieldsize limit_req_line names next path port process server_admin server_hostname server_scheme timeout wild_names addrs !context lookup_defaults module_config
Apache2::ServerRec Apache2::ServerUtil: add_config add_version_component dir_config error_log2stderr get_handlers is_perl_option_enabled loglevel method_register push_handlers server_root_relative set_handlers
Apache2::ServerRec Apache2::Log: log log_error log_serror warn
Apache2::ServerUtil Apache2::ServerUtil: exists_config_define get_server_banner get_server_built get_server_description get_server_version group_id restart_count server server_root server_root_relative server_shutdown_cleanup_register user_id
Apache2::Log Apache2::Log: LOG_MARK alert crit debug emerg error info log_pid notice warn
Apache2::Process Apache2::Process: pconf pool short_name
Apache2::MPM Apache2::MPM: is_threaded query show
Apache2::Module Apache2::Module: add ap_api_major_version ap_api_minor_version cmds find_linked_module get_config loaded module_index name next top_module !remove_loaded_module
Apache2::URI Apache2::URI: unescape_url
Apache2::Util Apache2::Util: escape_path ht_time
Apache2::Filter Apache2::Filter: c ctx fflush frec get_brigade next pass_brigade print r read remove seen_eos
Apache2::FilterRec Apache2::FilterRec: name
Apache2::Command Apache2::Command: args_how errmsg name next req_override
Apache2::CmdParms Apache2::CmdParms: check_cmd_context cmd directive info method_is_limited override override_opts path pool server temp_pool !add_config context
Apache2::Directive Apache2::Directive: args as_hash as_string conftree directive filename first_child line_num lookup next parent
Apache2::Provider Apache2::Provider: !register_provider
Apache2::Request Apache2::Request: new instance args args_status body body_status brigade_limit disable_uploads hook_data jar jar_status param param_status parse post_max read_limit temp_dir upload upload_hook
Apache2::Upload Apache2::Upload: bb charset fh filename info io is_tainted link name size slurp tempname type value
Apache2::Cookie Apache2::Cookie: as_string bake bake2 comment commentURL domain expires fetch freeze httponly is_tainted make name new path port raw_value samesite secure set_attr thaw value version
Apache2::Cookie::Jar Apache2::Cookie: cookies get names new status
APR::Request APR::Request: args args_status body body_status brigade_limit bucket_alloc decode disable_uploads encode jar jar_status param param_status parse pool read_limit temp_dir upload upload_hook
APR::Request::Apache2 APR::Request::Apache2: handle new
APR::Request::CGI APR::Request::CGI: handle new
APR::Request::Custom APR::Request: handle
APR::Request::Param APR::Request::Param: charset info is_tainted make name upload upload_fh upload_filename upload_io upload_link upload_size upload_slurp upload_tempname upload_type value
APR::Request::Param::Table APR::Request: EXISTS FETCH FIRSTKEY NEXTKEY copy do get param_class uploads
APR::Request::Cookie APR::Request::Cookie: as_string comment commentURL domain expires freeze httponly is_tainted make name new path port secure thaw value version
APR::Request::Cookie::Table APR::Request: EXISTS FETCH FIRSTKEY NEXTKEY cookie_class copy do get
APR::Request::Brigade APR::Request::Param: READ READLINE TIEHANDLE new
APR::Request::Parser APR::Request::Parser: default generic headers multipart urlencoded
APR::Request::Error APR::Request::Error: strerror
APR::Table APR::Table: CLEAR DELETE EXISTS FETCH FIRSTKEY NEXTKEY STORE add clear compress copy do get make merge new overlap overlay set unset
APR::Pool APR::Pool: cleanup_for_exec cleanup_register clear destroy is_ancestor new parent_get tag
APR::Finfo APR::Finfo: atime csize ctime device filetype fname group inode mtime name nlink protection size stat user valid
APR::Error APR::Error: cluck confess num str strerror
APR::Status APR::Status: is_EACCES is_EAGAIN is_ECONNABORTED is_ECONNRESET is_ENOENT is_EOF is_TIMEUP
APR::URI APR::URI: fragment hostinfo hostname parse password path port port_of_scheme query rpath scheme unparse user
APR::SockAddr APR::SockAddr: equal ip_get port
APR::Date APR::Date: parse_http parse_rfc
APR::Base64 APR::Base64: decode encode encode_len
APR::Util APR::Util: filepath_name_get password_validate !password_get
APR::String APR::String: format_size
APR::UUID APR::UUID: format new parse
APR::OS APR::OS: current_thread_id
APR::IpSubnet APR::IpSubnet: new test
APR::Brigade APR::Brigade: bucket_alloc cleanup concat destroy first flatten insert_head insert_tail is_empty last length new next pool prev split
APR::Bucket APR::Bucket: data delete destroy eos_create flush_create insert_after insert_before is_eos is_flush length new read remove setaside start type
APR::BucketAlloc APR::BucketAlloc: destroy new
APR::BucketType APR::BucketType: name
APR::Socket APR::Socket: !bind !close !connect !fileno !listen !opt_get !opt_set !poll !recv !recvfrom !send !sendto !timeout_get !timeout_set
APR::ThreadMutex APR::ThreadMutex: lock new pool_get trylock unlock
APR::ThreadRWLock APR::ThreadRWLock: new pool_get rdlock tryrdlock trywrlock unlock wrlock
ModPerl::Util ModPerl::Util: current_callback current_perl_id exit unload_package unload_package_pp unload_package_xs untaint
ModPerl::Global ModPerl::Global: special_list_call special_list_clear special_list_register
ModPerl::Interpreter ModPerl::Interpreter: !current !mip !num_requests !perl !refcnt
ModPerl::InterpPool ModPerl::InterpPool: !parent !server !tipool
ModPerl::TiPool ModPerl::TiPool: !cfg !in_use !size
ModPerl::TiPoolConfig ModPerl::TiPoolConfig: !max !max_requests !max_spare !min_spare !start
TABLE

# The same of mod_perl 1 and libapreq.
our $TABLE_1 = <<'TABLE';
Apache Apache: add_config allow_options allowed args as_string auth_name auth_type bytes_sent can_stack_handlers cgi_env cgi_header_out cgi_var chdir_file child_terminate clear_rgy_endav connection content content_encoding content_languages content_type current_callback custom_response default_type define dir_config document_root each_byterange err_header_out err_headers_out exit filename finfo gensym get_basic_auth_pw get_handlers get_remote_host get_remote_logname handler hard_timeout header_in header_only header_out headers_in headers_out hostname httpd_conf internal_redirect internal_redirect_handler is_initial_req is_main kill_timeout last location log log_error log_reason lookup_file lookup_uri main meets_conditions method method_number module mtime next no_cache no_local_copy note_basic_auth_failure note_digest_auth_failure notes parsed_uri path_info perl_hook pnotes post_connection prev print printf protocol proxyreq push_handlers query_string read register_cleanup request request_time requires reset_timeout rflush satisfies send_cgi_header send_fd send_fd_length send_http_header sent_header seqno server server_root_relative set_byterange set_content_length set_etag set_handlers set_last_modified slurp_filename soft_timeout some_auth_required stash_rgy_endav status status_line subprocess_env the_request unescape_url unescape_url_info untaint update_mtime uri user warn write_client !filter_input !filter_register !spawn_child
Apache::SubRequest Apache::SubRequest: run
Apache::Connection Apache::Connection: aborted auth_type local_addr remote_addr remote_host remote_ip user !fileno !remote_logname
Apache::Server Apache::Server: add_config dir_config error_fname gid is_virtual keep_alive keep_alive_timeout log log_error loglevel names next path port server_admin server_hostname timeout uid warn
Apache::Table Apache::Table: add clear do get merge new set unset
Apache::File Apache::File: close new open tmpfile
Apache::URI Apache::URI: fragment hostinfo hostname parse password path path_info port query rpath scheme unparse user
Apache::Util Apache::Util: escape_html escape_uri ht_time parsedate size_string unescape_uri unescape_uri_info validate_password
Apache::Request Apache::Request: instance new param parms parse query_params post_params upload
Apache::Upload Apache::Upload: fh filename info link name next size tempname type
Apache::Cookie Apache::Cookie: as_string bake domain expires fetch name new parse path secure value
Apache::Include Apache::Include: handler virtual
Apache::ModuleConfig Apache::ModuleConfig: bootstrap get
Apache::Constants Apache::Constants: export name
Apache::Registry Apache::Registry: handler
Apache::RegistryBB Apache::RegistryBB: handler
Apache::RegistryNG Apache::RegistryNG: handler
Apache::RegistryXS Apache::RegistryXS: handler
Apache::RegistryLoader Apache::RegistryLoader: handler new
Apache::PerlRun Apache::PerlRun: handler
Apache::PerlRunXS Apache::PerlRunXS: handler
Apache::Dispatch Apache::Dispatch: handler
Apache::Status Apache::Status: handler menu_item
Apache::StatINC Apache::StatINC: handler
Apache::SIG Apache::SIG: handler set
Apache::PerlSections Apache::PerlSections: dump
TABLE

my %calls;    # class => { call => [module, supported] }

# Of generation 2.
sub table {
    %calls = %{ parsed($TABLE) } unless %calls;
    return \%calls;
}

sub parsed {
    my %parsed;
    for my $line (split /\n/, shift) {
        my ($class, $module, $names) = $line =~ /\A(\S+) (\S+): (.*)\z/ or next;
        for my $name (split ' ', $names) {
            my $supported = $name !~ s/\A!//;
            $parsed{$class}{$name} = [ $module, $supported ? 1 : 0 ];
        }
    }
    return \%parsed;
}

our $refused;    # the last call that was

sub refuse {
    my $call = shift;
    $refused = $call;
    require Carp;
    Carp::croak("$call is not supported by Hostler: see docs/perl-calls.md");
}

# The code of a call that a class does not have (yet): its module is loaded. AUTOLOAD of the classes comes here.
sub find {
    my ($class, $name) = @_;
    no strict 'refs';
    for my $owner (@{ mro::get_linear_isa($class) }) {
        my $known = table()->{$owner}{$name} or next;
        refuse("$owner\::$name") unless $known->[1];
        (my $file = "$known->[0].pm") =~ s{::}{/}g;
        require $file;
        return \&{"$owner\::$name"} if defined &{"$owner\::$name"};
    }
    require Carp;
    Carp::croak(qq(Can't locate object method "$name" via package "$class"));
}

# Makes a module whose calls are all known and none supported: they die with their names.
sub refuse_all {
    for my $class (@_) {
        for my $name (keys %{ table()->{$class} }) {
            next if table()->{$class}{$name}[1];
            no strict 'refs';
            *{"$class\::$name"} = sub { refuse("$class\::$name") } unless defined &{"$class\::$name"};
        }
    }
    return;
}

1;
