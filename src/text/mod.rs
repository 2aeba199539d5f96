//! Rulings in English, Korean and Russian.
//!
//! The rules give reasons as values; the words are in the `.ftl` files beside this one, one per language, with the terms of
//! the rule documents. Only the one event that matters is named. Distances of a lag are never worded (C2.14).

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};
use unic_langid::LanguageIdentifier;

use crate::ball::Ball;
use crate::events::{EventKind, ShotFlag};
use crate::rules::{Decision, LagReason, Miss, Reason, Ruling, Touch, Unclear, Wording};
use crate::table::Rail;

/// Words rulings. Build it once; it only holds the three parsed language files.
pub struct Speaker {
    en: Language,
    ko: Language,
    ru: Language,
}

struct Language(FluentBundle<FluentResource>);

impl Default for Speaker {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Speaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Speaker")
    }
}

impl Speaker {
    /// Parses the built-in language files.
    pub fn new() -> Self {
        Self {
            en: Language::new("en", include_str!("en.ftl")),
            ko: Language::new("ko", include_str!("ko.ftl")),
            ru: Language::new("ru", include_str!("ru.ftl")),
        }
    }

    /// The ruling in words. Uses its reason, clauses and decision only.
    pub fn wording(&self, ruling: &Ruling) -> Wording {
        Wording {
            en: self.en.ruling(ruling),
            ko: self.ko.ruling(ruling),
            ru: self.ru.ruling(ruling),
        }
    }

    /// Fills in the ruling's words.
    pub fn word(&self, ruling: &mut Ruling) {
        ruling.text = self.wording(ruling);
    }
}

/// Milliseconds in a second.
const MS_PER_S: f64 = 1000.0;

impl Language {
    fn new(code: &str, source: &str) -> Self {
        // The files are part of the program and tested whole; what a broken line would lose is that message alone.
        let resource = FluentResource::try_new(source.to_owned()).unwrap_or_else(|(partial, _)| partial);
        let id = LanguageIdentifier::from_bytes(code.as_bytes()).unwrap_or_default();
        let mut bundle = FluentBundle::new_concurrent(vec![id]);
        bundle.set_use_isolating(false);
        let added = bundle.add_resource(resource);
        debug_assert!(added.is_ok(), "a message id occurs twice");
        Self(bundle)
    }

    /// A message with its arguments; the id itself when the file lacks it, which a test forbids.
    fn say(&self, id: &str, args: &[(&str, String)]) -> String {
        self.say_counted(id, args, &[])
    }

    fn say_counted(&self, id: &str, args: &[(&str, String)], counts: &[(&str, u8)]) -> String {
        let Some(pattern) = self.0.get_message(id).and_then(|m| m.value()) else {
            return id.to_owned();
        };
        let mut all = FluentArgs::new();
        for (name, value) in args {
            all.set(*name, value.as_str());
        }
        for (name, value) in counts {
            all.set(*name, *value);
        }
        let mut errors = Vec::new();
        self.0.format_pattern(pattern, Some(&all), &mut errors).into_owned()
    }

    fn ruling(&self, ruling: &Ruling) -> String {
        let reason = self.reason(&ruling.reason, ruling.decision);
        let text = if ruling.clauses.is_empty() {
            format!("{reason}.")
        } else {
            self.say("with-clauses", &[("text", reason), ("clauses", ruling.clauses.join(", "))])
        };
        if ruling.proposed {
            self.say("proposed", &[("text", text)])
        } else {
            text
        }
    }

    fn reason(&self, reason: &Reason, decision: Decision) -> String {
        match reason {
            Reason::Unstated => self.say("unstated", &[]),
            Reason::Scored(path) => self.say("scored", &[("path", self.path(path))]),
            Reason::Missed(miss) => self.miss(miss),
            Reason::JumpBall(ball) => self.about_ball("jump-ball", *ball),
            Reason::Lag(lag) => match *lag {
                LagReason::Nearer(ball) => self.about_ball("lag-nearer", ball),
                LagReason::OtherAtFault { winner, .. } => self.about_ball("lag-fault", winner),
                LagReason::BothAtFault => self.say("lag-both", &[]),
                LagReason::TooCloseForTheEye => self.say("lag-eye", &[]),
            },
            Reason::Unclear(unclear) => self.unclear(unclear),
            Reason::Person => self.say(
                match decision {
                    Decision::Point => "person-point",
                    Decision::NoPoint => "person-no-point",
                    Decision::Legal => "person-legal",
                    Decision::Foul => "person-foul",
                    Decision::Lag => "person-lag",
                    Decision::Review => "person-review",
                },
                &[],
            ),
        }
    }

    fn miss(&self, miss: &Miss) -> String {
        match miss {
            Miss::NoBall => self.say("missed-no-ball", &[]),
            Miss::OneBall(ball) => self.about_ball("missed-one-ball", *ball),
            Miss::FewRails { rails, needed, second } => self.say_counted(
                "missed-few-rails",
                &[("ball", self.ball(*second))],
                &[("rails", *rails), ("needed", *needed)],
            ),
            Miss::ServeNotRedFirst => self.say("missed-serve", &[]),
            Miss::Simultaneous { rail, second } => self.say(
                "missed-simultaneous",
                &[("rail", self.rail(*rail)), ("ball", self.ball(*second))],
            ),
        }
    }

    fn unclear(&self, unclear: &Unclear) -> String {
        match *unclear {
            Unclear::Event { kind, probability } => {
                let percent = trimmed(probability * 100.0);
                self.say("unclear-event", &[("event", self.event(kind)), ("percent", percent)])
            }
            Unclear::Order {
                first,
                second,
                gap_s,
                err_s,
            } => self.say(
                "unclear-order",
                &[
                    ("first", self.event(first)),
                    ("second", self.event(second)),
                    ("gap", trimmed(gap_s * MS_PER_S)),
                    ("err", trimmed(err_s * MS_PER_S)),
                ],
            ),
            Unclear::Pending => self.say("unclear-pending", &[]),
            Unclear::Unfinished => self.say("unclear-unfinished", &[]),
            Unclear::Missing(flag) => self.say(
                match flag {
                    ShotFlag::StartsBeforeRecording => "unclear-starts-before-recording",
                    ShotFlag::EndsBeforeRest => "unclear-ends-before-rest",
                    ShotFlag::Cut => "unclear-cut",
                    ShotFlag::CameraMoved => "unclear-camera-moved",
                    ShotFlag::FramesLost => "unclear-frames-lost",
                    ShotFlag::Occluded => "unclear-occluded",
                },
                &[],
            ),
            Unclear::StrikeUnseen => self.say("unclear-strike", &[]),
            Unclear::NotACueBall(ball) => self.about_ball("unclear-not-a-cue-ball", ball),
            Unclear::WrongBall(ball) => self.about_ball("unclear-wrong-ball", ball),
            Unclear::TwoStrikes => self.say("unclear-two-strikes", &[]),
            Unclear::ServeOrNot => self.say("unclear-serve", &[]),
            Unclear::LagRestUnseen(ball) => self.about_ball("unclear-lag-rest", ball),
            Unclear::LagTooClose => self.say("unclear-lag-close", &[]),
            Unclear::AfterTheEnd => self.say("unclear-after-end", &[]),
            Unclear::NoModule => self.say("unclear-no-module", &[]),
        }
    }

    fn event(&self, kind: EventKind) -> String {
        match kind {
            EventKind::CueStrike { ball } => self.about_ball("event-strike", ball),
            EventKind::BallBall { a, b } => self.say("event-contact", &[("ball", self.ball(a)), ("other", self.ball(b))]),
            EventKind::Rail { ball, rail } => self.say("event-rail", &[("ball", self.ball(ball)), ("rail", self.rail(rail))]),
            EventKind::Pocket { ball, .. } => self.about_ball("event-pocket", ball),
            EventKind::OffTable { ball } => self.about_ball("event-off-table", ball),
            EventKind::Rest { ball } => self.about_ball("event-rest", ball),
        }
    }

    fn about_ball(&self, id: &str, ball: Ball) -> String {
        self.say(id, &[("ball", self.ball(ball))])
    }

    fn ball(&self, ball: Ball) -> String {
        match ball {
            Ball::White => self.say("ball-white", &[]),
            Ball::Yellow => self.say("ball-yellow", &[]),
            Ball::Red => self.say("ball-red", &[]),
            Ball::Cue => self.say("ball-cue", &[]),
            Ball::Numbered(n) => self.say("ball-numbered", &[("number", n.get().to_string())]),
        }
    }

    fn rail(&self, rail: Rail) -> String {
        self.say(
            match rail {
                Rail::Head => "rail-head",
                Rail::Foot => "rail-foot",
                Rail::Left => "rail-left",
                Rail::Right => "rail-right",
            },
            &[],
        )
    }

    /// "red, then left, head, right rail, then yellow"
    fn path(&self, path: &[Touch]) -> String {
        let then = self.say("then", &[]);
        let then = if then.ends_with(' ') { then } else { then + " " };
        let legs = path.chunk_by(|a, b| matches!((a, b), (Touch::Rail(_), Touch::Rail(_))));
        let words: Vec<String> = legs
            .map(|leg| {
                if let [Touch::Ball(ball)] = *leg {
                    return self.ball(ball);
                }
                let rails = leg.iter().filter_map(|t| match t {
                    Touch::Rail(rail) => Some(self.rail(*rail)),
                    Touch::Ball(_) => None,
                });
                self.say("rails", &[("rails", rails.collect::<Vec<_>>().join(", "))])
            })
            .collect();
        words.join(&then)
    }
}

/// At most one decimal, and none when it is zero or the number is large.
fn trimmed(x: f64) -> String {
    let one = format!("{x:.1}");
    if x.abs() >= 100.0 {
        format!("{x:.0}")
    } else {
        one.strip_suffix(".0").map_or(one.clone(), str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::notation;
    use crate::rules::{MatchScorer, MatchSetup};
    use crate::table::Table;

    fn english(line: &str) -> String {
        let shot = notation::parse(line).unwrap();
        let mut ruling = MatchScorer::new(&Table::CAROM, &MatchSetup::default()).play(&shot).remove(0);
        Speaker::new().word(&mut ruling);
        assert!(!ruling.text.ko.contains("unclear-") && !ruling.text.ru.contains("unclear-"));
        ruling.text.en
    }

    #[test]
    fn rulings_read_as_sentences_with_their_clause() {
        let point = english("W! W-R W|left W|head W|right W-Y");
        assert_eq!(point, "Point: red, then left, head, right rail, then yellow (C4.1.a).");
        let miss = english("W! W-R W|left W-Y");
        assert_eq!(miss, "No point: one rail before yellow, 3 needed (C6.1, C4.13).");
        let doubt = english("W! W-R W|left W|head W|right?0.875 W-Y");
        assert_eq!(
            doubt,
            "Cannot tell: it hangs on the right rail of white, 87.5 % likely (C4.4, C4.2)."
        );
        let order = english("W!@0 W-R@1 W|left@2 W|head@3 W|right@4~0.003 W-Y@4.003~0.004");
        let said = "Cannot tell: the right rail of white and the contact of white and yellow lie 3 ± 5 ms apart";
        assert!(order.starts_with(said), "{order}");
    }

    #[test]
    fn korean_and_russian_say_the_same() {
        let shot = notation::parse("W! W-R W|left W|head W|right W-Y").unwrap();
        let ruling = MatchScorer::new(&Table::CAROM, &MatchSetup::default()).play(&shot).remove(0);
        let text = Speaker::new().wording(&ruling);
        assert_eq!(text.ko, "득점: 적색 공 → 왼쪽, 헤드, 오른쪽 레일 → 황색 공 (C4.1.a).");
        assert_eq!(
            text.ru,
            "Очко: красный, затем левый, передний, правый борт, затем жёлтый (C4.1.a)."
        );
    }

    #[test]
    fn the_three_files_hold_the_same_messages() {
        let ids = |source: &str| -> Vec<String> {
            let message = |line: &str| line.split_once(" =").map(|(id, _)| id.to_owned());
            source
                .lines()
                .filter(|l| !l.starts_with([' ', '#', '}']))
                .filter_map(message)
                .collect()
        };
        let en = ids(include_str!("en.ftl"));
        assert!(en.len() > 50, "{}", en.len());
        assert_eq!(en, ids(include_str!("ko.ftl")));
        assert_eq!(en, ids(include_str!("ru.ftl")));
        for source in [include_str!("en.ftl"), include_str!("ko.ftl"), include_str!("ru.ftl")] {
            assert!(FluentResource::try_new(source.to_owned()).is_ok());
        }
    }
}
