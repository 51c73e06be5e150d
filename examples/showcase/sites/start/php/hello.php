<?php
// A script in PHP: compiled once for all workers of this site, run from the beginning for each request.
$cache = function_exists('opcache_get_status') ? opcache_get_status() : false;
$hits = $cache ? (int) $cache['opcache_statistics']['hits'] : 0;
?>
<p>PHP <?= PHP_VERSION ?> in worker <?= getmypid() ?>, which took this script from the site’s own cache of
<?= $cache ? $cache['opcache_statistics']['num_cached_scripts'] : 0 ?> (<?= $hits ?> hits so far).</p>
