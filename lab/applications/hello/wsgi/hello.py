HEADERS = [("Content-Type", "text/plain"), ("Content-Length", "5")]


def application(environ, start_response):
    start_response("200 OK", HEADERS)
    return [b"Hello"]
