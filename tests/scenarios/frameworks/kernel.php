<?php
// An application on Symfony's HTTP kernel, as Debian packages it: one entry for all URLs, routes, a form with a session, what
// is sent in pieces or from a file, and work that is done when the client has its answer.

require 'Symfony/Component/HttpKernel/autoload.php';
require 'Symfony/Component/Routing/autoload.php';

use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\HttpFoundation\BinaryFileResponse;
use Symfony\Component\HttpFoundation\Cookie;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\RedirectResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\RequestStack;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\Session\Session;
use Symfony\Component\HttpFoundation\Session\Storage\NativeSessionStorage;
use Symfony\Component\HttpFoundation\StreamedResponse;
use Symfony\Component\HttpKernel\Controller\ArgumentResolver;
use Symfony\Component\HttpKernel\Controller\ControllerResolver;
use Symfony\Component\HttpKernel\Event\ExceptionEvent;
use Symfony\Component\HttpKernel\Event\TerminateEvent;
use Symfony\Component\HttpKernel\EventListener\RouterListener;
use Symfony\Component\HttpKernel\Exception\HttpExceptionInterface;
use Symfony\Component\HttpKernel\HttpKernel;
use Symfony\Component\HttpKernel\KernelEvents;
use Symfony\Component\Routing\Generator\UrlGenerator;
use Symfony\Component\Routing\Matcher\UrlMatcher;
use Symfony\Component\Routing\RequestContext;
use Symfony\Component\Routing\Route;
use Symfony\Component\Routing\RouteCollection;

$data = dirname(__DIR__) . '/data';
$context = new RequestContext();
$routes = new RouteCollection();
$urls = new UrlGenerator($routes, $context);
$session = new Session(new NativeSessionStorage(['save_path' => $data, 'cookie_httponly' => true, 'use_strict_mode' => 1]));

function on(RouteCollection $routes, string $name, string $path, array $methods, callable $controller): void
{
    $routes->add($name, new Route($path, ['_controller' => $controller], methods: $methods));
}

on($routes, 'home', '/', ['GET'], fn() => new Response('home'));
on($routes, 'hello', '/hello/{name}', ['GET'], fn(Request $request, string $name) => new JsonResponse([
    $name, $request->getBaseUrl(), $request->getPathInfo(), $request->getScriptName(), $request->query->all(), $request->getUser(),
    $request->getPassword(), $request->headers->get('x-own'), $request->getMethod(), $request->isSecure(), $request->getHost(),
    $request->server->get('REMOTE_ADDR') === $request->getClientIp(), $request->getPreferredLanguage(['en', 'de']),
]));
on($routes, 'form', '/form', ['GET'], function () use ($session) {
    $session->set('token', bin2hex(random_bytes(8)));
    $said = implode(',', $session->getFlashBag()->get('said'));
    return new Response("<input name=\"token\" value=\"{$session->get('token')}\"><p>$said</p>");
});
on($routes, 'send', '/form', ['POST'], function (Request $request) use ($session, $urls, $data) {
    if ($request->request->get('token') !== $session->get('token')) {
        return new Response('no token', 403);
    }
    $file = $request->files->get('file');
    $said = $request->request->get('text') . ' ' . ($file ? $file->move($data, 'kept')->getSize() . ' ' . $file->getClientOriginalName() : '');
    $session->getFlashBag()->add('said', $said);
    $answer = new RedirectResponse($urls->generate('form'), 303);
    $answer->headers->setCookie(Cookie::create('seen', 'a b;c')->withSecure(false));
    return $answer;
});
on($routes, 'item', '/item', ['PUT', 'DELETE', 'POST'], fn(Request $request) => new JsonResponse(
    [$request->getMethod(), json_decode($request->getContent(), true), $request->getContentType()], 201));
on($routes, 'file', '/file', ['GET'], fn() => new BinaryFileResponse(__DIR__ . '/digits.txt'));
on($routes, 'stream', '/stream', ['GET'], fn() => new StreamedResponse(function () {
    foreach (['one', 'two', 'three'] as $part) {
        echo $part, "\n";
        flush();
    }
}));
on($routes, 'same', '/same', ['GET'], function (Request $request) {
    $answer = new Response('the same');
    $answer->setEtag('own')->setPublic()->setMaxAge(60);
    $answer->isNotModified($request);
    return $answer;
});
on($routes, 'broken', '/broken', ['GET'], fn() => throw new RuntimeException('broken on purpose'));

$request = Request::createFromGlobals();
$context->fromRequest($request);
$stack = new RequestStack();
$dispatcher = new EventDispatcher();
$dispatcher->addSubscriber(new RouterListener(new UrlMatcher($routes, $context), $stack));
$dispatcher->addListener(KernelEvents::EXCEPTION, function (ExceptionEvent $event) {
    $why = $event->getThrowable();
    $status = $why instanceof HttpExceptionInterface ? $why->getStatusCode() : 500;
    $fields = $why instanceof HttpExceptionInterface ? $why->getHeaders() : [];
    error_log(get_class($why) . ': ' . $why->getMessage());
    $event->setResponse(new Response("page of error $status", $status, $fields));
});
$dispatcher->addListener(KernelEvents::TERMINATE, function (TerminateEvent $event) use ($data) {
    if ($event->getRequest()->query->has('late')) {
        file_put_contents("$data/late", $event->getRequest()->query->get('late'));
    }
});
$kernel = new HttpKernel($dispatcher, new ControllerResolver(), $stack, new ArgumentResolver());
$response = $kernel->handle($request);
$response->prepare($request)->send();
$kernel->terminate($request, $response);
