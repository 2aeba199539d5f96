//! A shot in one line of text: for rule fixtures, logs, bug reports and the command line.
//!
//! ```text
//! line  := [ "serve" | "lag" ] step+ flag* order*
//! step  := what [ "@" seconds ] [ "~" time error, s ] [ "?" probability ]
//! what  := ball "!"               struck by the cue
//!        | ball "-" ball          contact
//!        | ball "|" rail          head foot left right
//!        | ball ">" pocket        pocketed: head_left … foot_right
//!        | ball "^"               left the table
//!        | ball "."               came to rest
//! ball  := "W" | "Y" | "R"        carom
//!        | "C" | "1" … "15"       pool
//! flag  := "+" name               ends_before_rest …
//! order := "#" i "<" j "?" p      P(event i before event j), events counted from 0
//! ```
//!
//! Without "@" a step follows the one before after half a second; without "~" its time is exact; without "?" it is certain.

use std::fmt::Write as _;

use super::{Event, EventKind, Shot, ShotFlag, ShotKind};
use crate::ball::{Ball, PoolNumber};
use crate::units::{Confidence, Timestamp};

/// Time between two steps that state no time, seconds: far more than any window of simultaneity.
const STEP_S: f64 = 0.5;

/// Longest line read, bytes: some two thousand steps, many times any real shot.
const LONGEST_LINE: usize = 64 * 1024;

/// All flags, for reading their names.
const FLAGS: [ShotFlag; 6] = [
    ShotFlag::StartsBeforeRecording,
    ShotFlag::EndsBeforeRest,
    ShotFlag::Cut,
    ShotFlag::CameraMoved,
    ShotFlag::FramesLost,
    ShotFlag::Occluded,
];

/// What is wrong with a line of notation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotationError {
    /// Nothing in it.
    #[error("a shot has at least one step, such as 'W!'")]
    Empty,
    /// Longer than any real shot.
    #[error("the line has {0} bytes; a shot in notation has at most {LONGEST_LINE}")]
    TooLong(usize),
    /// One word cannot be read.
    #[error("'{word}' (word {place}): {problem}")]
    Word {
        /// Which word, from 1.
        place: usize,
        /// The word.
        word: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Reads a shot. It gets number 1; layouts and paths stay empty; start and end are the first and last step's times.
///
/// # Errors
/// [`NotationError`] names the word that cannot be read.
pub fn parse(line: &str) -> Result<Shot, NotationError> {
    if line.len() > LONGEST_LINE {
        return Err(NotationError::TooLong(line.len()));
    }
    let mut kind = ShotKind::Shot;
    let mut events: Vec<Event> = Vec::new();
    let mut flags = Vec::new();
    let mut orders = Vec::new();
    for (n, word) in line.split_whitespace().enumerate() {
        let wrong = |problem: String| NotationError::Word {
            place: n + 1,
            word: word.to_owned(),
            problem,
        };
        match word {
            "serve" if n == 0 => kind = ShotKind::Serve,
            "lag" if n == 0 => kind = ShotKind::Lag,
            _ if word.starts_with('+') => {
                let flag = FLAGS.into_iter().find(|f| f.name() == &word[1..]);
                flags.push(flag.ok_or_else(|| wrong("no such flag".to_owned()))?);
            }
            _ if word.starts_with('#') => orders.push(order(&word[1..]).map_err(wrong)?),
            _ => {
                let implied = events.last().map_or(0.0, |e| e.at.secs() + STEP_S);
                events.push(step(word, implied).map_err(wrong)?);
            }
        }
    }
    let (Some(first), Some(last)) = (events.iter().map(|e| e.at).min(), events.iter().map(|e| e.at).max()) else {
        return Err(NotationError::Empty);
    };
    let struck = events.iter().find_map(|e| match e.kind {
        EventKind::CueStrike { ball } => Some(ball),
        _ => None,
    });
    let cue_ball = struck.filter(|_| kind != ShotKind::Lag);
    let mut shot = Shot::new(1, kind, first, last, cue_ball, events);
    shot.flags = flags;
    shot.unsure_orders = orders;
    Ok(shot)
}

/// Writes a shot so that [`parse`] gives its events, kind, flags and unsure orders back exactly.
pub fn print(shot: &Shot) -> String {
    let mut words = Vec::new();
    match shot.kind {
        ShotKind::Shot => {}
        ShotKind::Serve => words.push("serve".to_owned()),
        ShotKind::Lag => words.push("lag".to_owned()),
    }
    let mut implied = 0.0;
    for event in shot.events() {
        let mut word = what_of(event.kind, shot.cue_ball);
        let secs = event.at.secs();
        // Writing to a String cannot fail.
        if secs.to_bits() != f64::to_bits(implied) {
            let _ = write!(word, "@{secs}");
        }
        if event.t_err_s != 0.0 {
            let _ = write!(word, "~{}", event.t_err_s);
        }
        if event.confidence != Confidence::SURE {
            let _ = write!(word, "?{}", event.confidence.get());
        }
        implied = secs + STEP_S;
        words.push(word);
    }
    words.extend(shot.flags.iter().map(|f| format!("+{}", f.name())));
    words.extend(shot.unsure_orders.iter().map(|(i, j, p)| format!("#{i}<{j}?{}", p.get())));
    words.join(" ")
}

fn order(text: &str) -> Result<(usize, usize, Confidence), String> {
    let form = || "an unsure order is written #3<4?0.8".to_owned();
    let (pair, p) = text.split_once('?').ok_or_else(form)?;
    let (i, j) = pair.split_once('<').ok_or_else(form)?;
    let index = |s: &str| s.parse::<usize>().map_err(|_| form());
    Ok((index(i)?, index(j)?, probability(p)?))
}

fn probability(text: &str) -> Result<Confidence, String> {
    let p: f64 = text.parse().map_err(|_| format!("'{text}' is not a probability"))?;
    if (0.0..=1.0).contains(&p) {
        Ok(Confidence::new(p))
    } else {
        Err(format!("probability {text} is not within 0 and 1"))
    }
}

fn step(word: &str, implied_s: f64) -> Result<Event, String> {
    let (rest, confidence) = match word.split_once('?') {
        Some((rest, p)) => (rest, probability(p)?),
        None => (word, Confidence::SURE),
    };
    let (rest, t_err_s) = match rest.split_once('~') {
        Some((rest, e)) => (
            rest,
            seconds(e)
                .filter(|e| *e >= 0.0)
                .ok_or("the time error is not a number of seconds")?,
        ),
        None => (rest, 0.0),
    };
    let (what, secs) = match rest.split_once('@') {
        Some((what, t)) => (what, seconds(t).ok_or("the time is not a number of seconds")?),
        None => (rest, implied_s),
    };
    Ok(Event {
        at: Timestamp::saturating(secs),
        kind: kind(what)?,
        place: None,
        t_err_s,
        confidence,
    })
}

fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|s: &f64| s.is_finite())
}

fn kind(what: &str) -> Result<EventKind, String> {
    if let Some(b) = what.strip_suffix('!') {
        return Ok(EventKind::CueStrike { ball: ball(b)? });
    }
    if let Some(b) = what.strip_suffix('^') {
        return Ok(EventKind::OffTable { ball: ball(b)? });
    }
    if let Some(b) = what.strip_suffix('.') {
        return Ok(EventKind::Rest { ball: ball(b)? });
    }
    if let Some((b, rail)) = what.split_once('|') {
        return Ok(EventKind::Rail {
            ball: ball(b)?,
            rail: rail.parse()?,
        });
    }
    if let Some((b, pocket)) = what.split_once('>') {
        return Ok(EventKind::Pocket {
            ball: ball(b)?,
            pocket: pocket.parse()?,
        });
    }
    let (p, q) = what
        .split_once('-')
        .ok_or("not a step: use W! W-R W|left 1>foot_left W^ or W.")?;
    let (p, q) = (ball(p)?, ball(q)?);
    if p == q {
        Err("a ball cannot touch itself".to_owned())
    } else {
        Ok(EventKind::contact(p, q))
    }
}

fn ball(text: &str) -> Result<Ball, String> {
    match text {
        "W" => Ok(Ball::White),
        "Y" => Ok(Ball::Yellow),
        "R" => Ok(Ball::Red),
        "C" => Ok(Ball::Cue),
        n => {
            let number = n.parse().ok().and_then(PoolNumber::new).filter(|p| p.get().to_string() == n);
            let unknown = || format!("'{n}' is not a ball: use W, Y, R, C or 1 to 15");
            number.map(Ball::Numbered).ok_or_else(unknown)
        }
    }
}

fn letter(ball: Ball) -> String {
    match ball {
        Ball::White => "W".to_owned(),
        Ball::Yellow => "Y".to_owned(),
        Ball::Red => "R".to_owned(),
        Ball::Cue => "C".to_owned(),
        Ball::Numbered(n) => n.get().to_string(),
    }
}

fn what_of(kind: EventKind, cue_ball: Option<Ball>) -> String {
    match kind {
        EventKind::CueStrike { ball } => format!("{}!", letter(ball)),
        EventKind::BallBall { a, b } if cue_ball == Some(b) => format!("{}-{}", letter(b), letter(a)),
        EventKind::BallBall { a, b } => format!("{}-{}", letter(a), letter(b)),
        EventKind::Rail { ball, rail } => format!("{}|{rail}", letter(ball)),
        EventKind::Pocket { ball, pocket } => format!("{}>{pocket}", letter(ball)),
        EventKind::OffTable { ball } => format!("{}^", letter(ball)),
        EventKind::Rest { ball } => format!("{}.", letter(ball)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Rail;

    #[test]
    fn a_shot_reads_as_written() {
        let shot = parse("W! W-R@1.25~0.004 W|left?0.4 Y^ R. +occluded #1<2?0.75").unwrap();
        assert_eq!(shot.cue_ball, Some(Ball::White));
        let kinds: Vec<_> = shot.events().iter().map(|e| e.kind).collect();
        let (white, yellow, red) = (Ball::White, Ball::Yellow, Ball::Red);
        assert_eq!(
            kinds,
            [
                EventKind::CueStrike { ball: white },
                EventKind::contact(white, red),
                EventKind::Rail {
                    ball: white,
                    rail: Rail::Left
                },
                EventKind::OffTable { ball: yellow },
                EventKind::Rest { ball: red },
            ]
        );
        let times: Vec<_> = shot.events().iter().map(|e| e.at.secs()).collect();
        assert_eq!(times, [0.0, 1.25, 1.75, 2.25, 2.75]);
        assert_eq!((shot.events()[1].t_err_s, shot.events()[2].confidence.get()), (0.004, 0.4));
        assert_eq!(shot.flags, [ShotFlag::Occluded]);
        assert_eq!(shot.unsure_orders, [(1, 2, Confidence::new(0.75))]);
    }

    #[test]
    fn an_error_names_the_word() {
        let message = |line: &str| parse(line).unwrap_err().to_string();
        assert_eq!(message(""), "a shot has at least one step, such as 'W!'");
        assert!(message("W! W|nose").starts_with("'W|nose' (word 2): 'nose' is not a rail"));
        assert!(message("W! W-16").contains("'16' is not a ball"));
        assert!(message("W! W-W").contains("cannot touch itself"));
        assert!(message("W! W-R?1.5").contains("not within 0 and 1"));
        assert!(message("W! W-R@soon").contains("time is not a number"));
        assert!(message("W! +blind").contains("no such flag"));
        assert!(message("W! #1<2").contains("#3<4?0.8"));
        assert!(message("W! W-R@inf").contains("time is not a number"));
    }
}
