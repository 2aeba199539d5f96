//! What there is to show at a time: pure bookkeeping over shots and rulings. Seconds and metres, no pixels.

use std::collections::BTreeMap;

use crate::ball::Ball;
use crate::events::{EventKind, Sample, Shot, ShotFlag};
use crate::rules::{BySeat, Decision, Ruling, Seat};
use crate::space::TablePoint;
use crate::table::Rail;
use crate::units::Timestamp;

/// A shot stays on the picture this long after the balls rest, seconds: time to read a ruling of two lines.
const LINGER_S: f64 = 3.0;
/// It fades away over this time at the end, seconds.
const FADE_S: f64 = 0.5;
/// Graphics come up this long before the strike, seconds: long enough to see which ball is the cue ball.
const LEAD_S: f64 = 0.6;
/// A ruling is shown this long after what decided it, seconds: the eye first follows the ball.
const SUSPENSE_S: f64 = 0.35;
/// When the recording ends before the balls rest, the ruling is shown this long before the last that is known, seconds.
const BEFORE_END_S: f64 = 1.5;
/// Samples further apart than this were not seen in between, seconds: two frames at 25 a second.
const GAP_S: f64 = 0.1;

/// Something that the cue ball did, in order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: Done,
    /// Where the cue ball was.
    pub place: TablePoint,
    /// Whether the ruling doubts it.
    pub doubtful: bool,
}

/// What the cue ball did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Done {
    /// Was struck.
    Struck,
    /// Met a ball.
    Met(Ball),
    /// Touched a rail, for the n-th time; no number after the second object ball, where rails no longer count.
    Touched { rail: Rail, n: Option<u32> },
}

/// A shot with what is worked out once for all its pictures.
#[derive(Debug)]
struct Told {
    shot: Shot,
    steps: Vec<Step>,
    /// When the ruling is shown.
    ruled_s: f64,
}

/// A match, to be looked at by time.
#[derive(Debug)]
pub struct Scene {
    told: Vec<Told>,
    rulings: BTreeMap<u32, Ruling>,
    cue_balls: BySeat<Option<Ball>>,
}

/// A ball at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    pub ball: Ball,
    pub place: TablePoint,
    /// Seen then, not bridged.
    pub observed: bool,
}

/// What there is to show.
#[derive(Debug)]
pub struct Moment<'a> {
    /// The shot in play or just over.
    pub shot: &'a Shot,
    /// 0..=1: how much of the shot's graphics is visible.
    pub visible: f32,
    /// The balls.
    pub balls: Vec<Standing>,
    /// What the cue ball has done so far.
    pub steps: &'a [Step],
    /// The ruling and how long it has been shown, seconds.
    pub ruling: Option<(&'a Ruling, f64)>,
}

impl Scene {
    /// A scene of `shots` with the rulings that count, by shot.
    pub fn new(mut shots: Vec<Shot>, rulings: BTreeMap<u32, Ruling>) -> Self {
        shots.sort_by_key(|s| s.start);
        let mut cue_balls: BySeat<Option<Ball>> = BySeat::default();
        let told = shots
            .into_iter()
            .map(|shot| {
                let ruling = rulings.get(&shot.no);
                if let (Some(seat), Some(ball)) = (ruling.and_then(|r| r.player), shot.cue_ball) {
                    cue_balls.get_mut(seat).get_or_insert(ball);
                }
                let steps = steps(&shot, ruling.map_or(&[], |r| &r.doubtful_events));
                let ruled_s = ruled_s(&shot, &steps, ruling);
                Told { shot, steps, ruled_s }
            })
            .collect();
        // Two cue balls, two players: whoever has not played yet has the other one.
        for seat in [Seat::A, Seat::B] {
            let other = match cue_balls.get(seat.other()) {
                Some(Ball::White) => Some(Ball::Yellow),
                Some(Ball::Yellow) => Some(Ball::White),
                _ => None,
            };
            let own = cue_balls.get_mut(seat);
            *own = own.or(other);
        }
        Self {
            told,
            rulings,
            cue_balls,
        }
    }

    /// What there is to show at `at`; `None` between shots.
    pub fn moment(&self, at: Timestamp) -> Option<Moment<'_>> {
        let next = self.told.partition_point(|t| t.shot.start.plus(-LEAD_S) <= at);
        let told = &self.told[next.checked_sub(1)?];
        let shot = &told.shot;
        let left_s = shot.end.plus(LINGER_S).since(at);
        if left_s <= 0.0 {
            return None;
        }
        let since_s = at.since(shot.start.plus(-LEAD_S));
        let visible = (left_s / FADE_S).min(since_s / FADE_S).clamp(0.0, 1.0) as f32;
        let n_done = told.steps.partition_point(|s| s.at <= at);
        let ruling = self.rulings.get(&shot.no).filter(|_| at.secs() >= told.ruled_s);
        Some(Moment {
            shot,
            visible,
            balls: balls(shot, at),
            steps: &told.steps[..n_done],
            ruling: ruling.map(|r| (r, at.secs() - told.ruled_s)),
        })
    }

    /// The score as shown at `at`.
    pub fn score(&self, at: Timestamp) -> BySeat<u32> {
        let ruled = self.told.iter().take_while(|t| t.ruled_s <= at.secs());
        let last = ruled.filter_map(|t| self.rulings.get(&t.shot.no)).last();
        last.map(|r| r.score).unwrap_or_default()
    }

    /// Whose turn it is at `at`, when known.
    pub fn player(&self, at: Timestamp) -> Option<Seat> {
        let started = self.told.iter().take_while(|t| t.shot.start.plus(-LEAD_S) <= at);
        let ruling = started.filter_map(|t| self.rulings.get(&t.shot.no)).last()?;
        ruling.player
    }

    /// The ball that each player plays with, when known.
    pub fn cue_balls(&self) -> &BySeat<Option<Ball>> {
        &self.cue_balls
    }
}

/// The cue ball's contacts and rails. Rails count until the second object ball is met, as the rules count them.
fn steps(shot: &Shot, doubtful: &[usize]) -> Vec<Step> {
    let Some(cue) = shot.cue_ball else { return Vec::new() };
    let mut met: Vec<Ball> = Vec::new();
    let mut n = 0;
    let events = shot.events().iter().enumerate();
    events
        .filter(|(_, e)| e.kind.involves(cue))
        .filter_map(|(i, event)| {
            let what = match event.kind {
                EventKind::CueStrike { .. } => Done::Struck,
                EventKind::Rail { rail, .. } => {
                    let counts = met.len() < 2;
                    n += u32::from(counts);
                    Done::Touched {
                        rail,
                        n: counts.then_some(n),
                    }
                }
                EventKind::BallBall { .. } => {
                    let other = event.kind.other(cue)?;
                    if !met.contains(&other) {
                        met.push(other);
                    }
                    Done::Met(other)
                }
                EventKind::Pocket { .. } | EventKind::OffTable { .. } | EventKind::Rest { .. } => return None,
            };
            let path = shot.paths.get(&cue).map_or(&[][..], Vec::as_slice);
            let place = place_at(path, event.at).map(|(place, _)| place).or(event.place)?;
            Some(Step {
                at: event.at,
                what,
                place,
                doubtful: doubtful.contains(&i),
            })
        })
        .collect()
}

/// When the ruling is shown: after the ball that makes the point, else when the balls rest.
fn ruled_s(shot: &Shot, steps: &[Step], ruling: Option<&Ruling>) -> f64 {
    let mut met: Vec<Ball> = Vec::new();
    let second = steps.iter().find(|s| match s.what {
        Done::Met(ball) if !met.contains(&ball) => {
            met.push(ball);
            met.len() == 2
        }
        _ => false,
    });
    let end_s = shot.end.secs();
    match (second, ruling.map(|r| r.decision)) {
        (Some(second), Some(Decision::Point)) => (second.at.secs() + SUSPENSE_S).min(end_s),
        _ if shot.has(ShotFlag::EndsBeforeRest) => (end_s - BEFORE_END_S).max(shot.start.secs()),
        _ => end_s,
    }
}

fn balls(shot: &Shot, at: Timestamp) -> Vec<Standing> {
    let mut balls: BTreeMap<Ball, (TablePoint, bool)> = shot.before.iter().map(|(ball, place)| (*ball, (*place, true))).collect();
    for (ball, path) in &shot.paths {
        if let Some(standing) = place_at(path, at) {
            balls.insert(*ball, standing);
        }
    }
    balls
        .into_iter()
        .map(|(ball, (place, observed))| Standing { ball, place, observed })
        .collect()
}

/// Where `ball` went from the strike until `at`, with a corner at each of its rails: between frames as they happened.
pub fn course(shot: &Shot, ball: Ball, at: Timestamp) -> Vec<(Timestamp, TablePoint)> {
    let path = shot.paths.get(&ball).map_or(&[][..], Vec::as_slice);
    let within = |t: Timestamp| shot.start <= t && t <= at;
    let seen = path.iter().map(|s| (s.at, s.place));
    let corners = shot.events().iter().filter_map(|e| match e.kind {
        EventKind::Rail { ball: b, .. } if b == ball => e.place.map(|place| (e.at, place)),
        _ => None,
    });
    let mut course: Vec<_> = seen.chain(corners).filter(|(t, _)| within(*t)).collect();
    course.sort_by_key(|(t, _)| *t);
    course
}

/// Place at `at` on a path, and whether the ball was seen around it. Before and after its path a ball stays where the
/// path begins and ends.
pub fn place_at(path: &[Sample], at: Timestamp) -> Option<(TablePoint, bool)> {
    let next = path.partition_point(|s| s.at <= at);
    let (Some(after), Some(before)) = (path.get(next), next.checked_sub(1).map(|i| &path[i])) else {
        return path.get(next).or(path.last()).map(|s| (s.place, s.observed));
    };
    let gap_s = after.at.since(before.at);
    let share = if gap_s > 0.0 { at.since(before.at) / gap_s } else { 0.0 };
    let place = TablePoint(before.place.0 + (after.place.0 - before.place.0) * share);
    Some((place, before.observed && after.observed && gap_s <= GAP_S))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Event, ShotKind};
    use crate::space::TableVelocity;
    use crate::units::Confidence;

    fn at(secs: f64) -> Timestamp {
        Timestamp::saturating(secs)
    }

    fn sample(t: f64, x: f64, observed: bool) -> Sample {
        Sample {
            at: at(t),
            place: TablePoint::new(x, 0.0),
            velocity: TableVelocity::new(1.0, 0.0),
            sigma_m: 0.001,
            observed,
        }
    }

    /// White: red at 2 s, three rails, yellow at 6 s, a fourth rail; all at rest at 9 s.
    fn shot() -> Shot {
        let event = |t, kind| Event {
            at: at(t),
            kind,
            place: Some(TablePoint::new(0.0, 0.0)),
            t_err_s: 0.001,
            confidence: Confidence::SURE,
        };
        let rail = |t, rail| event(t, EventKind::Rail { ball: Ball::White, rail });
        let events = vec![
            event(1.0, EventKind::CueStrike { ball: Ball::White }),
            event(2.0, EventKind::contact(Ball::White, Ball::Red)),
            rail(3.0, Rail::Left),
            rail(4.0, Rail::Foot),
            rail(5.0, Rail::Right),
            event(6.0, EventKind::contact(Ball::White, Ball::Yellow)),
            rail(7.0, Rail::Head),
        ];
        let mut shot = Shot::new(1, ShotKind::Shot, at(1.0), at(9.0), Some(Ball::White), events);
        shot.paths.insert(
            Ball::White,
            vec![sample(1.0, 0.0, true), sample(1.08, 0.08, true), sample(9.0, 0.5, true)],
        );
        shot.before.insert(Ball::Red, TablePoint::new(0.3, 0.2));
        shot
    }

    fn scene(decision: Decision) -> Scene {
        let ruling = Ruling {
            shot: 1,
            decision,
            player: Some(Seat::A),
            score: BySeat { a: 1, b: 0 },
            doubtful_events: vec![4],
            ..Ruling::default()
        };
        Scene::new(vec![shot()], BTreeMap::from([(1, ruling)]))
    }

    #[test]
    fn rails_count_up_to_the_second_ball() {
        let scene = scene(Decision::Point);
        let rails = |secs| {
            let moment = scene.moment(at(secs)).unwrap();
            moment
                .steps
                .iter()
                .filter_map(|s| match s.what {
                    Done::Touched { n, .. } => Some(n),
                    _ => None,
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(rails(2.5), []);
        assert_eq!(rails(5.5), [Some(1), Some(2), Some(3)]);
        assert_eq!(rails(8.0), [Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn a_point_is_told_when_it_is_made_and_a_miss_when_the_balls_rest() {
        let told = |decision, secs| scene(decision).moment(at(secs)).unwrap().ruling.is_some();
        assert!(!told(Decision::Point, 6.1) && told(Decision::Point, 6.5));
        assert!(!told(Decision::NoPoint, 8.9) && told(Decision::NoPoint, 9.1));
        assert_eq!(scene(Decision::Point).score(at(6.1)).a, 0);
        assert_eq!(scene(Decision::Point).score(at(6.5)).a, 1);
    }

    #[test]
    fn nothing_is_shown_before_and_long_after_a_shot() {
        let scene = scene(Decision::Point);
        assert!(scene.moment(at(0.3)).is_none());
        assert!(scene.moment(at(12.5)).is_none());
        assert_eq!(scene.moment(at(5.0)).map(|m| m.visible), Some(1.0));
        assert_eq!(scene.player(at(0.3)), None);
        assert_eq!(scene.player(at(2.0)), Some(Seat::A));
        assert_eq!(
            (scene.cue_balls().a, scene.cue_balls().b),
            (Some(Ball::White), Some(Ball::Yellow))
        );
    }

    #[test]
    fn balls_are_between_their_samples_and_gaps_are_known() {
        let path = &shot().paths[&Ball::White];
        let (place, observed) = place_at(path, at(1.04)).unwrap();
        assert!((place.x() - 0.04).abs() < 1e-12 && observed);
        assert!(!place_at(path, at(5.0)).unwrap().1, "not seen for eight seconds");
        assert_eq!(place_at(path, at(0.0)).map(|(p, _)| p), Some(TablePoint::new(0.0, 0.0)));
        assert_eq!(place_at(&[], at(0.0)), None);
        let scene = scene(Decision::Point);
        let balls = scene.moment(at(2.0)).unwrap().balls;
        assert_eq!(balls.iter().map(|b| b.ball).collect::<Vec<_>>(), [Ball::White, Ball::Red]);
    }

    #[test]
    fn a_course_has_corners_where_the_rails_are() {
        let times = |ball| -> Vec<f64> { course(&shot(), ball, at(4.5)).iter().map(|(t, _)| t.secs()).collect() };
        assert_eq!(times(Ball::White), [1.0, 1.08, 3.0, 4.0]);
        assert!(times(Ball::Red).is_empty());
    }

    #[test]
    fn what_the_ruling_doubts_is_marked() {
        let scene = scene(Decision::Review);
        let moment = scene.moment(at(5.5)).unwrap();
        let doubtful: Vec<bool> = moment.steps.iter().map(|s| s.doubtful).collect();
        assert_eq!(doubtful, [false, false, false, false, true]);
    }
}
