"""Views: what a run looks like, as text, as SVG, as a figure, and in a player that rewinds.

Every picture is drawn from a `Frame`, which says in plain data what was true at one moment of a trace.
Nothing else looks at events, so text, SVG and figure always tell the same story.

Read in this order: `words`, `state`, `thinning`, `stays`, `progress`, `history`, `loads` and `frame` say what
is true; `scale`, `text`, `progress_text`, `palette`, `drawing`, `lanes`, `panels`, `progress_panels`, `svg`
and `figure` draw it; `playback`, `cells`, `controls`, `player`, `live_frame` and `live` let it move. `choice`
is for questions.
"""
