//! From observations to shots: balls that roll by plain arithmetic, so that a reader can check each time and place.

use cuemark::ball::Ball;
use cuemark::events::{Event, EventKind, Shot, ShotFlag, ShotKind};
use cuemark::observation::{FrameObservations, Observation};
use cuemark::referee::Referee;
use cuemark::rules::{Decision, MatchSetup, Ruling};
use cuemark::space::{TableCovariance, TablePoint};
use cuemark::table::{Rail, Table};
use cuemark::units::{Confidence, FrameNo, Timestamp};
use cuemark::update::Update;
use nalgebra::Vector2;

/// Frames a second.
const RATE: f64 = 60.0;

/// Deceleration of a rolling ball, metres per second squared.
const ROLL_M_S2: f64 = 0.1;

/// Where a ball centre turns at the foot rail and at a side rail, metres: half the table less the ball's radius.
const FOOT_X: f64 = 1.42 - 0.03075;
const SIDE_Y: f64 = 0.71 - 0.03075;

/// A straight roll that slows evenly, from `t` until the ball stops or the next begins.
#[derive(Clone, Copy)]
struct Roll {
    t: f64,
    from: Vector2<f64>,
    v: Vector2<f64>,
}

impl Roll {
    fn stop_s(&self) -> f64 {
        self.v.norm() / ROLL_M_S2
    }

    fn velocity(&self, t: f64) -> Vector2<f64> {
        let speed = self.v.norm();
        if speed < 1e-9 {
            return self.v;
        }
        self.v * ((speed - ROLL_M_S2 * (t - self.t)).max(0.0) / speed)
    }

    fn place(&self, t: f64) -> Vector2<f64> {
        let dt = (t - self.t).clamp(0.0, self.stop_s());
        self.from + (self.v + self.velocity(self.t + dt)) * (0.5 * dt)
    }

    /// When it gets to `x`.
    fn reaches_x(&self, x: f64) -> f64 {
        let (a, b, c) = (-0.5 * ROLL_M_S2 * self.v.x / self.v.norm(), self.v.x, self.from.x - x);
        let root = (b * b - 4.0 * a * c).sqrt() * b.signum();
        self.t + (-b + root) / (2.0 * a)
    }
}

/// One ball: where it lies, then its rolls.
#[derive(Clone)]
struct Course {
    ball: Ball,
    lies: Vector2<f64>,
    rolls: Vec<Roll>,
}

impl Course {
    fn lying(ball: Ball, x: f64, y: f64) -> Self {
        Self {
            ball,
            lies: Vector2::new(x, y),
            rolls: Vec::new(),
        }
    }

    fn struck(mut self, t: f64, vx: f64, vy: f64) -> Self {
        self.rolls.push(Roll {
            t,
            from: self.lies,
            v: Vector2::new(vx, vy),
        });
        self
    }

    /// Turns at the foot rail and keeps `restitution` of its speed; returns when.
    fn off_the_foot_rail(mut self, restitution: f64) -> (Self, f64) {
        let last = *self.rolls.last().expect("a roll");
        let t = last.reaches_x(FOOT_X);
        let v = last.velocity(t);
        self.rolls.push(Roll {
            t,
            from: last.place(t),
            v: Vector2::new(-restitution * v.x, v.y),
        });
        (self, t)
    }

    fn place(&self, t: f64) -> Vector2<f64> {
        self.rolls.iter().rfind(|r| r.t <= t).map_or(self.lies, |r| r.place(t))
    }

    /// When and where it stops at last.
    fn rest(&self) -> (f64, Vector2<f64>) {
        let last = self.rolls.last().expect("a roll");
        (last.t + last.stop_s(), last.place(last.t + last.stop_s()))
    }
}

/// What the camera would tell of these balls for `secs` seconds; errors of up to half a millimetre with no pattern.
fn film(courses: &[Course], secs: f64) -> Vec<FrameObservations> {
    (0..(secs * RATE) as u64)
        .map(|no| {
            let t = no as f64 / RATE;
            let see = |(k, c): (usize, &Course)| {
                let phase = 2.399 * no as f64 + k as f64;
                let at = c.place(t) + Vector2::new(phase.sin(), (1.7 * phase).cos()) * 0.0005;
                Observation {
                    kinds: vec![(c.ball, Confidence::new(0.98))],
                    at: TablePoint::new(at.x, at.y),
                    covariance: TableCovariance::identity() * 1e-6,
                    coverage: 1.0,
                }
            };
            FrameObservations {
                no: FrameNo(no),
                at: Timestamp::saturating(t),
                table_in_view: true,
                balls: courses.iter().enumerate().map(see).collect(),
            }
        })
        .collect()
}

fn watch(frames: &[FrameObservations]) -> (Vec<Shot>, Vec<Ruling>) {
    let mut referee = Referee::new(Table::CAROM, &MatchSetup::default());
    let mut updates: Vec<Update> = frames.iter().flat_map(|f| referee.observe(f)).collect();
    updates.extend(referee.finish());
    let (mut shots, mut rulings) = (Vec::new(), Vec::new());
    for update in updates {
        match update {
            Update::Shot(shot) => shots.push((*shot).clone()),
            Update::Ruling(ruling) => rulings.push((*ruling).clone()),
            Update::FramesLost { .. } => {}
        }
    }
    (shots, rulings)
}

fn only(shot: &Shot, kind: EventKind) -> &Event {
    let found: Vec<&Event> = shot.events().iter().filter(|e| e.kind == kind && e.is_likely()).collect();
    assert_eq!(found.len(), 1, "{kind:?} in {:#?}", shot.events());
    found[0]
}

/// Red on the foot spot, white and yellow on the head string, one in each half (C2.2).
fn lag() -> ([Course; 3], [f64; 2]) {
    let white = Course::lying(Ball::White, -0.71, 0.42).struck(1.5, 1.05, 0.0);
    let yellow = Course::lying(Ball::Yellow, -0.71, -0.42).struck(1.7, 1.0, 0.0);
    let (white, white_foot) = white.off_the_foot_rail(0.85);
    let (yellow, yellow_foot) = yellow.off_the_foot_rail(0.85);
    let red = Course::lying(Ball::Red, 0.71, 0.0);
    ([white, yellow, red], [white_foot, yellow_foot])
}

#[test]
fn a_lag_is_told_with_both_strikes_rails_and_stops() {
    let (courses, foot) = lag();
    let (shots, rulings) = watch(&film(&courses, 16.0));
    assert_eq!(shots.len(), 1);
    let shot = &shots[0];
    assert_eq!(shot.kind, ShotKind::Lag);
    assert_eq!(shot.flags, []);
    for (course, (struck, foot)) in courses.iter().zip([(1.5, foot[0]), (1.7, foot[1])]) {
        let ball = course.ball;
        let strike = only(shot, EventKind::CueStrike { ball });
        assert!((strike.at.secs() - struck).abs() < 0.005, "{strike:?}");
        // Which short rail is the head cannot be seen: either name may be told, the same for both balls.
        let rail = Rail::Foot;
        let touch = only(shot, EventKind::Rail { ball, rail });
        assert!((touch.at.secs() - foot).abs() < 0.002, "{touch:?} {foot}");
        let (stops, place) = course.rest();
        let rest = only(shot, EventKind::Rest { ball });
        assert!((rest.at.secs() - stops).abs() < 0.05, "{rest:?} {stops}");
        assert!((shot.rest[&ball].0.coords - place).norm() < 0.001);
    }
    // White stops nearer the head rail: it left faster.
    assert!(courses[0].rest().1.x < courses[1].rest().1.x);
    assert_eq!(rulings[0].decision, Decision::Lag);
    assert_eq!(rulings[0].winner, Some(Ball::White));
}

#[test]
fn two_balls_that_set_off_elsewhere_are_no_lag_and_nobody_wins() {
    // The yellow ball moves off without any touch that the pictures show: not from the head string, so no lag.
    let courses = [
        Course::lying(Ball::White, -0.2, 0.42).struck(1.5, 0.9, 0.1),
        Course::lying(Ball::Yellow, 0.3, -0.42).struck(1.9, -0.6, 0.1),
        Course::lying(Ball::Red, 1.2, -0.6),
    ];
    let (shots, rulings) = watch(&film(&courses, 14.0));
    assert_eq!(shots.len(), 1);
    assert_eq!(shots[0].kind, ShotKind::Shot);
    assert_eq!(rulings.len(), 1);
    assert_eq!(rulings[0].decision, Decision::Review);
    assert_eq!(rulings[0].winner, None);
}

/// White runs to the foot rail and back; `away` are the frames in which the table is not in view.
fn with_table_out_of_view(away: std::ops::Range<usize>) -> Shot {
    let (white, _) = Course::lying(Ball::White, 0.0, 0.2)
        .struck(1.5, 1.2, 0.1)
        .off_the_foot_rail(0.8);
    let courses = [
        white,
        Course::lying(Ball::Yellow, -1.0, -0.4),
        Course::lying(Ball::Red, -0.5, 0.6),
    ];
    let mut frames = film(&courses, 14.0);
    for frame in &mut frames[away] {
        frame.table_in_view = false;
        frame.balls.clear();
    }
    let (mut shots, _) = watch(&frames);
    assert_eq!(shots.len(), 1);
    shots.remove(0)
}

#[test]
fn a_head_before_the_camera_for_a_tenth_of_a_second_is_no_cut() {
    let shot = with_table_out_of_view(240..246);
    assert!(!shot.has(ShotFlag::Cut));
    assert!(!shot.has(ShotFlag::EndsBeforeRest));
}

#[test]
fn the_table_out_of_view_for_a_third_of_a_second_is_a_cut() {
    assert!(with_table_out_of_view(240..260).has(ShotFlag::Cut));
}

#[test]
fn an_outline_that_can_hardly_be_placed_does_not_set_a_ball_in_motion() {
    let courses = [
        Course::lying(Ball::White, 0.0, 0.2),
        Course::lying(Ball::Yellow, -1.0, -0.4),
        Course::lying(Ball::Red, -0.5, 0.6),
    ];
    let mut frames = film(&courses, 3.0);
    // Half hidden, red is seen up to 4 cm off for a fifth of a second, with an error that says so.
    for (k, frame) in frames.iter_mut().take(12).enumerate() {
        let red = &mut frame.balls[2];
        red.at = TablePoint::new(-0.54 + 0.0036 * k as f64, 0.6);
        red.covariance = TableCovariance::identity() * 0.03_f64.powi(2);
        if k == 10 {
            red.covariance = TableCovariance::identity() * 0.003_f64.powi(2);
        }
    }
    assert_eq!(watch(&frames).0, []);
}

#[test]
fn a_side_rail_is_timed_between_frames() {
    let white = Course::lying(Ball::White, 0.0, 0.0).struck(1.5, 0.6, 0.9);
    let roll = white.rolls[0];
    // Along its way the ball has SIDE_Y / sin(angle) metres to go: solve s = v t − a t²/2.
    let speed = roll.v.norm();
    let way = SIDE_Y * speed / 0.9;
    let t = 1.5 + (speed - (speed * speed - 2.0 * ROLL_M_S2 * way).sqrt()) / ROLL_M_S2;
    let mut white = white;
    let v = roll.velocity(t);
    white.rolls.push(Roll {
        t,
        from: roll.place(t),
        v: Vector2::new(v.x, -0.8 * v.y),
    });
    let courses = [
        white,
        Course::lying(Ball::Yellow, -1.0, -0.4),
        Course::lying(Ball::Red, -0.9, 0.6),
    ];
    let (shots, _) = watch(&film(&courses, 3.0));
    let touch = only(
        &shots[0],
        EventKind::Rail {
            ball: Ball::White,
            rail: Rail::Left,
        },
    );
    assert!((touch.at.secs() - t).abs() < 0.002, "{touch:?} {t}");
    assert_eq!(shots[0].cue_ball, Some(Ball::White));
}

/// A white ball off two side rails past two that lie, at rest within four seconds.
fn two_rails() -> [Course; 3] {
    let mut white = Course::lying(Ball::White, 0.0, 0.0).struck(1.5, 0.5, 0.7);
    for t in [2.7, 4.2] {
        let last = *white.rolls.last().expect("a roll");
        let v = last.velocity(t);
        white.rolls.push(Roll {
            t,
            from: last.place(t),
            v: Vector2::new(v.x, -0.7 * v.y),
        });
    }
    [
        white,
        Course::lying(Ball::Yellow, -1.0, -0.4),
        Course::lying(Ball::Red, -0.9, 0.6),
    ]
}

/// Appends footage, moved to the end in time.
fn append(reel: &mut Vec<FrameObservations>, footage: impl IntoIterator<Item = FrameObservations>) {
    for mut frame in footage {
        let no = reel.len() as u64;
        frame.no = FrameNo(no);
        frame.at = Timestamp::saturating(no as f64 / RATE);
        reel.push(frame);
    }
}

/// A fade of so many frames, in which no table is seen.
fn fade(frames: usize) -> Vec<FrameObservations> {
    vec![
        FrameObservations {
            no: FrameNo(0),
            at: Timestamp::saturating(0.0),
            table_in_view: false,
            balls: Vec::new(),
        };
        frames
    ]
}

#[test]
fn a_replay_at_half_speed_is_no_second_shot() {
    let shot = film(&two_rails(), 9.0);
    let slow: Vec<FrameObservations> = shot[(1.0 * RATE) as usize..]
        .iter()
        .flat_map(|f| [f.clone(), f.clone()])
        .collect();
    let mut reel = shot.clone();
    append(&mut reel, fade(5));
    append(&mut reel, slow);
    assert_eq!(watch(&shot).0.len(), 1);
    let (shots, rulings) = watch(&reel);
    assert_eq!((shots.len(), rulings.len()), (1, 1), "{shots:#?}");
    assert!((shots[0].start.secs() - 1.5).abs() < 0.05);
}

#[test]
fn part_of_a_replay_before_the_next_shot_leaves_that_shot_whole() {
    let first = two_rails();
    let shot = film(&first, 9.0);
    // The next shot begins where the first ended; its camera comes back after a fade out of the middle of the replay.
    let (_, lies) = first[0].rest();
    let next = [
        Course::lying(Ball::White, lies.x, lies.y).struck(1.5, -0.6, 0.2),
        first[1].clone(),
        first[2].clone(),
    ];
    let mut reel = shot.clone();
    append(&mut reel, fade(5));
    append(&mut reel, shot[(1.2 * RATE) as usize..(3.5 * RATE) as usize].to_vec());
    append(&mut reel, fade(5));
    let live_from = reel.len() as f64 / RATE;
    append(&mut reel, film(&next, 9.0));
    let (shots, _) = watch(&reel);
    assert_eq!(shots.len(), 2, "{shots:#?}");
    assert!(
        (shots[1].start.secs() - live_from - 1.5).abs() < 0.05,
        "{}",
        shots[1].start.secs()
    );
    assert_eq!((&shots[1].flags[..], shots[1].cue_ball), (&[][..], Some(Ball::White)));
}

#[test]
fn a_shot_played_back_along_the_way_of_the_last_one_is_a_shot() {
    let there = Course::lying(Ball::White, -0.5, 0.0).struck(1.5, 0.5, 0.0);
    let (_, lies) = there.rest();
    let others = [Course::lying(Ball::Yellow, -1.0, -0.4), Course::lying(Ball::Red, -0.9, 0.6)];
    let mut reel = film(&[there, others[0].clone(), others[1].clone()], 8.0);
    let back = Course::lying(Ball::White, lies.x, lies.y).struck(1.5, -0.5, 0.0);
    append(&mut reel, film(&[back, others[0].clone(), others[1].clone()], 8.0));
    assert_eq!(watch(&reel).0.len(), 2);
}
