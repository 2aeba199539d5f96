//! Where frozen and jumped balls go (C5.7 to C5.9, C5.14, C5.15).

use std::collections::BTreeMap;

use crate::ball::Ball;
use crate::space::TablePoint;
use crate::table::Table;

/// Places of balls, metres.
pub type Layout = BTreeMap<Ball, TablePoint>;

/// The spot of a ball as seen by the player about to shoot, whose cue ball is `own`.
pub fn own_spot(ball: Ball, own: Ball, table: &Table) -> TablePoint {
    match ball {
        Ball::Red => table.foot_spot(),
        b if b == own => table.head_spot(),
        _ => table.center_spot(),
    }
}

/// Where the balls `moved` go when the player with cue ball `own` is about to shoot; the other balls of `layout` stay.
///
/// A ball whose spot a staying ball blocks goes to the spot that the blocking ball would have gone to (C5.9), as often as
/// needed; three balls need two steps at most.
pub fn respot(moved: &[Ball], layout: &Layout, own: Ball, table: &Table, clear_m: f64) -> Layout {
    let blocker = |spot: TablePoint| {
        let free = layout.iter().filter(|(b, _)| !moved.contains(b));
        let near_m = 2.0 * table.ball_radius_m + clear_m;
        free.map(|(b, at)| (*b, *at))
            .find(|(_, at)| (at.x() - spot.x()).hypot(at.y() - spot.y()) < near_m)
            .map(|(b, _)| b)
    };
    let mut placed = Layout::new();
    for &ball in moved {
        let mut spot = own_spot(ball, own, table);
        for _ in 0..2 {
            let Some(other) = blocker(spot) else { break };
            spot = own_spot(other, own, table);
        }
        placed.insert(ball, spot);
    }
    placed
}
