START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/plain"), (b"content-length", b"5")],
}
BODY = {"type": "http.response.body", "body": b"Hello"}


async def application(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    await send(START)
    await send(BODY)
