<?php
// Makes WordPress' tables, its author and its first pages; run once by the lab, which names the folder.
$_SERVER['HTTP_HOST'] = 'a.test';
define('WP_INSTALLING', true);
require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Two users', 'author', 'author@a.test', false, '', 'a-word-of-the-lab');
update_option('blog_public', 0);
