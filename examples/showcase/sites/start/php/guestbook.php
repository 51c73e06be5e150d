<?php
// The guest book in PHP: the same table, the same form, as the Perl programs of lib/GuestBook.pm have.
declare(strict_types=1);

const HOME = '/php/guestbook.php';
const TECHNIQUES = [
    '/guestbook' => 'CGI program',
    '/perl/guestbook.pl' => 'Registry script',
    '/handler/guestbook' => 'Handler',
    '/psgi/guestbook' => 'PSGI application',
    HOME => 'PHP script',
];
const TABLE = <<<'SQL'
CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, words TEXT NOT NULL,
    written TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M', 'now'))
)
SQL;

function e(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES);
}

// The connection stays with the worker.
function database(): PDO
{
    $database = new PDO('sqlite:' . $_SERVER['GUESTBOOK_DB'], null, null, [PDO::ATTR_PERSISTENT => true]);
    $database->exec(TABLE);
    return $database;
}

function field(string $name): string
{
    $value = $_POST[$name] ?? '';
    return is_string($value) && preg_match('//u', $value) ? trim($value) : '';
}

// What is wrong with the form, and the status; or nothing: it has been signed.
function sign(PDO $database): ?array
{
    $origin = $_SERVER['HTTP_ORIGIN'] ?? null;
    // A form on somebody else's page may not sign in the visitor's name.
    if ($origin !== null && !preg_match('{^https?://' . preg_quote($_SERVER['HTTP_HOST'] ?? '') . '$}', $origin)) {
        return [403, 'Please use the form below.'];
    }
    [$name, $words] = [field('name'), field('words')];
    if ($name === '' || $words === '' || iconv_strlen($name, 'UTF-8') > 60 || iconv_strlen($words, 'UTF-8') > 1000) {
        return [422, 'Please give a name and a few words.'];
    }
    // Bound, never pasted: whatever a visitor writes stays a value.
    $database->prepare('INSERT INTO entry (name, words) VALUES (?, ?)')->execute([$name, $words]);
    return null;
}

if (!class_exists('PDO') || !in_array('sqlite', PDO::getAvailableDrivers(), true)) {
    http_response_code(503);
    exit('<p class="problem">This PHP has no SQLite (Debian and Ubuntu: <code>php8.2-sqlite3</code>).</p>');
}
$database = database();
$problem = null;
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $problem = sign($database);
    if ($problem === null) {
        header('Location: ' . HOME, true, 303);
        exit;
    }
    http_response_code($problem[0]);
}
$entries = $database->query('SELECT name, words, written FROM entry ORDER BY id DESC LIMIT 100', PDO::FETCH_ASSOC);
?>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Guest book</title>
<link rel="icon" href="/icons/folder.svg">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main class="page">
<a class="back" href="/#guestbook">← Showcase</a>
<h1>Guest book</h1>
<nav class="tabs" aria-label="The same book as"><?php foreach (TECHNIQUES as $at => $title): ?>
<a href="<?= $at ?>"<?= $at === HOME ? ' aria-current="page"' : '' ?>><?= $title ?></a><?php endforeach ?></nav>
<p class="soft">This is a request of process <?= getmypid() ?>, whose connection to the database stays open.</p>
<?php if ($problem): ?><p class="problem" role="alert"><?= $problem[1] ?></p>
<?php endif ?>
<form method="post" action="<?= HOME ?>">
<label>Your name <input name="name" maxlength="60" required autocomplete="name" value="<?= e(field('name')) ?>"></label>
<label>Your words <textarea name="words" maxlength="1000" required><?= e(field('words')) ?></textarea></label>
<button>Sign</button>
</form>
<?php foreach ($entries as $entry): ?>
<article class="entry"><strong><?= e($entry['name']) ?></strong> <time><?= e($entry['written']) ?></time><p><?= e($entry['words']) ?></p></article>
<?php endforeach ?>
</main>
</body>
</html>
