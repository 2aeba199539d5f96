//! Match files: who plays, to how many points, by which rules. TOML as typed → checked [`MatchSetup`].

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;

use crate::ball::Ball;
use crate::rules::{BySeat, GameName, MatchSetup, Profile, Seat};

/// A match file cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum Error {
    #[error("cannot read match file {}: {source}; check the path", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("match file {} is not usable: {reason}; see docs/formats.md", path.display())]
    Format { path: PathBuf, reason: String },
    #[error("'{0}' is not supported yet: only three-cushion is analysed; leave --game out or give --game three-cushion")]
    NotYet(GameName),
}

/// Largest match file that is read, bytes: a page of text is 4 KB.
const MAX_BYTES: u64 = 1 << 20;

/// As written; every key may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawMatch {
    game: Option<String>,
    target: Option<u32>,
    profile: Option<String>,
    first: Option<RawSeat>,
    players: Names,
    cue_balls: Option<CueBalls>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum RawSeat {
    A,
    B,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(non_snake_case)]
struct Names {
    A: String,
    B: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
struct CueBalls {
    A: String,
    B: String,
}

/// Reads a match file.
///
/// # Errors
/// When it cannot be read, has a key that is not known, or a value that is not possible.
pub fn load_match(path: &Path) -> Result<MatchSetup, Error> {
    let read = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let format = |reason| Error::Format {
        path: path.to_owned(),
        reason,
    };
    if std::fs::metadata(path).map_err(read)?.len() > MAX_BYTES {
        return Err(format("it is larger than a match file can be".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(read)?;
    parse(&text).map_err(format)
}

fn parse(text: &str) -> Result<MatchSetup, String> {
    let raw: RawMatch = toml::from_str(text).map_err(|e| one_line(&e, text))?;
    let mut setup = MatchSetup {
        players: BySeat {
            a: raw.players.A,
            b: raw.players.B,
        },
        first: raw.first.map(|seat| match seat {
            RawSeat::A => Seat::A,
            RawSeat::B => Seat::B,
        }),
        ..MatchSetup::default()
    };
    if let Some(game) = raw.game {
        setup.game = game.parse()?;
    }
    if let Some(profile) = raw.profile {
        setup.profile = Profile::from_str(&profile)?;
    }
    if raw.target == Some(0) {
        return Err("target = 0: a match goes to at least 1 point".to_owned());
    }
    setup.target = raw.target;
    if let Some(balls) = raw.cue_balls {
        let ball = |name: &str| match name.parse() {
            Ok(ball @ (Ball::White | Ball::Yellow)) => Ok(ball),
            _ => Err(format!("'{name}' is not a cue ball: use white or yellow")),
        };
        let balls = BySeat {
            a: ball(&balls.A)?,
            b: ball(&balls.B)?,
        };
        if balls.a == balls.b {
            return Err("both players have the same cue ball".to_owned());
        }
        setup.cue_balls = Some(balls);
    }
    Ok(setup)
}

/// The parser's message on one line, with the line of the file.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error
        .span()
        .map(|span| text.get(..span.start).unwrap_or("").matches('\n').count() + 1);
    let message = error.message().replace('\n', " ");
    line.map_or(message.clone(), |line| format!("line {line}: {message}"))
}

/// Only games that can be analysed pass.
///
/// # Errors
/// For every other game.
pub fn supported(game: GameName) -> Result<GameName, Error> {
    if game == GameName::ThreeCushion {
        Ok(game)
    } else {
        Err(Error::NotYet(game))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_taken_as_written() {
        let setup = parse(
            "game = 'three-cushion'\ntarget = 40\nprofile = 'umb'\nfirst = 'B'\n[players]\nA = 'Kim'\nB = 'Lee'\n[cue_balls]\nA = 'yellow'\nB = 'white'\n",
        )
        .unwrap();
        assert_eq!(setup.target, Some(40));
        assert_eq!(setup.profile.name, "umb");
        assert_eq!(setup.first, Some(Seat::B));
        assert_eq!((setup.players.a.as_str(), setup.players.b.as_str()), ("Kim", "Lee"));
        assert_eq!(setup.cue_balls.map(|c| c.a), Some(Ball::Yellow));
    }

    #[test]
    fn an_empty_file_is_the_default_match() {
        assert_eq!(parse("").unwrap(), MatchSetup::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |text: &str| parse(text).unwrap_err();
        assert!(refused("target = 40\ntarge = 3\n").contains("line 2: unknown field `targe`"));
        assert!(refused("game = 'snooke'").contains("'snooke' is not a game"));
        assert!(refused("target = 0").contains("at least 1 point"));
        assert!(refused("[cue_balls]\nA = 'red'\nB = 'white'").contains("'red' is not a cue ball"));
        assert!(refused("[cue_balls]\nA = 'white'\nB = 'white'").contains("same cue ball"));
        assert!(refused("= =").starts_with("line 1:"));
    }
}
