//! Where a pool ball is spotted (P1.4): exact geometry on the long string. Metres.

use std::collections::BTreeMap;

use crate::ball::Ball;
use crate::space::TablePoint;
use crate::table::Table;

/// Rounding of sums of metres; far below anything measured.
const EXACT_M: f64 = 1e-9;

/// Where to spot a ball among those of `layout`: on the foot spot or as near to it as possible toward the foot rail, touching a
/// ball in the way, but `cue_gap_m` from the cue ball; when the string is full to the rail, above the spot (P1.4.a to d).
/// `None` only when no place on the long string is free.
pub fn spot(layout: &BTreeMap<Ball, TablePoint>, table: &Table, cue_gap_m: f64) -> Option<TablePoint> {
    let diameter_m = 2.0 * table.ball_radius_m;
    let apart = |ball: Ball| if ball == Ball::Cue { diameter_m + cue_gap_m } else { diameter_m };
    let start = table.foot_spot().x();
    let limit = table.length_m / 2.0 - table.ball_radius_m;
    let free = |x: f64| {
        let clear = |(&ball, at): (&Ball, &TablePoint)| (at.x() - x).hypot(at.y()) >= apart(ball) - EXACT_M;
        layout.iter().all(clear)
    };
    // Nearest places of touch on either side of each ball that reaches the string.
    let reaches = layout.iter().filter_map(|(&ball, at)| {
        let along2 = apart(ball).powi(2) - at.y().powi(2);
        (along2 >= 0.0).then(|| (at.x(), along2.sqrt()))
    });
    let touches: Vec<f64> = reaches.flat_map(|(x, along)| [x + along, x - along]).chain([start]).collect();
    let below = touches.iter().copied().filter(|&x| x >= start - EXACT_M && x <= limit + EXACT_M && free(x));
    let above = touches.iter().copied().filter(|&x| x < start && x >= -limit && free(x));
    let x = below.min_by(f64::total_cmp).or_else(|| above.max_by(f64::total_cmp))?;
    Some(TablePoint::new(x, 0.0))
}
