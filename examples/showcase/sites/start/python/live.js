// The browser's half of the live page: shows what comes over the WebSocket, and opens it again if it was lost.
"use strict";
const home = document.currentScript.dataset.home;
const state = document.getElementById("state");
const said = document.getElementById("said");
const form = document.getElementById("say");
let socket;

function open() {
  const address = new URL(`${home}/socket`, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(address);
  socket.onopen = () => said.replaceChildren();
  socket.onmessage = (event) => {
    const line = JSON.parse(event.data);
    if ("count" in line) {
      state.dataset.count = line.count;
    }
    if ("clock" in line) {
      state.dataset.clock = `, ${line.clock} on the server`;
    }
    if ("words" in line) {
      const item = document.createElement("li");
      item.textContent = `${line.at} ${line.words}`;
      said.append(item);
    }
    const count = Number(state.dataset.count ?? 1);
    state.textContent = `${count === 1 ? "One window" : `${count} windows`} open${state.dataset.clock ?? ""}`;
  };
  socket.onclose = () => {
    state.textContent = "Not connected; trying again …";
    setTimeout(open, 1000);
  };
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (socket.readyState === WebSocket.OPEN) {
    socket.send(form.words.value);
    form.words.value = "";
  }
});
open();
