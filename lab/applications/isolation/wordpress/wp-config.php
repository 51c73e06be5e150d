<?php
// WordPress of the lab: one database, one folder, asked at two hosts and under two paths, so its addresses are the request's.
$host = $_SERVER['HTTP_HOST'] ?? 'a.test';
$path = strncmp($_SERVER['REQUEST_URI'] ?? '', '/wordpress-cgi/', 15) === 0 ? '/wordpress-cgi' : '/wordpress';
define('WP_HOME', 'http://' . $host . $path);
define('WP_SITEURL', WP_HOME);
define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', 'wordpress');
define('DB_HOST', 'localhost:@SOCKET@');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('AUTH_KEY', 'an example, which nobody else reaches');
define('FS_METHOD', 'direct');
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) { define('ABSPATH', __DIR__ . '/'); }
require_once ABSPATH . 'wp-settings.php';
