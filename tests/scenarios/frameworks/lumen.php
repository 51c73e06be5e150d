<?php
// An application on Lumen, Laravel's small sister, as Debian packages it: routes, a middleware, and an answer for each kind of request.

require 'Laravel/Lumen/autoload.php';

use Illuminate\Http\Request;
use Laravel\Lumen\Application;
use Monolog\Handler\ErrorLogHandler;
use Monolog\Logger;
use Psr\Log\LoggerInterface;
use Symfony\Component\HttpFoundation\Cookie;

$app = new Application(dirname(__DIR__));
$app->instance(LoggerInterface::class, new Logger('app', [new ErrorLogHandler()]));
$app->middleware([function (Request $request, Closure $next) {
    $answer = $next($request);
    $answer->headers->set('X-Middleware', $request->method());
    return $answer;
}]);
$router = $app->router;
$router->get('/', fn() => 'home');
$router->get('hello/{name}', fn(Request $request, string $name) => response()->json([
    $name, $request->root() === $request->getSchemeAndHttpHost() . $request->getBaseUrl(), $request->getBaseUrl(), $request->path(),
    $request->query(), $request->bearerToken(), $request->ajax(),
]));
$router->post('form', fn(Request $request) => response()->json([
    $request->input('text'), $request->input('list'), $request->file('file')?->getClientOriginalName(),
    $request->hasFile('file') ? file_get_contents($request->file('file')->path()) : null,
])->withCookie(new Cookie('seen', 'yes')));
$router->put('item/{id:[0-9]+}', fn(Request $request, int $id) => response()->json([$id, $request->json()->all()], 201));
$router->get('gone', fn() => redirect('hello/there'));
$router->get('download', fn() => response()->download(__DIR__ . '/digits.txt', 'numbers.txt'));
$router->get('denied', fn() => abort(403, 'not you'));
$router->get('broken', fn() => throw new RuntimeException('broken on purpose'));
$app->run();
