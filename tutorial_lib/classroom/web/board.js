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

// Pictures come as server-sent events. The browser itself connects again after an interruption.
const pictures = new EventSource("pictures");

pictures.onmessage = (message) => {
  const { picture, latest, isOver } = JSON.parse(message.data);
  board.innerHTML = picture;
  if (news.textContent !== latest) news.textContent = latest;
  if (isOver) {
    pictures.close();
    allowButtons(false);
    say("The class is over.", true);
  }
};

pictures.onopen = () => {
  allowButtons(true);
  say("", false);
};

pictures.onerror = () => {
  allowButtons(false);
  say("The class is over: the host has gone.", true);
};

async function press(action, job) {
  try {
    const answer = await fetch(action, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ job }),
    });
    say(await answer.text(), !answer.ok);
  } catch {
    say("The host does not answer.", true);
  }
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
