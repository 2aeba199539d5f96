//! The serve: where the balls lie before the first stroke (C3.3, C3.4).

use crate::ball::Ball;
use crate::events::Layout;
use crate::rules::setup::Profile;
use crate::space::TablePoint;
use crate::table::Table;

/// How far a ball may lie from its place in a serve layout and still be taken as placed there, metres. Placing by eye on a dot is
/// good to a few millimetres, and side spots differ between tables by up to 3 cm.
const PLACED_WITHIN_M: f64 = 0.03;

/// Whether the balls lie as for a serve with `cue_ball`: red on the foot spot, the other cue ball on the head spot, the
/// server's on the head string within reach of a side spot.
pub fn looks_like_serve(layout: &Layout, cue_ball: Ball, table: &Table, profile: &Profile) -> bool {
    let opponents = if cue_ball == Ball::White { Ball::Yellow } else { Ball::White };
    let near = |ball: Ball, spot: TablePoint| {
        let within = |at: &TablePoint| (at.x() - spot.x()).hypot(at.y() - spot.y()) <= PLACED_WITHIN_M;
        layout.get(&ball).is_some_and(within)
    };
    let on_string = layout.get(&cue_ball).is_some_and(|at| {
        let aside_m = at.y().abs();
        (at.x() - table.head_spot().x()).abs() <= PLACED_WITHIN_M
            && aside_m >= 2.0 * table.ball_radius_m
            && aside_m <= profile.side_spot_max_m.max(Profile::UMB.side_spot_max_m) + PLACED_WITHIN_M
    });
    on_string && near(opponents, table.head_spot()) && near(Ball::Red, table.foot_spot())
}
