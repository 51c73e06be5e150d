//! Applications of FastAPI, Starlette and Django's Channels, from PyPI: what they do that small ones do not.

use super::websocket::{TEXT, frame, handshake, measure};
use super::{log_when, needs_python};
use crate::wsgi::packages_in;
use hostler_tests::{Connection, Server, Site, await_that};

const FAST: &str = r#"
import asyncio, sys
from contextlib import asynccontextmanager
from fastapi import BackgroundTasks, FastAPI, Request, UploadFile, WebSocket, WebSocketDisconnect
from fastapi.responses import FileResponse, StreamingResponse
from starlette.middleware.gzip import GZipMiddleware

done = []

@asynccontextmanager
async def lifespan(app):
    yield {"greeting": "hello"}
    print("the lifespan ends", flush=True)

app = FastAPI(lifespan=lifespan)
app.add_middleware(GZipMiddleware, minimum_size=1000)

@app.get("/items/{n}")
async def item(n: int, request: Request, q: str = ""):
    return {"n": n, "q": q, "greeting": request.state.greeting, "url": str(request.url_for("item", n=n))}

@app.get("/sync")
def sync():
    return {"sync": True}

@app.get("/events")
async def events():
    async def lines():
        try:
            for number in range(1000):
                yield f"data: {number}\n\n"
                await asyncio.sleep(0.05)
        finally:
            print("nobody listens", flush=True)
    return StreamingResponse(lines(), media_type="text/event-stream")

@app.post("/upload")
async def upload(file: UploadFile):
    return {"size": len(await file.read()), "name": file.filename}

@app.get("/background")
async def background(tasks: BackgroundTasks):
    tasks.add_task(done.append, 1)
    return {"done": len(done)}

@app.get("/file")
async def file():
    return FileResponse(__file__)

@app.websocket("/ws")
async def ws(socket: WebSocket):
    await socket.accept()
    try:
        while True:
            await socket.send_text("echo " + await socket.receive_text())
    except WebSocketDisconnect as error:
        print("left with", error.code, flush=True)
"#;

/// A site with an application at `/in`, with the packages on its path; and its folder of packages.
fn with_packages(text: &str) -> Option<(Site, String)> {
    let site = Site::new().file("app/app.py", text);
    let version = packages_in(&site)?;
    let path = format!("@ROOT@/packages/{version}/site-packages");
    Some((site, path))
}

fn served(site: Site, path: &str, config: &str) -> Server {
    let config = format!(
        "<Location /in>\nSetHandler asgi\nASGIApp app/app.py python-path={path}\nRequire all granted\n</Location>\n{config}"
    );
    site.config(&config).start()
}

/// The next message of a WebSocket.
pub(super) fn hear(client: &mut Connection) -> String {
    let mut bytes = Vec::new();
    loop {
        if let Some((start, _)) = measure(&bytes) {
            return String::from_utf8_lossy(&bytes[start..]).into_owned();
        }
        bytes.push(client.byte().expect("the application says something"));
    }
}

#[test]
fn fastapi_answers_uploads_streams_and_talks() {
    needs_python!();
    let Some((site, path)) = with_packages(FAST) else { return };
    let server = served(site, &path, "");
    let answer = server.get("/in/items/3?q=a%20b");
    let text = answer.text();
    assert!(text.contains("\"n\":3,\"q\":\"a b\",\"greeting\":\"hello\""), "{text}\n{}", server.error_log());
    assert!(text.contains("/in/items/3\""), "it knows where it is mounted: {text}");
    assert_eq!(server.get("/in/items/x").status, 422);
    assert_eq!(server.get("/in/sync").text(), "{\"sync\":true}");
    assert_eq!(server.get("/in/background").text(), "{\"done\":0}");
    // It runs behind the answer, and maybe behind the next one's beginning.
    await_that("the task", || server.get("/in/background").text() != "{\"done\":0}");
    assert!(server.get("/in/file").text().contains("FileResponse(__file__)"));
    assert_eq!(server.get("/in/openapi.json").status, 200);
    let large = "x".repeat(3 << 20);
    let body = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"n\"\r\n\r\n{large}\r\n--b--\r\n"
    );
    let head = format!(
        "POST /in/upload HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    assert_eq!(server.request((head + &body).as_bytes()).text(), "{\"size\":3145728,\"name\":\"n\"}");
    events(&server);
    let mut client = server.connect();
    client.send(handshake("/in/ws", ""));
    assert_eq!(client.any_response(false).status, 101);
    client.send(frame(TEXT, b"one"));
    assert_eq!(hear(&mut client), "echo one");
    client.send(frame(0x88, &4002_u16.to_be_bytes()));
    log_when(&server, "left with 4002");
    let log = log_when(&server, "is served by Python");
    assert!(log.contains("with uvloop"), "it is taken where the environment has it: {log}");
    assert!(log.contains("[asgi:notice]"), "nothing is wrong with that: {log}");
}

/// Server-sent events come one by one, and end when nobody listens.
fn events(server: &Server) {
    let mut client = server.connect();
    client.send("GET /in/events HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    let mut heard = Vec::new();
    while !heard.windows(9).any(|part| part == b"data: 2\n\n") {
        heard.push(client.byte().expect("events come while there are more to come"));
    }
    drop(client);
    log_when(server, "nobody listens");
}

const CHANNELS: &str = r#"
import django
from django.conf import settings
from django.http import JsonResponse
from django.urls import path

settings.configure(
    SECRET_KEY="x", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__,
    INSTALLED_APPS=["channels"],
    CHANNEL_LAYERS={"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}},
)
django.setup()

from channels.generic.websocket import AsyncJsonWebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

async def page(request):
    return JsonResponse({"path": request.path, "async": True})

def plain(request):
    return JsonResponse({"path": request.path, "async": False})

urlpatterns = [path("page", page), path("plain", plain)]

class Room(AsyncJsonWebsocketConsumer):
    async def connect(self):
        await self.channel_layer.group_add("room", self.channel_name)
        await self.accept()
    async def disconnect(self, code):
        await self.channel_layer.group_discard("room", self.channel_name)
        print("the room is left with", code, flush=True)
    async def receive_json(self, content):
        await self.channel_layer.group_send("room", {"type": "said", "words": content["words"]})
    async def said(self, event):
        await self.send_json({"words": event["words"]})

application = ProtocolTypeRouter({
    "http": get_asgi_application(),
    "websocket": URLRouter([path("room", Room.as_asgi())]),
})
"#;

#[test]
fn channels_of_django_have_rooms_beside_pages() {
    needs_python!();
    let Some((site, path)) = with_packages(CHANNELS) else { return };
    let server = served(site, &path, "");
    let page = server.get("/in/page").text();
    assert_eq!(page, "{\"path\": \"/in/page\", \"async\": true}", "{}", server.error_log());
    assert_eq!(server.get("/in/plain").text(), "{\"path\": \"/in/plain\", \"async\": false}");
    let mut windows = [server.connect(), server.connect()];
    for window in &mut windows {
        window.send(handshake("/in/room", ""));
        assert_eq!(window.any_response(false).status, 101, "{}", server.error_log());
    }
    windows[0].send(frame(TEXT, b"{\"words\": \"good evening\"}"));
    for window in &mut windows {
        assert_eq!(hear(window), "{\"words\": \"good evening\"}");
    }
    let [first, _second] = windows;
    drop(first);
    log_when(&server, "the room is left with 1006");
}
