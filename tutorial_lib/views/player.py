"""Player: a run that can be played, stopped, stepped, rewound, and made to go wrong.

Everything is drawn from recorded history. The clock that lets it play is in the browser, so nothing runs in
the kernel between two clicks: no task, no thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import ipywidgets as widgets

from tutorial_lib.faults import crash, hang, hire, mute, slow
from tutorial_lib.simulation import Fault, Run
from tutorial_lib.views.cells import close_with_cell
from tutorial_lib.views.controls import alert, button, close_all, row
from tutorial_lib.views.drawing import safe
from tutorial_lib.views.frame import frame_at
from tutorial_lib.views.playback import Playback
from tutorial_lib.views.scale import Scale
from tutorial_lib.views.svg import VIEWS, picture_of
from tutorial_lib.views.words import shortened

__all__ = ["Player"]

PICTURES_PER_SECOND = 10
POSITIONS_PER_SECOND = 20  # of the slider, so that half speed has whole steps, too
SHORTEST, LONGEST = 5.0, 30.0  # real seconds that a run lasts at speed 1
SPEEDS = {"½ ×": 0.5, "1 ×": 1.0, "2 ×": 2.0, "5 ×": 5.0}
SLOW_FACTOR = 4
WORDS_STYLE = "font-size:13px;line-height:1.3;white-space:pre;overflow-x:auto"


class Player:
    """A player for ``program``, an async function, with the ``faults`` that are there from the beginning.

    A notebook shows it when it is the last line of a cell. *Play* shows the run in real time, but in no
    less than 5 and no more than 30 seconds. *Back* and *Next* go from event to event. *Crash* and its
    neighbours let the chosen actor have a fault at the moment of the playhead; the line at the bottom is
    the code for the very run that is shown.

    ``seed``, ``until`` (virtual seconds) and ``wall_limit`` (real seconds) are as for `simulate`. ``at`` is
    the second at which the playhead starts. ``show`` chooses from "lanes", "load", "tuples", "space",
    "board", "restarts" and "breaker". Raises what `simulate` raises for arguments that make no sense, and
    `ValueError` for another word in ``show``. If the program stalls, runs away or raises, the player
    shows the run up to there and says why.

    >>> from tutorial_lib.crew import Crew, work
    >>> async def main():
    ...     async with Crew(lambda name: work(5), 2) as crew:
    ...         await crew.join()
    >>> Player(main)
    <Player of main, 5.0 s, 6 events>
    """

    def __init__(
        self,
        program: Callable[..., Any],
        faults: Iterable[Fault] = (),
        *,
        seed: int = 0,
        until: float | None = None,
        wall_limit: float | None = 10.0,
        at: float = 0.0,
        show: Sequence[str] = ("lanes", "space"),
    ) -> None:
        unknown = [view for view in show if view not in VIEWS]
        if isinstance(show, str) or unknown:
            raise ValueError(f"show is a list of views, got {show!r}. Choose from {', '.join(VIEWS)}.")
        self.playback = Playback(program, faults, seed=seed, until=until, wall_limit=wall_limit, at=at)
        self._show = list(show)
        self._panel: _Panel | None = None

    def __repr__(self) -> str:
        run = self.run
        return f"<Player of {self.playback.name}, {run.elapsed:.1f} s, {len(run.trace)} events>"

    @property
    def run(self) -> Run:
        """The run that is shown."""
        return self.playback.run

    @property
    def faults(self) -> list[Fault]:
        """The faults of the scenario that is shown."""
        return list(self.playback.faults)

    @property
    def code(self) -> str:
        """The line of code that makes the run that is shown."""
        return self.playback.code

    @property
    def panel(self) -> widgets.Widget:
        """The widgets. They are made when they are asked for first."""
        if self._panel is None:
            self._panel = _Panel(self.playback, self._show)
            close_with_cell(self, f"Player of {self.playback.name}")
        return self._panel.box

    def close(self) -> None:
        """Take the widgets away. Closing twice does nothing more."""
        if self._panel is not None:
            self._panel.close()
            self._panel = None

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        # The picture and the words of the whole run are for whoever opens the notebook without a kernel.
        still = picture_of(frame_at(self.playback.history), self._show)
        view = self.panel._repr_mimebundle_()
        return {**view, "text/html": still.html(), "text/plain": f"{self.code}\n{still.words}"}


class _Panel:
    """The widgets of a player: the picture, what is true, transport, scenario, code."""

    def __init__(self, playback: Playback, show: list[str]) -> None:
        self.playback = playback
        self._show = show
        self._is_setting = False  # while this panel itself moves the slider
        self._put_off = 0  # events to step as soon as the page has stopped to play
        self._answers_left = 0  # of the page, until that is certain

        self.picture = widgets.HTML()
        self.caption = widgets.HTML()
        self.alerts = widgets.HTML()
        transport = self._make_transport()
        scenario = self._make_scenario()
        self.remove_row = self._make_remove_row()  # shown while there is a fault
        self.code = widgets.HTML()
        self.box = widgets.VBox(
            [self.picture, self.caption, self.alerts, transport, scenario, self.remove_row, self.code]
        )
        self._show_scenario()

    def _make_transport(self) -> widgets.HBox:
        self.play = widgets.Play(
            interval=1000 // PICTURES_PER_SECOND,
            step=_step_at(1.0),
            show_repeat=False,
            layout=widgets.Layout(width="100px"),
        )
        play_word = widgets.Label("Play")  # the buttons of Play are icons without a word or a tooltip
        self.slider = widgets.IntSlider(readout=False, layout=widgets.Layout(flex="1 1 150px"))
        self.slider.tooltip = "time"
        self.slider.observe(self._on_slider, names="value")
        self.link = widgets.jslink((self.play, "value"), (self.slider, "value"))
        self.question, self.answer = widgets.IntText(), widgets.IntText()  # never shown; the page copies one
        self.echo = widgets.jsdlink((self.question, "value"), (self.answer, "value"))  # to the other
        self.answer.observe(self._on_answer, names="value")
        back = button("Back", "one event back", lambda: self._step(-1), icon="step-backward")
        forward = button("Next", "to the next event", lambda: self._step(1), icon="step-forward")
        self.speed = widgets.Dropdown(
            options=SPEEDS, value=1.0, layout=widgets.Layout(width="70px"), tooltip="speed"
        )
        self.speed.observe(self._on_speed, names="value")
        self.as_text = widgets.ToggleButton(
            description="As text", tooltip="the same in words", layout=widgets.Layout(width="auto")
        )
        self.as_text.observe(lambda change: self._draw(), names="value")
        return row(play_word, self.play, back, forward, self.slider, self.speed, self.as_text)

    def _make_scenario(self) -> widgets.HBox:
        self.actor = widgets.Dropdown(layout=widgets.Layout(width="130px"), tooltip="who has the fault")
        return row(
            self.actor,
            button("Crash", "it falls silent for ever", lambda: self._add(crash)),
            button("Hang", "it does nothing any more", lambda: self._add(hang)),
            button("Slow", f"its work takes {SLOW_FACTOR} times as long", lambda: self._add(_slower)),
            button("Mute", "its heartbeats get lost", lambda: self._add(mute)),
            button("Add worker", "the crew hires one more", self._hire),
            button("Reset", "as it was at the beginning", lambda: self._change(self.playback.reset)),
        )

    def _make_remove_row(self) -> widgets.HBox:
        self.fault = widgets.Dropdown(layout=widgets.Layout(width="200px"), tooltip="faults of this run")
        return row(self.fault, button("Remove", "take this fault out", self._remove))

    def close(self) -> None:
        """Take all widgets away."""
        self.link.unlink()
        self.echo.unlink()
        close_all(self.box, self.link, self.echo, self.question, self.answer)

    # ------------------------------------------------------------------------------------------------
    # What is clicked

    def _on_slider(self, change: dict[str, Any]) -> None:
        if not self._is_setting:
            self.playback.go_to(self._time_at(change["new"]))
            self._draw()

    def _on_speed(self, change: dict[str, Any]) -> None:
        self.play.step = _step_at(change["new"])

    def _step(self, events: int) -> None:
        """Step, but never while it plays: moments that are still on their way here would undo the step.

        The page sends one moment at a time and keeps the latest back until it hears that the last was dealt
        with. So after its first answer one may still be on its way, and after the second there is none.
        """
        if self.play.playing or self._answers_left:
            self.play.playing = False
            self._put_off += events
            self._answers_left = 2
            self.question.value += 1
        else:
            self._step_now(events)

    def _on_answer(self, change: dict[str, Any]) -> None:
        if self._answers_left and change["new"] == self.question.value:
            self._answers_left -= 1
            if self._answers_left:
                self.question.value += 1
            else:
                events, self._put_off = self._put_off, 0
                self._step_now(events)

    def _step_now(self, events: int) -> None:
        self.playback.step(events)
        self._move_slider()
        self._draw()

    def _add(self, make: Callable[[str, float], Fault]) -> None:
        if self.actor.value is not None:
            fault = make(self.actor.value, self._moment())
            self._change(lambda: self.playback.add(fault))

    def _hire(self) -> None:
        fault = hire(self.playback.next_worker(), self._moment())
        self._change(lambda: self.playback.add(fault))

    def _remove(self) -> None:
        if self.fault.index is not None:
            self._change(lambda: self.playback.remove(self.playback.faults[self.fault.index]))

    def _change(self, change: Callable[[], None]) -> None:
        """Change the scenario. What goes wrong is shown in the panel, for nobody sees it elsewhere."""
        try:
            change()
        except Exception as error:
            self.alerts.value = alert(f"{type(error).__name__}: {error}")
        else:
            self._show_scenario()

    # ------------------------------------------------------------------------------------------------
    # What is shown

    def _show_scenario(self) -> None:
        playback = self.playback
        names = [lane.name for lane in playback.frame().lanes]
        chosen = self.actor.value
        self.actor.options = [(shortened(name, 24), name) for name in names]
        if chosen in names:
            self.actor.value = chosen
        elif names:
            self.actor.value = _first_worker(playback, names)
        self.fault.options = [repr(fault) for fault in playback.faults]
        self.fault.index = len(playback.faults) - 1 if playback.faults else None
        self.remove_row.layout.display = "flex" if playback.faults else "none"
        self.code.value = (
            '<code style="user-select:all" title="click and copy: the code of this run">'
            f"{escape(playback.code)}</code>"
        )
        self.alerts.value = alert(playback.problem) + alert(playback.warning)
        self._move_slider()
        self._draw()

    def _draw(self) -> None:
        frame = self.playback.frame()
        picture = picture_of(frame, self._show, shows_playhead=True)
        if self.as_text.value:
            self.picture.value = f'<pre style="{WORDS_STYLE}">{safe(picture.words)}</pre>'
        else:
            self.picture.value = str(picture)
        scale = Scale(frame.begin, frame.end)
        self.caption.value = (
            f"<b>{scale.moment(frame.time)}</b> of {scale.moment(frame.end)} · "
            f"event {frame.number} of {frame.events}{': ' if frame.latest else ''}{safe(frame.latest)}"
        )

    # ------------------------------------------------------------------------------------------------
    # The slider and the time

    def _positions(self) -> int:
        """Return how many positions the slider has: enough for a smooth play at half speed."""
        history = self.playback.history
        lasts = min(max(history.end - history.begin, SHORTEST), LONGEST)
        return round(lasts * POSITIONS_PER_SECOND)

    def _time_at(self, position: int) -> float:
        """Return the moment at a position of the slider: a round number, so that the code stays readable."""
        history = self.playback.history
        span = history.end - history.begin
        positions: int = self.slider.max
        if position >= positions:
            return history.end
        decimals = 1 - math.floor(math.log10(span / positions))
        return round(history.begin + span * position / positions, decimals)

    def _move_slider(self) -> None:
        """Put the slider to where the playhead is."""
        history = self.playback.history
        share = (self.playback.time - history.begin) / (history.end - history.begin)
        self._is_setting = True
        try:
            self.slider.max = self.play.max = self._positions()
            self.slider.value = round(share * self.slider.max)
        finally:
            self._is_setting = False

    def _moment(self) -> float:
        """Return the time of the playhead as it is written into a fault."""
        return round(self.playback.time, 6)


def _step_at(speed: float) -> int:
    """Return how many positions of the slider lie between two pictures."""
    return round(speed * POSITIONS_PER_SECOND / PICTURES_PER_SECOND)


def _slower(name: str, at: float) -> Fault:
    return slow(name, at, SLOW_FACTOR)


def _first_worker(playback: Playback, names: list[str]) -> str:
    workers = playback.history.workers
    return next((name for name in names if name in workers), names[0])
