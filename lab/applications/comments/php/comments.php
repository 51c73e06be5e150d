<?php
// The comments in PHP: a connection that stays with the worker, and the page in one piece.
declare(strict_types=1);

const LONGEST = 65536;
const HEAD = <<<'HTML'
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Comments</title></head>
<body>
<h1>Comments</h1>
<table>
<tr><th>Name</th><th>Email</th><th>Comments</th></tr>

HTML;
const FOOT = <<<'HTML'
</table>
<form method="post">
<p><label>Name <input name="name" required></label></p>
<p><label>Email <input name="email" type="email"></label></p>
<p><label>Comments <textarea name="comments" required></textarea></label></p>
<p><button>Send</button></p>
</form>
</body>
</html>

HTML;

// The address as Perl's DBI writes it. PDO keeps the connection for the worker's next request.
function connection(): PDO
{
    $dsn = $_SERVER['COMMENTS_DSN'];
    $own = str_starts_with($dsn, 'dbi:Pg:') ? 'pgsql:' . substr($dsn, 7) : 'sqlite:' . substr($dsn, strlen('dbi:SQLite:dbname='));
    return new PDO($own, null, null, [PDO::ATTR_PERSISTENT => true, PDO::ATTR_TIMEOUT => 5]);
}

function page(PDO $database): string
{
    $rows = preg_match('/(?:^|&)rows=([0-9]{1,9})(?:&|$)/', $_SERVER['QUERY_STRING'] ?? '', $found) ? (int) $found[1] : 999999999;
    // Without an order: both databases give the rows of this table as they were inserted.
    $list = $database->query('SELECT * FROM comments LIMIT ' . $rows, PDO::FETCH_NUM);
    $page = HEAD;
    foreach ($list as $row) {
        // The other programs write an apostrophe so.
        [$name, $email, $comments] = str_replace('&#039;', '&#39;', array_map(htmlspecialchars(...), $row));
        $page .= "<tr><td>$name</td><td>$email</td><td>$comments</td></tr>\n";
    }
    return $page . FOOT;
}

// False if a form lacks a name or a comment, or has what is no text.
function insert(PDO $database): bool
{
    $values = array_map(fn ($field) => $_POST[$field] ?? '', ['name', 'email', 'comments']);
    foreach ($values as $value) {
        if (!is_string($value) || str_contains($value, "\0") || !preg_match('//u', $value)) {
            return false;
        }
    }
    if ($values[0] === '' || $values[2] === '') {
        return false;
    }
    return $database->prepare('INSERT INTO comments (name, email, comments) VALUES (?, ?, ?)')->execute($values);
}

function answer(int $status, string $text): void
{
    http_response_code($status);
    header('Content-Type: text/plain');
    echo "$text\n";
}

if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    echo page(connection());
} elseif ((int) ($_SERVER['CONTENT_LENGTH'] ?? 0) > LONGEST) {
    answer(413, '413 Content Too Large');
} elseif (!insert(connection())) {
    answer(400, '400 Bad Request');
} else {
    header('Location: ' . $_SERVER['SCRIPT_NAME']);
    answer(303, 'Thank you');
}
