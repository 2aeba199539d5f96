//! One set of colours for everything that is drawn.

use crate::ball::Ball;
use crate::rules::Decision;

/// Red, green, blue and opacity, each 0..=1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Colour {
    pub r: f32,
    pub g: f32,
    pub b: f32,
    pub a: f32,
}

impl Colour {
    const fn hex(rgb: u32) -> Self {
        const fn part(rgb: u32, shift: u32) -> f32 {
            ((rgb >> shift) & 0xff) as f32 / 255.0
        }
        Self {
            r: part(rgb, 16),
            g: part(rgb, 8),
            b: part(rgb, 0),
            a: 1.0,
        }
    }

    /// This colour with `share` of its opacity.
    pub fn faded(self, share: f32) -> Self {
        Self {
            a: self.a * share.clamp(0.0, 1.0),
            ..self
        }
    }
}

/// Panels: nearly black, a little blue, so that any cloth looks warm beside it.
pub const PANEL: Colour = Colour {
    a: 0.82,
    ..Colour::hex(0x0d_1218)
};
/// Thin lines around panels.
pub const EDGE: Colour = Colour {
    a: 0.14,
    ..Colour::hex(0xff_ffff)
};
/// Text that is read.
pub const INK: Colour = Colour::hex(0xf5_f7fa);
/// Text that explains.
pub const QUIET: Colour = Colour::hex(0x9a_a7b4);
/// What has been reached: rails made, a point.
pub const DONE: Colour = Colour::hex(0x35_d69b);
/// Shade behind thin lines, so that they stand out on any cloth.
pub const SHADE: Colour = Colour {
    a: 0.55,
    ..Colour::hex(0x06_090c)
};

/// Colour that stands for a ball: the ball's own, strong enough to be told apart as a line.
pub fn ball(ball: Ball) -> Colour {
    match ball {
        Ball::White | Ball::Cue => Colour::hex(0xff_fdf5),
        Ball::Yellow => Colour::hex(0xff_c83a),
        Ball::Red => Colour::hex(0xff_5a52),
        Ball::Numbered(_) => Colour::hex(0x7c_c4ff),
    }
}

/// Colour of a ruling.
pub fn decision(decision: Decision) -> Colour {
    match decision {
        Decision::Point | Decision::Legal => DONE,
        Decision::NoPoint | Decision::Lag => Colour::hex(0xb8_c4d0),
        Decision::Foul => Colour::hex(0xff_5a52),
        Decision::Review => Colour::hex(0xff_b224),
    }
}
