# Rulings in English. Terms as players use them; clauses as in docs/rules.md.
ball-white = white
ball-yellow = yellow
ball-red = red
ball-cue = cue ball
ball-numbered = the { $number }
rail-head = head
rail-foot = foot
rail-left = left
rail-right = right
rails = { $rails } rail
then = , then

with-clauses = { $text } ({ $clauses }).
proposed = Proposed: { $text }

scored = Point: { $path }
missed-no-ball = No point: the cue ball met neither object ball
missed-one-ball = No point: the cue ball met { $ball } only
missed-few-rails = No point: { $rails ->
    [0] no rail
    [one] one rail
   *[other] { $rails } rails
} before { $ball }, { $needed } needed
missed-serve = No point: on the serve the red must be met before anything else
missed-simultaneous = No point: { $rail } rail and { $ball } at the same time
jump-ball = Foul: { $ball } left the table

lag-nearer = Lag won by { $ball }: nearer to the head rail
lag-fault = Lag won by { $ball }: the other lag was at fault
lag-both = Lag again: both at fault
lag-eye = Lag again: the eye cannot tell

unclear-event = Cannot tell: it hangs on { $event }, { $percent } % likely
unclear-order = Cannot tell: { $first } and { $second } lie { $gap } ± { $err } ms apart
unclear-pending = Cannot tell: it would score, but the balls were not seen to stop
unclear-unfinished = Cannot tell: the balls were not seen to stop, and it may yet score
unclear-starts-before-recording = Cannot tell: the stroke began before the recording
unclear-ends-before-rest = Cannot tell: the balls were not seen to stop
unclear-cut = Cannot tell: the picture was cut away within the stroke
unclear-camera-moved = Cannot tell: the camera moved within the stroke
unclear-frames-lost = Cannot tell: pictures are missing where it matters
unclear-occluded = Cannot tell: the cue ball was hidden where it matters
unclear-strike = Cannot tell: it was not seen which ball the cue struck
unclear-not-a-cue-ball = Cannot tell: the cue struck { $ball }, which is no player's ball
unclear-wrong-ball = For the referee: { $ball } was struck out of turn: a wrong ball, or an earlier ruling is wrong
unclear-two-strikes = For the referee: the cue struck twice while balls moved
unclear-serve = Cannot tell: it scores unless this was the serve
unclear-lag-rest = Cannot tell: { $ball } was not seen at rest
unclear-lag-close = Cannot tell: the lag is too close for the camera
unclear-after-end = The match was over before this stroke
unclear-no-module = Cannot tell: no rules for this game yet

event-strike = the strike of { $ball }
event-contact = the contact of { $ball } and { $other }
event-rail = the { $rail } rail of { $ball }
event-pocket = the fall of { $ball }
event-off-table = { $ball } leaving the table
event-rest = the rest of { $ball }

person-point = Point, on the referee's word
person-no-point = No point, on the referee's word
person-legal = Clean stroke, on the referee's word
person-foul = Foul, on the referee's word
person-lag = Lag, on the referee's word
person-review = Left open, on the referee's word
unstated = No reason stated
