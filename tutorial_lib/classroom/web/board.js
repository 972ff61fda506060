// Shows the pictures that the host sends, and tells the host which button was pressed.
"use strict";

const board = document.getElementById("board");
const news = document.getElementById("news");
const reply = document.getElementById("reply");
const form = document.getElementById("buttons");

function say(text, isProblem) {
  reply.textContent = text;
  reply.classList.toggle("problem", isProblem);
}

function allowButtons(allowed) {
  for (const control of form.querySelectorAll("button, select")) control.disabled = !allowed;
}

const GONE = "The class is over: the host has gone.";

// The answer to a button and the last picture come on two connections, in either order. Whatever comes
// first, the word about the end is the last one.
let isEnding = false; // the host has answered that it ends the class
let isOver = false;

function end() {
  isOver = true;
  pictures.close();
  allowButtons(false);
  say("The class is over.", true);
}

// Pictures come as server-sent events. The browser itself connects again after an interruption.
const pictures = new EventSource("pictures");

pictures.onmessage = (message) => {
  const content = JSON.parse(message.data);
  board.innerHTML = content.picture;
  if (news.textContent !== content.latest) news.textContent = content.latest;
  if (content.isOver) end();
};

pictures.onopen = () => {
  allowButtons(true);
  if (reply.textContent === GONE) say("", false); // it is back; what it has answered meanwhile stays
};

pictures.onerror = () => {
  if (isEnding) {
    end(); // and its last picture was lost with the host
    return;
  }
  allowButtons(false);
  say(GONE, true);
};

let orders = 0; // so far; a late answer does not replace that to a later order

async function press(action, job) {
  const number = ++orders;
  let text = "The host does not answer.";
  let isProblem = true;
  try {
    const answer = await fetch(action, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ job }),
    });
    text = await answer.text();
    isProblem = !answer.ok;
    isEnding = isEnding || (action === "end" && answer.ok);
  } catch {
    // Nobody has answered, and the text above says so.
  }
  if (!isOver && number === orders) say(text, isProblem);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  press("hand_out", document.getElementById("job").value);
});

for (const button of form.querySelectorAll("button[data-question]")) {
  button.addEventListener("click", () => {
    if (confirm(button.dataset.question)) press(button.dataset.action, "");
  });
}
